import { network, networkWritten } from '../../../core/contract/answers/volume.ts';
import { listOf } from '../../../core/contract/answers/words.ts';
import { networkBody } from '../../../core/contract/network-body.ts';
import { isRejection } from '../../../core/rejections/reject.ts';
import { createNetwork } from '../../admission/create-network.ts';
import { deleteNetwork } from '../../admission/delete-network.ts';
import { parseIfMatch } from '../../admission/if-match.ts';
import {
  findNetwork,
  type NetworkAdmission,
  networkNotFound,
  networkView,
} from '../../admission/network-stored.ts';
import { booleanParameter, pageReply, pageRequest } from '../paging.ts';
import { LIST_QUERY, type Reply, type Route, type RouteRequest, route } from '../route.ts';
import { writeReply } from '../write-reply.ts';

const PATH = '/api/v1/networks';

function list({ store, query }: RouteRequest): Reply {
  const page = pageRequest(query);
  if (isRejection(page)) return page;
  return pageReply(
    page,
    PATH,
    query,
    store.list('networks', { ...page, limit: page.limit + 1 }),
    ({ id }) => id,
    ({ record }) => networkView(store, record),
  );
}

function read({ store, params }: RouteRequest): Reply {
  const name = params['name'] ?? '';
  const stored = findNetwork(store, name);
  if (stored === undefined) return networkNotFound(name);
  const { record, modRevision: revision } = stored;
  return {
    status: 200,
    body: { ...networkView(store, record), revision },
    headers: { etag: `"${revision}"` },
  };
}

async function create(networks: NetworkAdmission, { query, caller, body }: RouteRequest): Promise<Reply> {
  const dryRun = booleanParameter(query, 'dryRun');
  if (isRejection(dryRun)) return dryRun;
  return writeReply(await createNetwork(networks, caller, body, { dryRun }));
}

async function remove(networks: NetworkAdmission, request: RouteRequest): Promise<Reply> {
  const ifMatch = parseIfMatch(request.headers['if-match']);
  if (isRejection(ifMatch)) return ifMatch;
  return writeReply(await deleteNetwork(networks, request.caller, request.params['name'] ?? '', ifMatch));
}

export function networkRoutes(networks: NetworkAdmission): Route[] {
  const shared = { tag: 'Networks', tenant: 'credential' } as const;
  return [
    route({
      ...shared,
      method: 'GET',
      path: PATH,
      summary: 'List the networks of the tenant, by name',
      permission: 'read',
      query: LIST_QUERY,
      codes: [],
      success: {
        status: 200,
        description: 'Networks; the next page is in the Link header.',
        answer: listOf(network),
      },
      handle: list,
    }),
    route({
      ...shared,
      method: 'GET',
      path: `${PATH}/{name}`,
      summary: 'Read one network',
      permission: 'read',
      codes: ['network_not_found'],
      success: { status: 200, description: 'The network.', answer: network },
      handle: read,
    }),
    route({
      ...shared,
      method: 'POST',
      path: PATH,
      summary: 'Create a network on one node; its agent makes it, and the status says how that went',
      permission: 'deploy',
      query: {
        dryRun: {
          description: 'Run every rule and choose the node, but store nothing.',
          schema: { type: 'boolean', default: false },
        },
      },
      body: { shape: networkBody, yaml: true, unchecked: true },
      codes: [
        'network_option_unsupported_on_agent',
        'network_name_invalid',
        'network_driver_unsupported',
        'labels_invalid',
        'label_reserved',
        'network_already_exists',
        'network_node_candidates_unresolvable',
        'network_node_not_a_candidate',
        'network_node_required',
        'idempotency_key_conflict',
        'header_invalid',
      ],
      success: { status: 201, description: 'The network.', answer: networkWritten },
      handle: (request) => create(networks, request),
    }),
    route({
      ...shared,
      method: 'DELETE',
      path: `${PATH}/{name}`,
      summary: 'Delete a network that no container is attached to',
      permission: 'deploy',
      codes: [
        'network_not_found',
        'network_in_use',
        'agent_unreachable',
        'revision_mismatch',
        'header_invalid',
      ],
      success: { status: 200, description: 'Deleted; the last stored record.', answer: networkWritten },
      handle: (request) => remove(networks, request),
    }),
  ];
}

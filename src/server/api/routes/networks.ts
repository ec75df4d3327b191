import { NETWORKS } from '../../../core/operations/networks.ts';
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
import { type Reply, type Route, type RouteRequest, serve } from '../route.ts';
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
  return [
    serve(NETWORKS.list, list),
    serve(NETWORKS.read, read),
    serve(NETWORKS.create, (request) => create(networks, request)),
    serve(NETWORKS.remove, (request) => remove(networks, request)),
  ];
}

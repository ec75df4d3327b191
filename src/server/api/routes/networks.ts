import { networkRules, readNetworkShape } from '../../../core/rules/network.ts';
import { documentRejections } from '../../writes/found-rejections.ts';
import { exactly } from '../../../core/schema/shape.ts';
import type { AnswerOf } from '../../../core/operations/operation.ts';
import { NETWORKS } from '../../../core/operations/networks.ts';
import { isRejection } from '../../../core/rejections/reject.ts';
import { createNetwork } from '../../writes/networks/create-network.ts';
import { deleteNetwork } from '../../writes/networks/delete-network.ts';
import { parseIfMatch } from '../../writes/if-match.ts';
import { findNetwork, networkNotFound, networkView } from '../../reads/network.ts';
import type { NetworkAdmission } from '../../writes/networks/network-stored.ts';
import { booleanParameter, pageReply, pageRequest } from '../paging.ts';
import { type ReplyTo, type RequestFor, type Route, serve } from '../route.ts';
import { fullReply, writeReply } from '../write-reply.ts';

const asNetwork = exactly<AnswerOf<typeof NETWORKS.read>>();

function list({ store, query }: RequestFor<typeof NETWORKS.list>): ReplyTo<typeof NETWORKS.list> {
  const page = pageRequest(query);
  if (isRejection(page)) return page;
  return pageReply(
    page,
    NETWORKS.list.path,
    query,
    store.list('networks', { ...page, limit: page.limit + 1 }),
    ({ id }) => id,
    ({ record }) => networkView(store, record),
  );
}

function read({ store, params }: RequestFor<typeof NETWORKS.read>): ReplyTo<typeof NETWORKS.read> {
  const name = params.name;
  const stored = findNetwork(store, name);
  if (stored === undefined) return networkNotFound(name);
  const { record, modRevision: revision } = stored;
  return {
    status: 200,
    body: asNetwork({ ...networkView(store, record), revision }),
    headers: { etag: `"${revision}"` },
  };
}

async function create(
  networks: NetworkAdmission,
  request: RequestFor<typeof NETWORKS.create>,
): Promise<ReplyTo<typeof NETWORKS.create>> {
  const { query, caller, body } = request;
  const dryRun = booleanParameter(query, 'dryRun');
  if (isRejection(dryRun)) return dryRun;
  return fullReply(
    request,
    () => createNetwork(networks, caller, body, { dryRun }),
    (first) => documentRejections(first, body, readNetworkShape, networkRules),
  );
}

async function remove(
  networks: NetworkAdmission,
  request: RequestFor<typeof NETWORKS.remove>,
): Promise<ReplyTo<typeof NETWORKS.remove>> {
  const ifMatch = parseIfMatch(request.headers['if-match']);
  if (isRejection(ifMatch)) return ifMatch;
  return writeReply(await deleteNetwork(networks, request.caller, request.params.name, ifMatch));
}

export function networkRoutes(networks: NetworkAdmission): Route[] {
  return [
    serve(NETWORKS.list, list),
    serve(NETWORKS.read, read),
    serve(NETWORKS.create, (request) => create(networks, request)),
    serve(NETWORKS.remove, (request) => remove(networks, request)),
  ];
}

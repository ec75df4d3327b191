import { exactly } from '../../../core/schema/shape.ts';
import type { AnswerOf } from '../../../core/operations/operation.ts';
import { NODES, SCHEDULER } from '../../../core/operations/nodes.ts';
import { isRejection } from '../../../core/rejections/reject.ts';
import { enrolNode } from '../../writes/nodes/enrol-node.ts';
import { addClaim, releaseClaim } from '../../writes/nodes/node-claims.ts';
import type { NodeAdmission } from '../../writes/nodes/node-admission.ts';
import { nodeNotFound, nodeView } from '../../reads/node.ts';
import { deleteNode, type NodeMode, setNodeMode } from '../../writes/nodes/nodes.ts';
import type { Dispatch } from '../../agents/dispatch.ts';
import { idOf } from '../../store/record-ids.ts';
import { booleanParameter, pageReply, pageRequest } from '../paging.ts';
import { type Route, serve } from '../route.ts';
import { guardedReply, plainReply } from '../write-reply.ts';
import { readContainers } from './agent-answers.ts';
import { cleanNode } from './node-clean.ts';
import { rotateKey } from './node-key.ts';
import { readAgentLog } from './node-logs.ts';

const asRegions = exactly<AnswerOf<typeof SCHEDULER.readRegions>>();

function nameOf({ params }: { readonly params: { readonly name: string } }): string {
  return params.name;
}

function readRoutes(nodes: NodeAdmission, dispatch: Dispatch): Route[] {
  return [
    serve(NODES.list, ({ store, query }) => {
      const page = pageRequest(query);
      if (isRejection(page)) return page;
      const read = store.list('nodes', { ...page, limit: page.limit + 1 });
      return pageReply(
        page,
        NODES.list.path,
        query,
        read,
        ({ id }) => id,
        ({ record }) => nodeView(store, nodes.nodes, record),
      );
    }),
    serve(NODES.read, (request) => {
      const stored = request.store.get('nodes', idOf('nodes', nameOf(request)));
      if (stored === undefined) return nodeNotFound(nameOf(request));
      return {
        status: 200,
        body: nodeView(request.store, nodes.nodes, stored.record),
        headers: { etag: `"${stored.modRevision}"` },
      };
    }),
    serve(NODES.clean, (request) => cleanNode(nodes, dispatch, request)),
    serve(NODES.logs, (request) => readAgentLog(nodes, dispatch, request)),
    serve(NODES.rotateKey, (request) => rotateKey(nodes, dispatch, request)),
    serve(NODES.listContainers, (request) => {
      const name = nameOf(request);
      if (request.store.get('nodes', idOf('nodes', name)) === undefined) return nodeNotFound(name);
      return readContainers(dispatch, request);
    }),
  ];
}

function modeRoute(nodes: NodeAdmission, mode: Exclude<NodeMode, 'drain'>): Route {
  return serve(NODES[mode], async (request) =>
    plainReply(await setNodeMode(nodes, request.caller, nameOf(request), mode)),
  );
}

function writeRoutes(nodes: NodeAdmission): Route[] {
  return [
    serve(NODES.enrol, async ({ caller, body, headers }) =>
      plainReply(await enrolNode(nodes, caller, body, headers.authorization)),
    ),
    serve(NODES.remove, (request) => {
      const force = booleanParameter(request.query, 'force');
      if (isRejection(force)) return force;
      return guardedReply(
        request,
        (ifMatch) => deleteNode(nodes, request.caller, nameOf(request), force, ifMatch),
        plainReply,
      );
    }),
    ...(['cordon', 'uncordon'] as const).map((mode) => modeRoute(nodes, mode)),
    serve(NODES.drain, async (request) => {
      const dryRun = booleanParameter(request.query, 'dryRun');
      if (isRejection(dryRun)) return dryRun;
      return plainReply(await setNodeMode(nodes, request.caller, nameOf(request), 'drain', { dryRun }));
    }),
    serve(NODES.addClaim, async (request) =>
      plainReply(await addClaim(nodes, request.caller, nameOf(request), request.body)),
    ),
    serve(NODES.releaseClaim, (request) =>
      guardedReply(
        request,
        (ifMatch) => releaseClaim(nodes, request.caller, nameOf(request), ifMatch),
        plainReply,
      ),
    ),
  ];
}

function regionsRoute({ admission }: NodeAdmission): Route {
  return serve(SCHEDULER.readRegions, () => ({
    status: 200,
    body: asRegions({
      enforcement: admission.residency.enforcement,
      regions: admission.residency.regions,
    }),
  }));
}

export function nodeRoutes(nodes: NodeAdmission, dispatch: Dispatch): Route[] {
  return [...readRoutes(nodes, dispatch), ...writeRoutes(nodes), regionsRoute(nodes)];
}

import { container } from '../../../core/contract/answers/deployment.ts';
import {
  claimReleased,
  node,
  nodeEnrolled,
  nodeMode,
  nodeWritten,
} from '../../../core/contract/answers/node.ts';
import { regions } from '../../../core/contract/answers/placement.ts';
import { listOf } from '../../../core/contract/answers/words.ts';
import type { Draft } from '../../../core/contract/shape.ts';
import type { RejectionCode } from '../../../core/rejections/catalogue.ts';
import { isRejection } from '../../../core/rejections/reject.ts';
import type { Outcome } from '../../admission/admission.ts';
import { enrolNode, nodeBody } from '../../admission/enrol-node.ts';
import { addClaim, claimBody, releaseClaim } from '../../admission/node-claims.ts';
import { type NodeAdmission, nodeNotFound, nodeView } from '../../admission/node-view.ts';
import { deleteNode, type NodeMode, setNodeMode } from '../../admission/nodes.ts';
import type { Dispatch } from '../../dispatch/dispatch.ts';
import { idOf } from '../../store/record-ids.ts';
import { booleanParameter, pageReply, pageRequest } from '../paging.ts';
import { LIST_QUERY, type Reply, type Route, type RouteRequest, route } from '../route.ts';
import { guardedReply, writeReply } from '../write-reply.ts';
import { readContainers } from './agent-answers.ts';

/** The record as it is, without a revision in it: that is in the ETag alone. */
export function plainReply(outcome: Outcome): Reply {
  const reply = writeReply(outcome);
  return isRejection(outcome) || isRejection(reply) ? reply : { ...reply, body: outcome.body };
}

function nameOf({ params }: RouteRequest): string {
  return params['name'] ?? '';
}

function readRoutes(nodes: NodeAdmission, dispatch: Dispatch): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/v1/nodes',
      summary: 'List the nodes of the tenant, by name',
      tag: 'Nodes',
      permission: 'read',
      tenant: 'credential',
      query: LIST_QUERY,
      codes: [],
      success: {
        status: 200,
        description: 'Nodes; the next page is in the Link header.',
        answer: listOf(node),
      },
      handle: ({ store, query }) => {
        const page = pageRequest(query);
        if (isRejection(page)) return page;
        const read = store.list('nodes', { ...page, limit: page.limit + 1 });
        return pageReply(
          page,
          '/api/v1/nodes',
          query,
          read,
          ({ id }) => id,
          ({ record }) => nodeView(store, nodes.nodes, record),
        );
      },
    }),
    route({
      method: 'GET',
      path: '/api/v1/nodes/{name}',
      summary: 'Read one node',
      tag: 'Nodes',
      permission: 'read',
      tenant: 'credential',
      codes: ['node_not_found'],
      success: { status: 200, description: 'The node.', answer: node },
      handle: (request) => {
        const stored = request.store.get('nodes', idOf('nodes', nameOf(request)));
        if (stored === undefined) return nodeNotFound(nameOf(request));
        return {
          status: 200,
          body: nodeView(request.store, nodes.nodes, stored.record),
          headers: { etag: `"${stored.modRevision}"` },
        };
      },
    }),
    route({
      method: 'GET',
      path: '/api/v1/nodes/{name}/containers',
      summary: 'Every container on the machine, as its agent sees them now',
      tag: 'Nodes',
      permission: 'read',
      tenant: 'credential',
      codes: ['node_not_found', 'agent_unreachable'],
      success: {
        status: 200,
        description: 'Containers, without their environment.',
        answer: listOf(container),
      },
      handle: (request) => {
        const name = nameOf(request);
        if (request.store.get('nodes', idOf('nodes', name)) === undefined) return nodeNotFound(name);
        return readContainers(dispatch, request.store.tenantId, name);
      },
    }),
  ];
}

function modeRoute(nodes: NodeAdmission, mode: NodeMode, summary: string, description: string): Route {
  return route({
    method: 'POST',
    path: `/api/v1/nodes/{name}/${mode}`,
    summary,
    tag: 'Nodes',
    permission: 'nodes.manage',
    tenant: 'credential',
    codes: ['node_not_found', 'idempotency_key_conflict', 'header_invalid'],
    success: { status: 200, description, answer: nodeMode },
    handle: async (request) => plainReply(await setNodeMode(nodes, request.caller, nameOf(request), mode)),
  });
}

const ENROL_CODES: readonly RejectionCode[] = [
  'join_token_invalid',
  'node_name_invalid',
  'labels_invalid',
  'label_reserved',
  'residency_country_invalid',
  'residency_region_undeclared',
  'node_invalid',
  'node_owned_by_another_tenant',
  'node_already_enrolled',
];

function writeRoutes(nodes: NodeAdmission): Route[] {
  return [
    route({
      method: 'POST',
      path: '/api/v1/nodes',
      summary:
        'Enrol a node, with a join token or as tenant administrator; its token is shown in this answer and never again',
      tag: 'Nodes',
      permission: ['node.enrol', 'nodes.manage'],
      tenant: 'credential',
      body: { shape: nodeBody },
      codes: ENROL_CODES,
      success: {
        status: 201,
        description: 'The node and its token.',
        answer: nodeEnrolled,
        also: { 200: 'The machine had enrolled before.' },
      },
      handle: async ({ caller, body }) =>
        plainReply(await enrolNode(nodes, caller, body as Draft<typeof nodeBody>)),
    }),
    route({
      method: 'DELETE',
      path: '/api/v1/nodes/{name}',
      summary: 'Delete a node; its agent is sent away',
      tag: 'Nodes',
      permission: 'nodes.manage',
      tenant: 'credential',
      query: {
        force: {
          description: 'Also when it still holds instances or volumes: the machine is gone.',
          schema: { type: 'boolean', default: false },
        },
      },
      codes: ['node_not_found', 'node_in_use', 'revision_mismatch', 'header_invalid'],
      success: { status: 200, description: 'Deleted; the last stored record.', answer: nodeWritten },
      handle: (request) => {
        const force = booleanParameter(request.query, 'force');
        if (isRejection(force)) return force;
        return guardedReply(
          request,
          (ifMatch) => deleteNode(nodes, request.caller, nameOf(request), force, ifMatch),
          plainReply,
        );
      },
    }),
    modeRoute(nodes, 'cordon', 'Place nothing more on a node', 'The node; what runs on it stays.'),
    modeRoute(nodes, 'uncordon', 'Place on a node again', 'The node.'),
    modeRoute(
      nodes,
      'drain',
      'Move everything off a node that can move',
      'The node with movable and blocked instances.',
    ),
    route({
      method: 'POST',
      path: '/api/v1/nodes/{name}/claims',
      summary: 'Add the claim of a second tenant, for a hand-over',
      tag: 'Nodes',
      permission: 'tenants.manage',
      tenant: 'platform',
      body: { shape: claimBody },
      codes: ['node_not_found', 'tenant_not_found', 'node_in_use'],
      success: { status: 200, description: 'The node with its claims.', answer: nodeWritten },
      handle: async (request) =>
        plainReply(
          await addClaim(nodes, request.caller, nameOf(request), request.body as Draft<typeof claimBody>),
        ),
    }),
    route({
      method: 'DELETE',
      path: '/api/v1/nodes/{name}/claim',
      summary: 'Release the claim of the tenant named in X-Tenant-ID',
      tag: 'Nodes',
      permission: 'nodes.manage',
      tenant: 'header-uuid',
      codes: [
        'node_claim_release_no_tenant',
        'node_not_found',
        'node_in_use',
        'tenant_not_found',
        'revision_mismatch',
        'header_invalid',
      ],
      success: {
        status: 200,
        description: 'Released; the node goes to the second claimant, or ends with its last claim.',
        answer: claimReleased,
      },
      handle: (request) =>
        guardedReply(
          request,
          (ifMatch) => releaseClaim(nodes, request.caller, nameOf(request), ifMatch),
          plainReply,
        ),
    }),
  ];
}

function regionsRoute({ admission }: NodeAdmission): Route {
  return route({
    method: 'GET',
    path: '/api/v1/scheduler/regions',
    summary: 'Regions that this control plane declares, and whether residency is enforced',
    tag: 'Scheduler',
    permission: 'read',
    tenant: 'credential',
    codes: [],
    success: { status: 200, description: 'Enforcement and regions.', answer: regions },
    handle: () => ({
      status: 200,
      body: { enforcement: admission.residency.enforcement, regions: admission.residency.regions },
    }),
  });
}

export function nodeRoutes(nodes: NodeAdmission, dispatch: Dispatch): Route[] {
  return [...readRoutes(nodes, dispatch), ...writeRoutes(nodes), regionsRoute(nodes)];
}

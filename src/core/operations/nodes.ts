import { container } from '../contract/answers/deployment.ts';
import {
  claimReleased,
  node,
  nodeCleaned,
  nodeEnrolled,
  nodeKey,
  nodeMode,
  nodeWritten,
} from '../contract/answers/node.ts';
import { regions } from '../contract/answers/placement.ts';
import { listOf } from '../contract/answers/field-shapes.ts';
import { claimBody, nodeBody } from '../contract/node-bodies.ts';
import { LIST_QUERY, OWN_LOG_QUERY } from './queries.ts';
import type { RejectionCode } from '../rejections/catalogue.ts';
import { operation } from './operation.ts';

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

export const NODES = {
  list: operation({
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
  }),
  read: operation({
    method: 'GET',
    path: '/api/v1/nodes/{name}',
    summary: 'Read one node',
    tag: 'Nodes',
    permission: 'read',
    tenant: 'credential',
    codes: ['node_not_found'],
    success: { status: 200, description: 'The node.', answer: node },
  }),
  listContainers: operation({
    method: 'GET',
    path: '/api/v1/nodes/{name}/containers',
    summary: 'Every container on the machine, as its agent sees them now',
    tag: 'Nodes',
    permission: 'read',
    tenant: 'credential',
    query: LIST_QUERY,
    codes: ['node_not_found', 'agent_unreachable'],
    success: {
      status: 200,
      description: 'Containers by name, without their environment; the next page is in the Link header.',
      answer: listOf(container),
    },
  }),
  enrol: operation({
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
  }),
  remove: operation({
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
  }),
  cordon: operation({
    method: 'POST',
    path: '/api/v1/nodes/{name}/cordon',
    summary: 'Place nothing more on a node',
    tag: 'Nodes',
    permission: 'nodes.manage',
    tenant: 'credential',
    codes: ['node_not_found', 'idempotency_key_conflict', 'header_invalid'],
    success: { status: 200, description: 'The node; what runs on it stays.', answer: nodeMode },
  }),
  uncordon: operation({
    method: 'POST',
    path: '/api/v1/nodes/{name}/uncordon',
    summary: 'Place on a node again',
    tag: 'Nodes',
    permission: 'nodes.manage',
    tenant: 'credential',
    codes: ['node_not_found', 'idempotency_key_conflict', 'header_invalid'],
    success: { status: 200, description: 'The node.', answer: nodeMode },
  }),
  drain: operation({
    method: 'POST',
    path: '/api/v1/nodes/{name}/drain',
    summary: 'Move everything off a node that can move',
    tag: 'Nodes',
    permission: 'nodes.manage',
    tenant: 'credential',
    query: {
      dryRun: {
        description: 'Answer what would move and what would stay, and change nothing.',
        schema: { type: 'boolean', default: false },
      },
    },
    codes: ['node_not_found', 'idempotency_key_conflict', 'header_invalid'],
    success: { status: 200, description: 'The node with movable and blocked instances.', answer: nodeMode },
  }),
  clean: operation({
    method: 'POST',
    path: '/api/v1/nodes/{name}/clean',
    summary: 'Remove the images of a node that Berth pulled and nobody needs',
    tag: 'Nodes',
    permission: 'nodes.manage',
    tenant: 'credential',
    query: {
      dryRun: {
        description: 'Answer what would be removed and what would stay, and change nothing.',
        schema: { type: 'boolean', default: false },
      },
    },
    codes: ['node_not_found', 'agent_unreachable', 'agent_outdated'],
    success: {
      status: 200,
      description: 'What was removed, and what stays with why. Every removal is told by an event, too.',
      answer: nodeCleaned,
    },
  }),
  logs: operation({
    method: 'GET',
    path: '/api/v1/nodes/{name}/logs',
    summary: "The log of a node's agent",
    tag: 'Nodes',
    permission: 'nodes.manage',
    tenant: 'credential',
    query: OWN_LOG_QUERY,
    codes: ['node_not_found', 'agent_unreachable', 'agent_outdated'],
    lasts: 'always',
    success: {
      status: 200,
      description:
        'Server-sent events: log (line), gap (how many lines were dropped because they were not read), end (why). Credentials are redacted. Audited.',
      media: ['text/event-stream'],
    },
  }),
  rotateKey: operation({
    method: 'POST',
    path: '/api/v1/nodes/{name}/rotate-key',
    summary: "Have a node take another key for the tenant's network",
    tag: 'Nodes',
    permission: 'nodes.manage',
    tenant: 'credential',
    codes: ['node_not_found', 'node_key_not_renewed', 'agent_unreachable'],
    success: {
      status: 200,
      description: 'The key that the other nodes are told of; it is used a moment later.',
      answer: nodeKey,
    },
  }),
  addClaim: operation({
    method: 'POST',
    path: '/api/v1/nodes/{name}/claims',
    summary: 'Add the claim of a second tenant, for a hand-over',
    tag: 'Nodes',
    permission: 'tenants.manage',
    tenant: 'platform',
    body: { shape: claimBody },
    codes: ['node_not_found', 'tenant_not_found', 'node_in_use'],
    success: { status: 200, description: 'The node with its claims.', answer: nodeWritten },
  }),
  releaseClaim: operation({
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
  }),
};

export const SCHEDULER = {
  readRegions: operation({
    method: 'GET',
    path: '/api/v1/scheduler/regions',
    summary: 'Regions that this control plane declares, and whether residency is enforced',
    tag: 'Scheduler',
    permission: 'read',
    tenant: 'credential',
    codes: [],
    success: { status: 200, description: 'Enforcement and regions.', answer: regions },
  }),
};

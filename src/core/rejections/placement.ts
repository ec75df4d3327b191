import { entries } from './entry.ts';

/** Placement, nodes, networks, jobs. */
export const placementCodes = entries({
  node_candidates_unresolvable: {
    status: 422,
    alsoStatus: 503,
    field: 'nodeId',
    title: 'A node is named, but the tenant’s nodes cannot be determined.',
    cause:
      'A named node must be one of the tenant’s enrolled nodes. Either no node is registered under the tenant (422: the request cannot succeed until one is), or the records of nodes cannot be read at the moment (503: send the same request again later). Without the set the name cannot be checked, and an unchecked name could point at another tenant’s machine.',
    accepted:
      'the name of an enrolled node, after enrolling one with POST /api/v1/join-tokens; or nodeId left out',
    failing: '{ "name": "web", "nodeId": "berlin-1" }',
    corrected: '{ "name": "web" }',
    origin: '7.4',
  },
  node_not_a_placement_candidate: {
    status: 422,
    field: 'nodeId',
    title: 'The named node is not one on which this tenant can place.',
    cause:
      'Placement considers only the enrolled nodes of the deployment’s own tenant. The name is unknown or belongs to another tenant; the answer is the same on purpose. The node that the control plane itself runs on keeps what is placed on it and takes new work from the platform’s own tenant only, so that no other tenant can name it. Any other node that is enrolled but takes no new work at the moment is not refused: the deployment is stored and waits, and `GET /api/v1/deployments/{name}/explain` says why.',
    accepted: 'a node listed by GET /api/v1/nodes, or nodeId left out to let the scheduler place',
    failing: '{ "name": "web", "nodeId": "belrin-1" }',
    corrected: '{ "name": "web", "nodeId": "berlin-1" }',
    origin: '7.4',
  },
  node_owned_by_another_tenant: {
    status: 409,
    field: 'nodeName',
    title: 'The node name is already registered to another tenant.',
    cause:
      'The agent shows every container on its machine to whoever holds a token for that machine’s tenant, so a machine belongs to one tenant only, and node names are unique across the platform. Choose another name, or have the other tenant release its claim first.',
    accepted:
      'a node name that no other tenant has registered; or this one, after its tenant released it with DELETE /api/v1/nodes/{name}/claim',
    failing:
      'POST /api/v1/nodes\n\n{ "nodeName": "node-1", "capacity": { "cpu": 4, "memoryBytes": 8000000000 }, "platform": "linux/amd64", "engine": { "kind": "docker", "version": "27.3" }, "agentVersion": "0.1.0", "publicKey": "MCowBQYDK2VwAyEALddJ/pfF4UW7nnrzBTiC2upFtf/3Skon8mJKfoniYU8=" }',
    corrected:
      'POST /api/v1/nodes\n\n{ "nodeName": "shop-node-1", "capacity": { "cpu": 4, "memoryBytes": 8000000000 }, "platform": "linux/amd64", "engine": { "kind": "docker", "version": "27.3" }, "agentVersion": "0.1.0", "publicKey": "MCowBQYDK2VwAyEALddJ/pfF4UW7nnrzBTiC2upFtf/3Skon8mJKfoniYU8=" }',
    origin: '7.4',
  },
  node_claim_release_no_tenant: {
    status: 400,
    field: 'X-Tenant-ID',
    title: 'The release of a node claim does not say which tenant releases.',
    cause:
      'A node may carry claims of two tenants during a hand-over, and a claim is released per tenant. A release without the UUID could drop the wrong one. The slug is not accepted here: it can be reused after a tenant is deleted, the UUID cannot.',
    accepted: 'the header X-Tenant-ID with the UUID of the releasing tenant',
    failing: 'DELETE /api/v1/nodes/berlin-1/claim',
    corrected: 'DELETE /api/v1/nodes/berlin-1/claim\nX-Tenant-ID: 00000000-0000-4000-8000-000000000001',
    origin: '7.4',
  },
  job_node_candidates_unresolvable: {
    status: 422,
    alsoStatus: 503,
    field: 'nodeId',
    title: 'No node with a reachable agent could be listed for the job.',
    cause:
      'A job that names a node runs there or not at all, so the name is checked against the tenant’s nodes. Either none has a reachable agent (422), or the records of nodes cannot be read at the moment (503: send the same request again later).',
    accepted: 'the name of an enrolled node whose agent is connected, or nodeId left out',
    failing: '{ "kind": "Job", "name": "nightly-report", "nodeId": "berlin-1" }',
    corrected: '{ "kind": "Job", "name": "nightly-report" }',
    origin: '7.4',
  },
  job_node_not_found: {
    status: 404,
    field: 'nodeId',
    title: 'The job names a node that does not exist.',
    cause:
      'The named node must exist among the nodes of the tenant. A node of another tenant gets the same answer. A job bound to an unknown node would wait for ever without a sign.',
    accepted: 'a node listed by GET /api/v1/nodes, or nodeId left out',
    failing: '{ "kind": "Job", "name": "nightly-report", "nodeId": "berlin-9" }',
    corrected: '{ "kind": "Job", "name": "nightly-report", "nodeId": "berlin-1" }',
    origin: '7.4',
  },
  network_node_candidates_unresolvable: {
    status: 422,
    alsoStatus: 503,
    field: 'nodeId',
    title: 'The nodes on which the network could be created cannot be determined.',
    cause:
      'A network is created on one node. Either no node is registered for the tenant (422: enrol one first), or the store cannot be reached at the moment (503: send the same request again later).',
    accepted: 'at least one enrolled node; enrol with POST /api/v1/join-tokens',
    failing: 'POST /api/v1/networks      in a tenant without nodes\n\n{ "name": "backend" }',
    corrected:
      'POST /api/v1/networks      after a node was enrolled\n\n{ "name": "backend", "nodeId": "berlin-1" }',
    origin: '7.4',
  },
  network_node_not_a_candidate: {
    status: 422,
    field: 'nodeId',
    title: 'This tenant cannot place workloads on the named node.',
    cause:
      'A network is of use only where the tenant’s containers can run. The node is unknown, or it is not one on which this tenant can place.',
    accepted: 'a node listed by GET /api/v1/nodes',
    failing: '{ "name": "backend", "nodeId": "belrin-1" }',
    corrected: '{ "name": "backend", "nodeId": "berlin-1" }',
    origin: '7.4',
  },
  network_node_required: {
    status: 422,
    field: 'nodeId',
    title: 'Several nodes are available and none is named.',
    cause:
      'A network exists on ONE node and does not span hosts. With a single node it is taken, and that is announced; with more than one a choice by the server would be a guess about where your containers will run.',
    accepted: 'the name of one node listed by GET /api/v1/nodes',
    failing: '{ "name": "backend" }',
    corrected: '{ "name": "backend", "nodeId": "berlin-1" }',
    origin: '7.4',
  },
  network_option_unsupported_on_agent: {
    status: 422,
    field: 'computed',
    title: 'The network option does not exist in the wire format to the node agent.',
    cause:
      'The agent receives `name`, `driver`, `labels` and `internal`, and nothing else. Options such as `subnet`, `gateway`, `ipam` or `attachable` would be dropped on the way, and a network without its subnet is not the network that was asked for.',
    accepted: 'only name, driver, labels and internal (and nodeId, which selects the node)',
    failing: '{ "name": "backend", "nodeId": "berlin-1", "subnet": "10.20.0.0/24" }',
    corrected: '{ "name": "backend", "nodeId": "berlin-1", "internal": true }',
    origin: '7.4',
  },
});

import { entries } from './entry.ts';

/** Nodes, agents, networks and volume records. */
export const infrastructureCodes = entries({
  node_not_found: {
    status: 404,
    field: 'name',
    title: 'No node of this tenant has that name.',
    cause:
      'The node was never enrolled, was removed, or belongs to another tenant; the cases are answered alike.',
    accepted: 'a name listed by GET /api/v1/nodes',
    failing: 'POST /api/v1/nodes/belrin-1/drain',
    corrected: 'POST /api/v1/nodes/berlin-1/drain',
    origin: 'extension',
  },
  node_name_invalid: {
    status: 422,
    field: 'nodeName',
    title: 'The name of the node cannot be used.',
    cause:
      'The id of a node is its name, unique across the platform and part of paths and labels. It is required. Upper case is not folded: two spellings would look like two machines.',
    accepted:
      'lowercase letters, digits, dots and hyphens, starting with a letter or digit, 1-63 characters: [a-z0-9][a-z0-9.-]{0,62}',
    failing: '{ "nodeName": "Berlin_1" }',
    corrected: '{ "nodeName": "berlin-1" }',
    origin: 'extension',
  },
  node_invalid: {
    status: 422,
    field: 'computed',
    title: 'What the agent says of the node is malformed.',
    cause:
      'A node registers with its capacity (`cpu` in cores, `memoryBytes`), its platform, its engine and an Ed25519 public key of its own. The key is the identity of the machine, and placement rests on the rest, so none of it is guessed.',
    accepted:
      'capacity.cpu above 0, capacity.memoryBytes of 1 or more, platform such as linux/amd64, publicKey as base64 of an Ed25519 key in SPKI form',
    failing: '{ "nodeName": "berlin-1", "capacity": { "cpu": 0, "memoryBytes": 8000000000 } }',
    corrected: '{ "nodeName": "berlin-1", "capacity": { "cpu": 4, "memoryBytes": 8000000000 } }',
    origin: 'extension',
  },
  node_already_enrolled: {
    status: 409,
    field: 'nodeName',
    title: 'The tenant already has a node of this name, with another key.',
    cause:
      'The key is the identity of a machine and the name is a label on it: two machines under one name would take turns to displace each other. Give the new machine another name; or, when the old one is gone for good, delete its node, or make a join token for exactly this `nodeName`, which lets the new machine take the name over.',
    accepted:
      'another nodeName; or the same one after DELETE /api/v1/nodes/{name}; or a join token made for this nodeName',
    failing:
      'POST /api/v1/nodes      from a second machine\n\n{ "nodeName": "berlin-1", "capacity": { "cpu": 4, "memoryBytes": 8000000000 }, "platform": "linux/amd64", "engine": { "kind": "docker", "version": "27.3" }, "agentVersion": "0.1.0", "publicKey": "MCowBQYDK2VwAyEALddJ/pfF4UW7nnrzBTiC2upFtf/3Skon8mJKfoniYU8=" }',
    corrected: 'POST /api/v1/join-tokens\n\n{ "nodeName": "berlin-1" }',
    origin: 'extension',
  },
  node_in_use: {
    status: 409,
    field: 'name',
    title: 'The node still holds instances or volumes.',
    cause:
      'Removing the node or releasing its claim would leave containers without a supervisor and the only copies of volumes out of reach. Drain it first; the answer of the drain lists what can move and what cannot, with the reason.',
    accepted: 'a node without instances and without primary volumes, after POST /api/v1/nodes/{name}/drain',
    failing: 'DELETE /api/v1/nodes/berlin-1      with 3 instances',
    corrected: 'POST /api/v1/nodes/berlin-1/drain',
    origin: 'extension',
  },
  join_token_invalid: {
    status: 401,
    field: 'Authorization',
    title: 'The join token cannot enrol this node.',
    cause:
      'A join token works once and for 15 minutes unless its `ttl` says otherwise. It is unknown, used, expired or bound to another `nodeName`; the answer does not say which. Make a new one: the same answer contains the line to paste on the host.',
    accepted: 'a fresh token from POST /api/v1/join-tokens',
    failing: 'POST /api/v1/nodes      with a join token that was used before\n\n{ "nodeName": "berlin-1" }',
    corrected: 'POST /api/v1/join-tokens\n\n{ "nodeName": "berlin-1" }',
    origin: 'extension',
  },
  agent_unreachable: {
    status: 503,
    field: 'node',
    title: 'The agent of the node is not connected.',
    cause:
      'Logs, the list of containers and measurements come from the agent at the moment of asking and are not stored. Its session is down or did not answer in time. The stored state of the node and its deployments can be read as ever.',
    accepted: 'the same request, once GET /api/v1/nodes shows the node as ready',
    failing: 'GET /api/v1/nodes/berlin-1/containers      while the node is "status": "failed"',
    corrected: 'GET /api/v1/nodes/berlin-1/containers      once the node is "status": "ready"',
    origin: 'extension',
  },
  agent_outdated: {
    status: 409,
    field: 'node',
    title: 'The agent of the node is of a release that does not know this.',
    cause:
      'Agents say what they can do, and are asked for nothing else: an older one would not understand it. `why` names its version. The node goes on as before; nothing was done.',
    accepted: 'a node whose agent is of a newer release',
    failing:
      'POST /api/v1/deployments/web/instances/ins_01jdexample/signal      on a node with an older agent\n\n{ "signal": "SIGHUP" }',
    corrected:
      'POST /api/v1/deployments/web/instances/ins_01jdexample/signal      after an upgrade of the agent\n\n{ "signal": "SIGHUP" }',
    origin: 'extension',
  },
  node_key_not_renewed: {
    status: 409,
    field: 'name',
    title: "The node has no key for the tenant's network.",
    cause:
      "Keys are those of the tenant's network, and the node takes no part in it: its agent runs with `--mesh off`, or its machine lacks something. `why` has its words, and `berth node show` too.",
    accepted: "a node that takes part in the tenant's network",
    failing: 'POST /api/v1/nodes/berlin-1/rotate-key      while its agent runs with --mesh off',
    corrected: 'POST /api/v1/nodes/berlin-1/rotate-key      once its agent runs with --mesh 51820',
    origin: 'extension',
  },
  agent_session_stale: {
    status: 409,
    field: 'epoch',
    title: 'A newer session of this node exists.',
    cause:
      'A node has one live session, and each new one has a higher epoch. A session with an older epoch would act on an assignment that no longer holds, so it is refused. Two agents with the same identity, for example on a cloned machine, displace each other and show this repeatedly.',
    accepted: 'one agent per node, connecting anew',
    failing: 'GET /agent/v1/session      epoch 6, while epoch 7 is live',
    corrected: 'GET /agent/v1/session      epoch 8',
    origin: 'extension',
  },
  agent_version_unsupported: {
    status: 409,
    field: 'protocol',
    title: 'The agent is more than one release away from the control plane.',
    cause:
      'Agents and control planes one release apart work together, so that neither has to be upgraded at the same moment as the other; further apart, one of them would misread what the other says. `message` names both releases. The agent tries again by itself; its containers go on, and the node counts as silent meanwhile.',
    accepted: 'an agent of the same release, the one before or the one after',
    failing: 'GET /agent/v1/session      an agent of 0.1.0, while the control plane is of 0.3.0',
    corrected: 'GET /agent/v1/session      once the agent is of 0.2.0 or 0.3.0',
    origin: 'extension',
  },
  network_name_invalid: {
    status: 422,
    field: 'name',
    title: 'The name of the network cannot be used.',
    cause:
      'The name becomes part of the name of a network in the container engine, and a path segment. It is required.',
    accepted:
      'lowercase letters, digits and hyphens; starts with a letter; ends with a letter or digit; at most 63 characters',
    failing: '{ "name": "Back End", "nodeId": "berlin-1" }',
    corrected: '{ "name": "back-end", "nodeId": "berlin-1" }',
    origin: 'extension',
  },
  network_driver_unsupported: {
    status: 422,
    field: 'driver',
    title: 'The network driver is not supported.',
    cause:
      'Networks live on one node. Drivers that span hosts, attach to the physical network or share the namespace of the host would leave the boundary of the tenant.',
    accepted: '"bridge", or the field left out',
    failing: '{ "name": "backend", "nodeId": "berlin-1", "driver": "host" }',
    corrected: '{ "name": "backend", "nodeId": "berlin-1", "driver": "bridge" }',
    origin: 'extension',
  },
  network_not_found: {
    status: 404,
    field: 'computed',
    title: 'No network of this tenant has that name.',
    cause:
      'The network does not exist, was deleted, or belongs to another tenant; the cases are answered alike. `networks` of a deployment or job may also name `tenant`. A description that is sent together with its networks says so with the query `alongside`, as `berth apply` does.',
    accepted: 'a name listed by GET /api/v1/networks',
    failing: 'DELETE /api/v1/networks/bakcend',
    corrected: 'DELETE /api/v1/networks/backend',
    origin: 'extension',
  },
  network_already_exists: {
    status: 409,
    field: 'name',
    title: 'A network with this name exists already.',
    cause:
      'POST creates and never changes, and containers address a network by its name, so the name is unique in the tenant.',
    accepted: 'a name that is free in this tenant',
    failing: 'POST /api/v1/networks\n\n{ "name": "backend", "nodeId": "berlin-1" }',
    corrected: 'POST /api/v1/networks\n\n{ "name": "backend-2", "nodeId": "berlin-1" }',
    origin: 'extension',
  },
  network_node_mismatch: {
    status: 409,
    field: 'computed',
    title: 'The networks of a container, or its node, are not on one node.',
    cause:
      'A network is made on one node, and a container is attached to networks of its own node only. Networks of two nodes, or a `nodeId` other than that of the network, could never be placed.',
    accepted: 'networks of one node, and nodeId left out or that node; tenant is on every node',
    failing:
      'POST /api/v1/deployments      while "backend" is on berlin-1\n\n{ "name": "web", "nodeId": "berlin-2", "networks": ["backend"] }',
    corrected: 'POST /api/v1/deployments\n\n{ "name": "web", "networks": ["backend", "tenant"] }',
    origin: 'extension',
  },
  network_in_use: {
    status: 409,
    field: 'name',
    title: 'Deployments or jobs name the network, or containers are attached to it.',
    cause:
      'Removing the network would cut their connections, and nothing new of them could be placed. The rejection names the deployments and jobs that use it.',
    accepted: 'a network that nothing names and nothing is attached to',
    failing: 'DELETE /api/v1/networks/backend      while "web" is attached',
    corrected: 'DELETE /api/v1/networks/backend      after "web" was stopped',
    origin: 'extension',
  },
  volume_name_invalid: {
    status: 422,
    field: 'name',
    title: 'The name of the volume cannot be used.',
    cause:
      'The name becomes part of paths and of the volume’s name in the container engine. It is required. Mounts refer to the id, not to the name.',
    accepted:
      'lowercase letters, digits and hyphens; starts with a letter; ends with a letter or digit; at most 63 characters',
    failing: '{ "name": "PG Data", "class": "replicated", "type": "volume", "sizeBytes": 1073741824 }',
    corrected: '{ "name": "pg-data", "class": "replicated", "type": "volume", "sizeBytes": 1073741824 }',
    origin: 'extension',
  },
  volume_already_exists: {
    status: 409,
    field: 'name',
    title: 'A volume with this name exists already.',
    cause:
      'POST creates and never changes. Two volumes of one name could not be told apart in lists and on the nodes.',
    accepted: 'a name that is free in this tenant',
    failing:
      'POST /api/v1/dvm/volumes\n\n{ "name": "pg-data", "class": "replicated", "type": "volume", "sizeBytes": 1073741824 }',
    corrected:
      'POST /api/v1/dvm/volumes\n\n{ "name": "pg-data-2", "class": "replicated", "type": "volume", "sizeBytes": 1073741824 }',
    origin: 'extension',
  },
  volume_class_unknown: {
    status: 422,
    field: 'class',
    title: 'The class of the volume is unknown.',
    cause:
      'The class decides what happens to the bytes: `ephemeral` stay on one node, `replicated` are copied to others, `object` are kept in an object store (and cannot be mounted yet). There is no default, because the difference is whether data survives a lost node.',
    accepted: '"ephemeral", "replicated" or "object"',
    failing: '{ "name": "pg-data", "class": "persistent", "type": "volume", "sizeBytes": 1073741824 }',
    corrected: '{ "name": "pg-data", "class": "replicated", "type": "volume", "sizeBytes": 1073741824 }',
    origin: 'extension',
  },
  volume_type_unknown: {
    status: 422,
    field: 'type',
    title: 'The mount type of the volume is unknown or does not fit its class.',
    cause:
      '`volume` is managed by the container engine, `bind` is a directory of the host, `tmpfs` lives in memory and is lost with its container. A tmpfs cannot be replicated.',
    accepted: '"volume", "bind" or "tmpfs"; tmpfs only with the class ephemeral',
    failing: '{ "name": "pg-data", "class": "replicated", "type": "nfs", "sizeBytes": 1073741824 }',
    corrected: '{ "name": "pg-data", "class": "replicated", "type": "volume", "sizeBytes": 1073741824 }',
    origin: 'extension',
  },
  volume_size_invalid: {
    status: 422,
    field: 'sizeBytes',
    title: 'The size of the volume is missing, malformed or too small.',
    cause:
      'The size is an integer number of bytes, so that no unit can be misread. A replicated volume is a file system of its own and needs at least 128 MiB.',
    accepted: 'an integer number of bytes above 0; at least 134217728 (128 MiB) for the class replicated',
    failing: '{ "name": "pg-data", "class": "replicated", "type": "volume", "sizeBytes": 1048576 }',
    corrected: '{ "name": "pg-data", "class": "replicated", "type": "volume", "sizeBytes": 134217728 }',
    origin: 'extension',
  },
  volume_host_path_invalid: {
    status: 422,
    field: 'hostPath',
    title: 'The host path of a bind volume is missing, not allowed or out of place.',
    cause:
      'A bind shows a directory of the host to a container. The agent permits only directories under its own `bindRoots`, and checks again at every start; the root directory, relative paths and `..` elements are refused everywhere. Volumes of another type have no host path.',
    accepted: 'an absolute path without .. elements, for type bind only',
    failing:
      '{ "name": "media", "class": "ephemeral", "type": "bind", "sizeBytes": 1073741824, "hostPath": "../etc" }',
    corrected:
      '{ "name": "media", "class": "ephemeral", "type": "bind", "sizeBytes": 1073741824, "hostPath": "/srv/berth/media" }',
    origin: 'extension',
  },
  volume_binds_nested: {
    status: 422,
    field: 'volumes',
    title: 'One bind lies inside another.',
    cause:
      'Whoever has the outer folder decides what the name of the inner one leads to, and could give another container a folder of the host that way. The host paths of all binds of one workload therefore lie side by side. The agent refuses the same between workloads of one node.',
    accepted:
      'binds whose host paths are not inside one another; or one volume for both, with paths below its mount',
    failing:
      'POST /api/v1/deployments      vol_01jdouter is /srv/berth/shop/media, vol_01jdinner is /srv/berth/shop/media/raw\n\n{ "name": "encoder", "image": "registry.internal:5000/shop/encoder:1.0.0", "volumes": [ { "volumeId": "vol_01jdouter", "mountPath": "/media" }, { "volumeId": "vol_01jdinner", "mountPath": "/raw" } ] }',
    corrected:
      'POST /api/v1/deployments      vol_01jdouter is /srv/berth/shop/media\n\n{ "name": "encoder", "image": "registry.internal:5000/shop/encoder:1.0.0", "volumes": [ { "volumeId": "vol_01jdouter", "mountPath": "/media" } ] }',
    origin: 'extension',
  },
  volume_in_use: {
    status: 409,
    field: 'id',
    title: 'The volume is mounted and cannot be deleted.',
    cause:
      'A deployment or job still mounts the volume, even if it is stopped. Deleting would take the data away under it. The rejection names the consumers.',
    accepted: 'a volume without consumers; remove it from their volumes first',
    failing: 'DELETE /api/v1/dvm/volumes/vol_01jdexample      while "pg" mounts it',
    corrected: 'PUT /api/v1/deployments/pg\n\n{ "volumes": [] }',
    origin: 'extension',
  },
  volume_residency_conflict: {
    status: 409,
    field: 'placement.residency',
    title: 'The residency of one deployment would take copies of a volume from another one.',
    cause:
      'Several deployments and jobs can mount one replicated volume, and the residency of each of them binds where its copies may be and which of them may take over when the primary is lost. Here the residency that is written excludes a node with a copy that another one relies on; or another one that mounts the volume excludes every copy, so that none could take over for the new consumer. Both are named.',
    accepted:
      'a residency that every node with a copy of the volume satisfies; or the copy removed, or the other consumer changed or detached, in a request of its own',
    failing:
      'POST /api/v1/deployments      while pg mounts the volume and a copy of it is in FR\n\n{ "name": "report", "image": "registry.internal:5000/shop/report:1.0.0", "volumes": [ { "volumeId": "vol_01jdexample", "mountPath": "/data", "readOnly": true } ], "placement": { "residency": { "country": "DE" } } }',
    corrected:
      'POST /api/v1/deployments      while pg mounts the volume and a copy of it is in FR\n\n{ "name": "report", "image": "registry.internal:5000/shop/report:1.0.0", "volumes": [ { "volumeId": "vol_01jdexample", "mountPath": "/data", "readOnly": true } ], "placement": { "residency": { "region": "eu" } } }',
    origin: 'extension',
  },
  volume_replica_conflict: {
    status: 409,
    field: 'node_id',
    title: 'The node already holds the primary or a copy of this volume.',
    cause:
      'Every copy sits on a distinct node; a second one on the same machine would be lost together with the first.',
    accepted: 'an enrolled node that holds no copy of the volume yet',
    failing:
      'POST /api/v1/tenants/shop/volumes/vol_01jdexample/replicas      berlin-1 is the primary\n\n{ "node_id": "berlin-1" }',
    corrected: 'POST /api/v1/tenants/shop/volumes/vol_01jdexample/replicas\n\n{ "node_id": "berlin-2" }',
    origin: 'extension',
  },
  volume_promote_refused: {
    status: 409,
    field: 'node_id',
    title: 'The primary of the volume cannot be moved to this node now.',
    cause:
      'A planned move stops what mounts the volume, makes the last copy and starts it again on the other node. It is not begun when it could not end well: the node has no copy that is live, takes no new work, or what mounts the volume could not run there; a run of a job or a rollout that is under way would be cut off; or another move of the volume is under way. The reason is named.',
    accepted:
      'an enrolled node, open for new work, with a live copy of the volume, where everything that mounts the volume can run',
    failing:
      'POST /api/v1/dvm/volumes/vol_01jdexample/promote      berlin-3 has no copy\n\n{ "node_id": "berlin-3" }',
    corrected:
      'POST /api/v1/dvm/volumes/vol_01jdexample/promote      berlin-2 has a live copy\n\n{ "node_id": "berlin-2" }',
    origin: 'extension',
  },
  volume_not_replicated: {
    status: 409,
    field: 'id',
    title: 'The volume is not of the class replicated.',
    cause:
      'Only replicated volumes have live copies on other nodes. The class is fixed when the volume is created, because it decides how its bytes are laid out.',
    accepted: 'a volume of the class replicated',
    failing: 'POST /api/v1/tenants/shop/volumes/vol_01jdephemeral/replicas\n\n{ "node_id": "berlin-2" }',
    corrected: 'POST /api/v1/tenants/shop/volumes/vol_01jdreplicated/replicas\n\n{ "node_id": "berlin-2" }',
    origin: 'extension',
  },
});

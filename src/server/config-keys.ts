import { DEFAULT_PREFIXES } from '../core/model/mesh.ts';
import { PLATFORM_CONTAINER_DEFAULTS } from '../core/model/container-defaults.ts';
import type { KindAmounts } from '../core/model/quota.ts';
import type { Region } from '../core/model/region.ts';
import { DEFAULT_REGIONS } from '../core/scheduler/regions.ts';

/** What a setting of each type is read as; a duration in milliseconds. */
export interface ConfigTypes {
  string: string;
  integer: number;
  number: number;
  boolean: boolean;
  duration: number;
  strings: readonly string[];
  regions: readonly Region[];
  amounts: KindAmounts;
}

type KeyType = keyof ConfigTypes;

export interface ConfigKey {
  /** Dotted path in berth.yaml; the variable is BERTH_ + the path in upper snake case. */
  readonly path: string;
  readonly type: KeyType;
  /** As it is written in berth.yaml. */
  readonly default?: ConfigTypes[KeyType];
  readonly description: string;
  /** Command-line flag, where there is one. */
  readonly flag?: string;
  /** Smallest value; of a duration, in milliseconds. */
  readonly minimum?: number;
}

/** Every setting of the control plane; the reference page is generated from it, and an unknown key is refused. */
export const CONFIG_KEYS = [
  {
    path: 'dataDir',
    type: 'string',
    default: './berth-data',
    flag: '--data-dir',
    description: 'Folder of the embedded store, the keys and the first admin token.',
  },
  {
    path: 'listen',
    type: 'string',
    default: '127.0.0.1:7600',
    flag: '--listen',
    description: 'Address and port of the HTTP listener.',
  },
  {
    path: 'insecureListen',
    type: 'boolean',
    default: false,
    flag: '--insecure-listen',
    description: 'Allow a listener beyond loopback without TLS, because a proxy terminates it.',
  },
  {
    path: 'baseUrl',
    type: 'string',
    flag: '--base-url',
    description: 'Public URL of the control plane; absent: taken from each request.',
  },
  {
    path: 'baseUrlCertificate',
    type: 'string',
    description:
      'Certificate chain (PEM) that is shown at baseUrl where something else ends TLS, such as the router of cells: agents are given its digest when they join, and its keys. Absent: tls.cert is what they see; with a cell, no digest is given, and their machine decides whom it trusts. Reloaded when the file changes.',
  },
  {
    path: 'advertiseUrl',
    type: 'string',
    flag: '--advertise-url',
    description:
      'URL at which the other control planes of the same etcd reach this one; absent: the address of the listener, or the host name when it listens on all.',
  },
  {
    path: 'cell',
    type: 'string',
    flag: '--cell',
    description:
      'Name of this installation among several behind one router: a letter, then up to 7 letters and digits. Part of every token and session made from then on, so that the router knows the cell; the same on every control plane of one store.',
  },
  {
    path: 'nodeName',
    type: 'string',
    flag: '--node-name',
    description:
      "Name of the machine the control plane runs on; absent: the host name. Its node takes no placements except the platform's.",
  },
  {
    path: 'logLevel',
    type: 'string',
    default: 'info',
    flag: '--log-level',
    description: 'trace, debug, info, warn, error or silent.',
  },
  {
    path: 'tls.cert',
    type: 'string',
    flag: '--tls-cert',
    description: 'Certificate chain (PEM); reloaded when the file changes.',
  },
  { path: 'tls.key', type: 'string', flag: '--tls-key', description: 'Private key (PEM).' },
  {
    path: 'tls.next',
    type: 'string',
    description:
      'Certificates (PEM) of which one will be shown later, or will have signed what is: announced to agents ahead, so that they accept it. Reloaded when the file changes, which may appear later.',
  },
  {
    path: 'tls.threads',
    type: 'integer',
    default: 0,
    minimum: 0,
    flag: '--tls-threads',
    description:
      'Threads that accept connections and do their TLS, at most 64; 0: the main thread does it. Worth it from two cores on, when many requests come over TLS.',
  },
  {
    path: 'store.kind',
    type: 'string',
    default: 'sqlite',
    flag: '--store',
    description: 'sqlite (embedded) or etcd.',
  },
  {
    path: 'store.etcd.endpoints',
    type: 'strings',
    default: [],
    flag: '--etcd',
    description: 'URLs of the etcd members.',
  },
  {
    path: 'store.etcd.prefix',
    type: 'string',
    default: '/berth/',
    description: 'Prefix of every key in etcd.',
  },
  { path: 'store.etcd.user', type: 'string', description: 'etcd user.' },
  { path: 'store.etcd.passwordFile', type: 'string', description: 'File with the etcd password.' },
  { path: 'store.etcd.ca', type: 'string', description: 'CA certificate of etcd (PEM file).' },
  { path: 'store.etcd.cert', type: 'string', description: 'Client certificate for etcd (PEM file).' },
  { path: 'store.etcd.key', type: 'string', description: 'Client key for etcd (PEM file).' },
  {
    path: 'keys.tokenKeyFile',
    type: 'string',
    description:
      'Key of the token hashes; absent: <data-dir>/keys/token.key. The same on every control plane of one store.',
  },
  {
    path: 'keys.rootKeyFile',
    type: 'string',
    description:
      'Root key of the embedded secrets store; absent: the systemd credential root.key where there is one, else <data-dir>/keys/root.key. The same on every control plane of one store.',
  },
  {
    path: 'keys.rootKeyCommand',
    type: 'strings',
    default: [],
    description:
      'Program and arguments, without a shell, that print the root key (32 bytes, or as base64 or hex) within 10 s; in place of keys.rootKeyFile.',
  },
  { path: 'secrets.kind', type: 'string', default: 'embedded', description: 'embedded or vault.' },
  {
    path: 'secrets.namespaces',
    type: 'strings',
    default: ['deployments', 'resources'],
    description: 'Namespaces that workloads may reference.',
  },
  {
    path: 'secrets.vault.address',
    type: 'string',
    description: 'Origin of Vault or OpenBao, such as https://vault.internal:8200, without a path.',
  },
  {
    path: 'secrets.vault.ca',
    type: 'string',
    description: 'CA certificate of Vault (PEM file); absent: those of the system.',
  },
  {
    path: 'secrets.vault.timeout',
    type: 'duration',
    default: '2s',
    minimum: 100,
    description: 'Deadline of a call to Vault, and of all reads of one request together.',
  },
  {
    path: 'secrets.vault.tokenFile',
    type: 'string',
    description: 'File with a Vault token; read again when it changes.',
  },
  { path: 'secrets.vault.roleId', type: 'string', description: 'AppRole role id.' },
  {
    path: 'secrets.vault.secretIdFile',
    type: 'string',
    description: 'File with the AppRole secret id; read again when it changes.',
  },
  {
    path: 'secrets.vault.appRoleMount',
    type: 'string',
    default: 'approle',
    description: 'Where the AppRole method is mounted, below auth/.',
  },
  {
    path: 'secrets.vault.namespace',
    type: 'string',
    description: 'Namespace of Vault Enterprise or OpenBao that holds the mounts and the AppRole.',
  },
  {
    path: 'registries.allowPrivate',
    type: 'strings',
    default: ['localhost', '127.0.0.1'],
    description:
      'Registries that may have private addresses: host:port, host alone for its ports 80, 443 and 5000, or host:* for nearly all; with http:// for plain HTTP.',
  },
  {
    path: 'registries.insecure',
    type: 'strings',
    default: [],
    description: 'Registries with public addresses that are accessed over plain HTTP.',
  },
  {
    path: 'webhooks.allowPrivate',
    type: 'strings',
    default: [],
    description:
      'Receivers of webhooks that may have private addresses: host:port, host alone for its ports 80, 443 and 5000, or host:* for nearly all; with http:// for plain HTTP.',
  },
  {
    path: 'webhooks.insecure',
    type: 'strings',
    default: [],
    description: 'Receivers of webhooks with public addresses that are called over plain HTTP.',
  },
  {
    path: 'reservedNames',
    type: 'strings',
    default: ['etcd', 'berth-etcd'],
    description: 'Deployment names reserved for the store the control plane connects to.',
  },
  {
    path: 'maxReplicasPerDeployment',
    type: 'integer',
    default: 100,
    minimum: 0,
    description: 'Largest value of replicas.',
  },
  {
    path: 'nodes.keptImages',
    type: 'integer',
    default: 3,
    minimum: 0,
    description:
      'How many images before the present one a clean-up of nodes leaves for a rollback of each deployment; at most 7 are known.',
  },
  {
    path: 'containers.memory',
    type: 'string',
    default: PLATFORM_CONTAINER_DEFAULTS.memory,
    description:
      "Memory limit of containers whose workload has none: a part of the node's memory such as 90%, or an amount such as 512Mi. A tenant may have its own, as of the next three.",
  },
  {
    path: 'containers.pids',
    type: 'integer',
    default: PLATFORM_CONTAINER_DEFAULTS.pids,
    minimum: 16,
    description: 'Most processes and threads of a container.',
  },
  {
    path: 'containers.cpuWeight',
    type: 'integer',
    default: PLATFORM_CONTAINER_DEFAULTS.cpuWeight,
    minimum: 1,
    description: 'Share of a busy processor that a container gets, relative to others; 1 to 10000.',
  },
  {
    path: 'containers.logSize',
    type: 'string',
    default: PLATFORM_CONTAINER_DEFAULTS.logSize,
    description: "What is kept of a container's output on its node, such as 30M.",
  },
  {
    path: 'network.prefix',
    type: 'string',
    default: DEFAULT_PREFIXES.nodes,
    description:
      "Where subnets of nodes are taken from; the same for every tenant, since no two tenants' nodes meet.",
  },
  {
    path: 'network.nodeBits',
    type: 'integer',
    default: DEFAULT_PREFIXES.nodeBits,
    minimum: 8,
    description: 'Length of the subnet of one node: 24 leaves it 253 containers.',
  },
  {
    path: 'network.virtualPrefix',
    type: 'string',
    default: DEFAULT_PREFIXES.virtual,
    description: 'Where virtual addresses of deployments are taken from.',
  },
  {
    path: 'network.relayBytesPerSecond',
    type: 'integer',
    default: 8_388_608,
    minimum: 65_536,
    description:
      'What the nodes of one tenant may send through the relay of the control plane where they cannot reach one another.',
  },
  {
    path: 'ingress.acme.directory',
    type: 'string',
    default: 'https://acme-v02.api.letsencrypt.org/directory',
    description: 'Where ingress nodes get certificates (ACME); the directory of the authority.',
  },
  {
    path: 'ingress.acme.email',
    type: 'string',
    description: 'Whom the authority writes to about certificates; absent: nobody.',
  },
  {
    path: 'ingress.acme.ca',
    type: 'string',
    description:
      'File with the certificates (PEM) that the directory itself is trusted by, of an authority of your own.',
  },
  {
    path: 'limits.bodyBytes',
    type: 'integer',
    default: 1_048_576,
    minimum: 1024,
    description: 'Largest request body.',
  },
  {
    path: 'limits.jsonDepth',
    type: 'integer',
    default: 32,
    minimum: 4,
    description: 'Deepest nesting of a body.',
  },
  {
    path: 'limits.streamsPerToken',
    type: 'integer',
    default: 100,
    minimum: 0,
    description:
      'Event streams, logs and commands that a token may hold open at once, on each control plane; browser sessions count for their token.',
  },
  {
    path: 'limits.streamsPerTenant',
    type: 'integer',
    default: 500,
    minimum: 0,
    description:
      'The same of all tokens of a tenant together; never more than half of the connections that the process may have.',
  },
  {
    path: 'limits.connectionsPerAddress',
    type: 'integer',
    default: 1000,
    minimum: 1,
    description:
      'Connections that one address (of IPv6, one /64) may hold at once; sessions of agents are not counted.',
  },
  {
    path: 'limits.connectionsExempt',
    type: 'strings',
    default: ['127.0.0.1', '::1'],
    description:
      'Addresses and networks (10.0.0.0/8) without that limit: proxies, which stand for many clients and limit them themselves.',
  },
  {
    path: 'limits.reservedDescriptors',
    type: 'integer',
    default: 128,
    minimum: 8,
    description:
      'Descriptors that are kept for health, agents and the store when connections take all others; at most a quarter of what the process may have.',
  },
  {
    path: 'limits.unreadBytesPerToken',
    type: 'integer',
    default: 16_777_216,
    minimum: 1,
    description:
      'Bytes of answers to a token that it has not read yet; as long as there are more, further requests are refused.',
  },
  {
    path: 'limits.unreadBytesPerTenant',
    type: 'integer',
    default: 67_108_864,
    minimum: 1,
    description: 'The same of all tokens of a tenant together.',
  },
  {
    path: 'limits.sendTimeout',
    type: 'duration',
    default: '30s',
    minimum: 1000,
    description: 'A connection that takes nothing of its answer for this long is ended.',
  },
  {
    path: 'limits.heapShare',
    type: 'number',
    default: 0.8,
    minimum: 0,
    description:
      'Share of the heap from which on writes that add are refused with memory_low; from a tenth below it on, those of tenants that have most stored. The heap may take half of the memory of the machine or of its control group, unless NODE_OPTIONS sets --max-old-space-size.',
  },
  {
    path: 'limits.historyBytes',
    type: 'integer',
    default: 67_108_864,
    minimum: 0,
    description:
      'Memory for the figures of the last 24 hours, about 20 kB for each deployment and node; what has no room has no history. 0: none is kept.',
  },
  {
    path: 'quotas.records',
    type: 'amounts',
    default: {},
    description:
      'Records of each kind that a tenant may have whose quota does not say it, such as {deployments: 5000}; a kind that is left out keeps its built-in limit.',
  },
  {
    path: 'quotas.bytes',
    type: 'amounts',
    default: {},
    description:
      'Bytes of each kind, likewise. The built-in limits of what is held in memory are a 32nd of the heap at most.',
  },
  {
    path: 'quotas.defaultRequest.cpu',
    type: 'number',
    default: 0.1,
    minimum: 0,
    description:
      'Cores that a container counts against a quota of cpu when it has neither a request nor a limit; 0: none.',
  },
  {
    path: 'quotas.defaultRequest.memory',
    type: 'string',
    default: '128Mi',
    description:
      'The same of memory, such as 128Mi; 0: none. A default limit (containers.memory) bounds the container and does not count.',
  },
  {
    path: 'rateLimit.perSecond',
    type: 'number',
    default: 1000,
    minimum: 1,
    description: 'Requests per second and token.',
  },
  {
    path: 'rateLimit.burst',
    type: 'integer',
    default: 2000,
    minimum: 1,
    description: 'Requests a token may send at once.',
  },
  {
    path: 'agents.sessionsPerSecond',
    type: 'integer',
    default: 50,
    minimum: 1,
    description:
      'New agent sessions per second, at least; of many nodes so many more that all are back within two thirds of timers.startGrace. The rest is refused with a retry delay.',
  },
  {
    path: 'agents.credentialLifetime',
    type: 'duration',
    default: '2160h',
    minimum: 1000,
    description:
      'How long the token of a node is good for; renewed in its session when a third is over. A node that is away for longer has to join again.',
  },
  {
    path: 'events.keepDays',
    type: 'number',
    default: 7,
    minimum: 0,
    description: 'Days that events are kept.',
  },
  {
    path: 'events.keepCount',
    type: 'integer',
    default: 10_000,
    minimum: 100,
    description: 'Events kept per tenant.',
  },
  {
    path: 'audit.keepDays',
    type: 'number',
    default: 365,
    minimum: 1,
    description:
      'Days that lines of the audit stay in the store; they are written to `audit.dir` before they go.',
  },
  {
    path: 'audit.dir',
    type: 'string',
    description:
      'Folder of lines that left the audit (a folder per tenant, a file per month) and of refusals.jsonl; absent: <data-dir>/audit.',
  },
  {
    path: 'regions',
    type: 'regions',
    default: DEFAULT_REGIONS,
    description: 'Declared regions: a list of {name, countries}.',
  },
  {
    path: 'scheduler.residencyEnforcement',
    type: 'boolean',
    default: true,
    description: 'Residency constraints are enforced; off, deployments that have one wait.',
  },
  {
    path: 'residency.unstated',
    type: 'string',
    default: 'keep',
    description:
      'keep or refuse: what becomes of a node that states no country where a deployment blocks countries. By default it may be chosen, and the answer to the write warns of it.',
  },
  {
    path: 'dvm.enabled',
    type: 'boolean',
    default: true,
    description: 'Distributed volumes can be created and mounted.',
  },
  {
    path: 'sessions.idle',
    type: 'duration',
    default: '30m',
    minimum: 1000,
    description: 'A browser session that is not used for this long ends.',
  },
  {
    path: 'sessions.lifetime',
    type: 'duration',
    default: '12h',
    minimum: 1000,
    description: 'A browser session ends this long after its sign-in, however much it is used.',
  },
  {
    path: 'sessions.signInsPerMinute',
    type: 'integer',
    default: 30,
    minimum: 1,
    description: 'Browser sessions that a token may open per minute.',
  },
  {
    path: 'metrics.open',
    type: 'boolean',
    default: false,
    description:
      "/metrics is answered without a credential; otherwise a token of the platform's tenant is needed, for a scraper one of the role metrics.",
  },
  {
    path: 'dvm.lease',
    type: 'duration',
    default: '15s',
    minimum: 10,
    description:
      'How long the primary of a volume with copies may write after its last answered report; a copy is promoted a third of it later at the earliest.',
  },
  {
    path: 'dvm.lastCopy',
    type: 'duration',
    default: '30s',
    minimum: 10,
    description:
      'How long the last copy of a volume whose primary is moved may take; then it stays where it is and what mounts it starts there again.',
  },
  {
    path: 'dvm.leasePort',
    type: 'integer',
    default: 0,
    minimum: 0,
    description:
      'UDP port, on the address of the listener, where a thread of its own repeats leases of volumes while the control plane is busy; 0: any free one. Not with etcd.',
  },
  {
    path: 'timers.heartbeat',
    type: 'duration',
    default: '5s',
    minimum: 10,
    description: 'How often agents report.',
  },
  {
    path: 'timers.failedAfter',
    type: 'duration',
    default: '15s',
    minimum: 10,
    description: 'Silence after which a node is marked failed.',
  },
  {
    path: 'timers.replaceAfter',
    type: 'duration',
    default: '60s',
    description: 'Silence after which its instances are replaced elsewhere.',
  },
  {
    path: 'timers.startGrace',
    type: 'duration',
    default: '30s',
    description: 'For this long after a start of the control plane no node is marked failed.',
  },
  {
    path: 'timers.controlPlaneLease',
    type: 'duration',
    default: '5s',
    minimum: 2000,
    description:
      'With etcd: silence of a control plane after which the others take its shards over; its agents are to find another one by then.',
  },
  {
    path: 'timers.settle',
    type: 'duration',
    default: '10s',
    description: 'Running time that counts as healthy without a health check.',
  },
  {
    path: 'timers.usage',
    type: 'duration',
    default: '15s',
    minimum: 100,
    description: 'How often agents measure their containers, and scaling policies evaluate the measurements.',
  },
] as const satisfies readonly ConfigKey[];

type Keys = (typeof CONFIG_KEYS)[number];
export type ConfigPath = Keys['path'];

/** What the key is read as: always there when it has a default. */
export type Setting<Path extends ConfigPath> = SettingOf<Extract<Keys, { readonly path: Path }>>;
type SettingOf<Key extends Keys> =
  | ConfigTypes[Key['type']]
  | (Key extends { readonly default: unknown } ? never : undefined);
/** Keys of texts that may be absent. */
export type OptionalPath = Exclude<
  Extract<Keys, { readonly type: 'string' }>,
  { readonly default: unknown }
>['path'];

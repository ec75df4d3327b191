import type { InstanceId, NodeName, TenantId, VolumeId } from '../../core/model/ids.ts';
import { type DeploymentName, type JobName, type OwnerName, ownerOf } from '../../core/model/owner.ts';
import { leadingId, joinId } from './keys.ts';
import type { ColdRecords, GlobalRecords, TenantRecords } from './records.ts';

/**
 * Who writes the records of a kind. `requests`: `writes` and bootstrap, on a request; `controllers`: decisions about what is
 * stored; `agents`: what a node says, written by `agents`; `processes`: a control plane about itself.
 */
type Writer = 'requests' | 'controllers' | 'agents' | 'processes';

/** Sealed documents of the embedded secrets store and the key of a tenant: `secrets/embedded-keys.ts` spells their ids. */
export type SecretKind = 'secret-docs' | 'secret-key';

export type RecordKind = keyof GlobalRecords | keyof TenantRecords | keyof ColdRecords | SecretKind;

/** What a record belongs to: the kind, and where its id is; absent: the first segment of the key's id. */
export interface Subject {
  readonly kind: RecordKind;
  readonly at?: (id: string, record: Readonly<Record<string, unknown>>) => string | undefined;
}

/** What happens to records of a kind without any request. */
export interface Unasked {
  /** Only where one of these is stored; absent: nothing of the kind appears without a request. */
  readonly creates?: readonly Subject[];
  /** Members that change, or all of them; absent: none. */
  readonly updates?: readonly string[] | 'all';
  readonly removes?: true;
}

export interface RecordOwner {
  readonly owner: Writer;
  readonly unasked?: Unasked;
}

/** Instances of jobs stand beside those of deployments, under their owner's name. */
const OF_JOB: Subject = {
  kind: 'jobs',
  at: (id) => {
    const { kind, name } = ownerOf(leadingId(id));
    return kind === 'job' ? name : undefined;
  },
};
const OF_WORKLOAD: readonly Subject[] = [{ kind: 'deployments' }, OF_JOB];

function written(owner: Exclude<Writer, 'requests'>, ...creates: readonly Subject[]): RecordOwner {
  return { owner, unasked: { creates, updates: 'all', removes: true } };
}

const ASKED: RecordOwner = { owner: 'requests' };
const ASKED_AND_SWEPT: RecordOwner = { owner: 'requests', unasked: { removes: true } };

/** What a segment of an id is; those that are more than text have their type here. */
export interface Segments {
  tenant: TenantId;
  node: NodeName;
  instance: InstanceId;
  volume: VolumeId;
}

/** Names that are taken for one another nowhere, not even where an id is made. */
export interface Names {
  deployment: DeploymentName;
  job: JobName;
  owner: OwnerName;
}

/** `id`: what the segments of its key's id are, in their order; `record-ids.ts` encodes and decodes by it. */
type Rows<Kind extends RecordKind> = Readonly<Record<Kind, RecordOwner & { readonly id: readonly string[] }>>;

/** Every kind has its row: one that is missing, or has no `id`, does not compile. The law that a rejection stores nothing reads them. */
export const GLOBAL_OWNERS = {
  tenants: { id: ['tenant'], ...ASKED },
  'tenant-slugs': { id: ['slug'], ...ASKED },
  'tenant-erasures': { id: ['tenant'], owner: 'requests', unasked: { updates: ['problem'], removes: true } },
  tokens: { id: ['token'], owner: 'requests', unasked: { updates: ['expiresAt', 'hash', 'nextHash'] } },
  sessions: { id: ['digest'], owner: 'requests', unasked: { updates: ['lastUsedAt'], removes: true } },
  'node-names': { id: ['node'], ...ASKED },
  installation: { id: ['only'], owner: 'processes' },
  'store-format': { id: ['only'], owner: 'processes' },
  'control-planes': {
    id: ['process'],
    ...written('processes', {
      kind: 'control-plane-nodes',
      at: (_id, { nodeName }) => joinId(String(nodeName)),
    }),
  },
  // Stored before the record of the process: a started process and an invented one look the same, so none is expected.
  'control-plane-nodes': { id: ['node'], owner: 'processes' },
  shards: {
    id: ['number'],
    ...written('processes', { kind: 'control-planes', at: (_id, { owner }) => String(owner) }),
  },
} as const satisfies Rows<keyof GlobalRecords>;

export const TENANT_OWNERS = {
  deployments: { id: ['deployment'], ...ASKED },
  'deployment-ids': { id: ['deploymentId'], ...ASKED },
  'last-versions': { id: ['deployment'], ...ASKED },
  'deployment-status': { id: ['deployment'], ...written('controllers', { kind: 'deployments' }) },
  rollouts: { id: ['deployment'], ...written('controllers', { kind: 'deployments' }) },
  failures: { id: ['deployment'], ...written('agents', { kind: 'deployments' }) },
  jobs: { id: ['job'], ...ASKED },
  'job-status': { id: ['job'], ...written('controllers', { kind: 'jobs' }) },
  'job-orders': { id: ['job'], ...ASKED },
  'job-captures': { id: ['owner', 'instance'], ...written('agents', OF_JOB) },
  'scaling-policies': { id: ['deployment'], ...ASKED },
  canaries: { id: ['deployment'], ...ASKED_AND_SWEPT },
  specs: { id: ['owner', 'specHash'], ...ASKED_AND_SWEPT },
  instances: { id: ['owner', 'instance'], ...written('controllers', ...OF_WORKLOAD) },
  observations: { id: ['owner', 'instance'], ...written('agents', ...OF_WORKLOAD) },
  nodes: {
    id: ['node'],
    owner: 'requests',
    unasked: {
      updates: [
        'agentVersion',
        'capacity',
        'conditions',
        'disk',
        'engine',
        'features',
        'hostPorts',
        'ingress',
        'labels',
        'mesh',
        'notReady',
        'ordersHeld',
        'platform',
        'problems',
        'schedulable',
        'sessionEpoch',
        'volumeEngines',
      ],
    },
  },
  'node-liveness': { id: ['node'], ...written('controllers', { kind: 'nodes' }) },
  subnets: { id: ['node'], ...written('controllers', { kind: 'nodes' }) },
  'mesh-paths': { id: ['node'], ...written('agents', { kind: 'nodes' }) },
  'virtual-addresses': { id: ['deployment'], ...written('controllers', { kind: 'deployments' }) },
  'node-drains': { id: ['node'], ...written('controllers', { kind: 'nodes' }) },
  'node-sessions': { id: ['node'], ...written('agents', { kind: 'nodes' }) },
  volumes: {
    id: ['volume'],
    owner: 'requests',
    unasked: {
      updates: ['epoch', 'leaving', 'message', 'phase', 'primaryNodeId', 'replicas', 'unmountedSince'],
      removes: true,
    },
  },
  'volume-names': { id: ['name'], ...ASKED_AND_SWEPT },
  'volume-claims': { id: ['volume'], ...ASKED },
  'volume-observations': { id: ['volume', 'node'], ...written('agents', { kind: 'volumes' }) },
  'ingress-reports': { id: ['node'], ...written('agents', { kind: 'nodes' }) },
  'ingress-claims': { id: ['key'], ...ASKED },
  networks: { id: ['name'], ...ASKED },
  'network-observations': { id: ['name'], ...written('agents', { kind: 'networks' }) },
  'secret-labels': { id: ['label'], ...ASKED },
  // `writing` is committed before a remote store is written, for a request that may still be refused.
  credentials: {
    id: ['namespace', 'label'],
    owner: 'requests',
    unasked: { updates: ['writing', 'refused'] },
  },
  'secret-deliveries': { id: ['owner', 'instance'], ...written('agents', ...OF_WORKLOAD) },
  webhooks: { id: ['name'], ...ASKED },
  'webhook-orders': { id: ['name', 'webhook'], ...ASKED },
  'webhook-deliveries': { id: ['name', 'webhook'], ...written('controllers', { kind: 'webhooks' }) },
  'image-policy': { id: ['only'], ...ASKED },
  quota: { id: ['only'], ...ASKED },
  'container-defaults': { id: ['only'], ...ASKED },
} as const satisfies Rows<keyof TenantRecords>;

export const COLD_OWNERS = {
  archives: { id: ['deployment', 'version'], ...ASKED },
  backups: { id: ['backup'], ...ASKED },
  'backup-summaries': { id: ['backup'], ...ASKED },
  // Controllers publish events too: which kinds are a request's own is a matter of the event, not of its key.
  events: { id: ['event'], ...ASKED_AND_SWEPT },
  audit: { id: ['line'], ...ASKED },
  'failure-logs': {
    id: ['deployment', 'instance', 'key'],
    ...written('agents', { kind: 'deployments' }),
  },
  'job-logs': { id: ['job', 'run', 'attempt'], ...written('agents', { kind: 'jobs' }) },
  'webhook-dead-letters': {
    id: ['name', 'webhook', 'event'],
    ...written('controllers', { kind: 'webhooks' }),
  },
  idempotency: { id: ['digest'], ...ASKED_AND_SWEPT },
  'secret-docs': { id: ['form', 'namespace', 'label', 'version'], ...ASKED },
  'secret-key': { id: ['only'], ...ASKED },
} as const satisfies Rows<keyof ColdRecords | SecretKind>;

export const OWNERS: Rows<RecordKind> = { ...GLOBAL_OWNERS, ...TENANT_OWNERS, ...COLD_OWNERS };

import { jobOfOwner } from '../../core/model/job.ts';
import type { ColdRecords, GlobalRecords, TenantRecords } from './records.ts';

/**
 * Who writes the records of a kind. `requests`: admission and bootstrap, because somebody asked; `controllers`: decisions about what is
 * stored; `agents`: what a node says, written by dispatch; `processes`: a control plane about itself.
 */
export type Owner = 'requests' | 'controllers' | 'agents' | 'processes';

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

export interface Ownership {
  readonly owner: Owner;
  readonly unasked?: Unasked;
}

export const firstSegment = (id: string): string => id.split('/', 1)[0] ?? '';

/** Instances of jobs stand beside those of deployments, under their owner's name. */
const OF_JOB: Subject = { kind: 'jobs', at: (id) => jobOfOwner(firstSegment(id)) };
const OF_WORKLOAD: readonly Subject[] = [{ kind: 'deployments' }, OF_JOB];

function written(owner: Exclude<Owner, 'requests'>, ...creates: readonly Subject[]): Ownership {
  return { owner, unasked: { creates, updates: 'all', removes: true } };
}

const ASKED: Ownership = { owner: 'requests' };
const ASKED_AND_SWEPT: Ownership = { owner: 'requests', unasked: { removes: true } };

type Ownerships<Kind extends RecordKind> = Readonly<Record<Kind, Ownership>>;

/** Every kind has its row: one that is missing does not compile. The law that a rejection stores nothing reads them. */
export const GLOBAL_OWNERS: Ownerships<keyof GlobalRecords> = {
  tenants: ASKED,
  'tenant-slugs': ASKED,
  'tenant-erasures': { owner: 'requests', unasked: { updates: ['problem'], removes: true } },
  tokens: { owner: 'requests', unasked: { updates: ['expiresAt', 'hash', 'nextHash'] } },
  sessions: { owner: 'requests', unasked: { updates: ['lastUsedAt'], removes: true } },
  'node-names': ASKED,
  installation: { owner: 'processes' },
  'control-planes': written('processes', {
    kind: 'control-plane-nodes',
    at: (_id, { nodeName }) => encodeURIComponent(String(nodeName)),
  }),
  // Stored before the record of the process: nothing tells one that was started from one that is made up, so none is expected.
  'control-plane-nodes': { owner: 'processes' },
  shards: written('processes', { kind: 'control-planes', at: (_id, { owner }) => String(owner) }),
};

export const TENANT_OWNERS: Ownerships<keyof TenantRecords> = {
  deployments: ASKED,
  'deployment-ids': ASKED,
  'last-versions': ASKED,
  'deployment-status': written('controllers', { kind: 'deployments' }),
  rollouts: written('controllers', { kind: 'deployments' }),
  jobs: ASKED,
  'job-status': written('controllers', { kind: 'jobs' }),
  'job-orders': ASKED,
  'job-captures': written('agents', OF_JOB),
  'scaling-policies': ASKED,
  canaries: ASKED_AND_SWEPT,
  specs: ASKED_AND_SWEPT,
  instances: written('controllers', ...OF_WORKLOAD),
  observations: written('agents', ...OF_WORKLOAD),
  nodes: {
    owner: 'requests',
    unasked: {
      updates: [
        'agentVersion',
        'capacity',
        'engine',
        'features',
        'hostPorts',
        'labels',
        'ordersHeld',
        'platform',
        'problems',
        'schedulable',
        'sessionEpoch',
        'volumeEngines',
      ],
    },
  },
  'node-liveness': written('controllers', { kind: 'nodes' }),
  'node-drains': written('controllers', { kind: 'nodes' }),
  'node-sessions': written('agents', { kind: 'nodes' }),
  volumes: {
    owner: 'requests',
    unasked: {
      updates: ['epoch', 'leaving', 'message', 'phase', 'primaryNodeId', 'replicas', 'unmountedSince'],
      removes: true,
    },
  },
  'volume-names': ASKED_AND_SWEPT,
  'volume-claims': ASKED,
  'volume-observations': written('agents', { kind: 'volumes' }),
  networks: ASKED,
  'network-observations': written('agents', { kind: 'networks' }),
  'secret-labels': ASKED,
  // `writing` is committed before a remote store is written, for a request that may still be refused.
  credentials: { owner: 'requests', unasked: { updates: ['writing', 'refused'] } },
  'secret-deliveries': written('agents', ...OF_WORKLOAD),
  'image-policy': ASKED,
  quota: ASKED,
  'container-defaults': ASKED,
};

export const COLD_OWNERS: Ownerships<keyof ColdRecords | SecretKind> = {
  archives: ASKED,
  backups: ASKED,
  'backup-summaries': ASKED,
  // Controllers publish events too: which kinds are a request's own is a matter of the event, not of its key.
  events: ASKED_AND_SWEPT,
  audit: ASKED,
  'job-logs': written('agents', { kind: 'jobs' }),
  idempotency: ASKED_AND_SWEPT,
  'secret-docs': ASKED,
  'secret-key': ASKED,
};

export const OWNERS: Ownerships<RecordKind> = { ...GLOBAL_OWNERS, ...TENANT_OWNERS, ...COLD_OWNERS };

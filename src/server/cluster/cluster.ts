import type { Duplex } from 'node:stream';
import type {
  CopyAges,
  HistoryParts,
  HistoryQuestion,
  SystemQuestion,
} from '../../core/protocol/peer-messages.ts';
import type { NodeName, TenantId } from '../../core/model/ids.ts';
import type { ScalingView } from '../../core/model/scaling.ts';
import type { StoreLineage } from '../agents/assignments/store-lineage.ts';
import type { OtherControlPlanes } from '../agents/dispatch.ts';
import type { AgedUsage } from '../runtime/measurements.ts';
import type { Guard } from '../store/kv.ts';
import type { Store } from '../store/store.ts';
import type { PeerEndpoint, PeerEndpointOptions, SystemStream } from './peer-endpoint.ts';
import type { ShardListener } from './shards.ts';

export interface OwnAddress {
  readonly nodeName: string;
  readonly version: string;
  readonly host: string;
  readonly port: number;
  readonly advertiseUrl?: string;
  readonly baseUrl?: string;
  /** PEM, when it serves TLS. */
  readonly certificate?: string;
}

export interface Gauge {
  readonly name: string;
  readonly help: string;
  /** Absent: a gauge. */
  readonly type?: 'counter';
  readonly read: () => number;
}

/** What this process answers, to other control planes or to its own API. */
export interface OwnAnswers {
  readonly scalingView: (tenantId: TenantId, deployment: string) => ScalingView | undefined;
}

/** What becomes of a process that has joined. */
export interface JoinListener {
  /** The store is out of reach of this process alone. */
  readonly onIsolated: () => void;
  /** Its lease was lost, and to the others its sessions with it: they count as alive again when this has resolved and it is back. */
  readonly onLeaseLost: () => Promise<void>;
  /** Its lease was lost, and it may not join again beside what the store and the others are by now. */
  readonly onRefused: (error: Error) => void;
}

/** How controllers store, and for whom. */
export interface ForControllers {
  readonly store: Store;
  readonly owns: (tenantId: TenantId) => boolean;
  /** Absent: nobody else could decide for the tenant. */
  readonly shardGuard?: (tenantId: TenantId) => Guard | undefined;
  readonly controlPlane?: string;
  readonly certain?: () => boolean;
  readonly agesElsewhere?: (tenantId: TenantId, node: NodeName) => Promise<readonly CopyAges[] | undefined>;
}

/**
 * This process among the control planes of its store: `alone`, or one of several (`clustered`). Which of them it is, is decided once;
 * everybody else asks here and has no idea. In the order in which a start calls them.
 */
export interface Cluster {
  /** Absent: there is no other. */
  readonly id: string | undefined;
  readonly forControllers: ForControllers;
  readonly forDispatch: { readonly others?: OtherControlPlanes };
  readonly forApi: { readonly fresh?: () => Promise<boolean>; readonly sole?: () => Guard | undefined };
  /** Whether a thread may repeat leases on its own: only where no other process could promote another node. */
  readonly repeatsLeases: boolean;
  /** Where the others ask this one; their connections are none of anybody's. */
  readonly paths: readonly string[];
  readonly gauges: readonly Gauge[];

  /** The store has been read and nothing was written yet. */
  opened(): Promise<void>;
  /** As `opened` found it; undefined: agents need not compare it with their orders. */
  storeLineage(): StoreLineage | undefined;
  /** What any process has acknowledged by now is seen here; throws when the store does not answer. */
  caughtUp(): Promise<void>;
  /** False: another one made it, and this one has to be given it. */
  mayMakeRootKey(): Promise<boolean>;
  /** Throws when it is not the one of the others. */
  agreeOnRootKey(ids: readonly string[]): Promise<void>;
  join(address: OwnAddress, listener: JoinListener): Promise<void>;
  /** To the newest format that all control planes of the store read. True: it was raised. */
  raiseFormat(): Promise<boolean>;
  /** From now on the listener is notified of gained and lost tenants. */
  start(listener: ShardListener): void;
  leave(): Promise<void>;

  /** By path: answers what only this process knows. */
  endpoints(
    options: Omit<PeerEndpointOptions, 'proofs' | 'storeAnswers'>,
  ): Readonly<Record<string, PeerEndpoint['question']>>;
  /** Goes on with a connection once what it shows may be looked up here. */
  admit(socket: Duplex, proceed: () => void): void;
  /** Measurements of agents that are connected to others. */
  usage(tenantId: TenantId, nodes: readonly string[], withinMs?: number): Promise<readonly AgedUsage[]>;
  /** The state of a scaling policy in the process that owns the tenant's shard. */
  scalingView(
    own: OwnAnswers,
    tenantId: TenantId,
    deployment: string,
  ): ScalingView | undefined | Promise<ScalingView | undefined>;
  /** What the others know of the history. */
  history(question: HistoryQuestion): Promise<HistoryParts>;
  /** Another control plane about itself; a text: why not now. */
  askSystem(member: string, question: SystemQuestion): Promise<SystemStream | string>;
  /** A renewed certificate (PEM) that is shown from now on. */
  renewed(certificate: string): Promise<void>;
  status(): Record<string, unknown>;
}

import type { NodeName, TenantId, VolumeId } from './ids.ts';
import type { OwnerName } from './owner.ts';

export type VolumeClass = 'ephemeral' | 'replicated' | 'object';
export type VolumeType = 'volume' | 'bind' | 'tmpfs';
export type VolumePhase = 'Pending' | 'Materializing' | 'Ready' | 'Degraded' | 'Deleting';

export interface VolumeReplica {
  readonly nodeId: NodeName;
  readonly state: 'syncing' | 'live' | 'failed';
  /** It was the primary until this epoch and may hold bytes that no copy has: it is never ordered to remove them. */
  readonly formerEpoch?: number;
  /** Why it may not take over, although it is kept: with whose residency excludes its node. */
  readonly misplaced?: string;
}

/**
 * A planned move of the primary. `preparing`: `to` fetches what is to run there, and everything goes on meanwhile; `stopping`: everything that
 * mounts it ends; `copying`: the old primary gave its lease back and makes the last copy; then `to` takes over under the next epoch. Until
 * that is stored the old primary is the only one, and can go on.
 */
export interface VolumeSwitchover {
  /** What an agent says counts for this one only. */
  readonly attempt: number;
  readonly to: NodeName;
  readonly step: 'preparing' | 'stopping' | 'copying';
  /** Those that `to` is to have before anything stops; absent after that. */
  readonly images?: readonly string[];
  readonly by: 'drain' | 'request';
  readonly since: string;
}

/** One that was given up: the old primary goes on. */
export interface FailedSwitchover extends Pick<VolumeSwitchover, 'to' | 'by'> {
  readonly why: string;
  readonly at: string;
}

/** What is wanted is written by admission, where it is kept and how it stands by the volumes controller. */
export interface VolumeRecord {
  readonly id: VolumeId;
  readonly tenantId: TenantId;
  readonly name: string;
  readonly class: VolumeClass;
  readonly type: VolumeType;
  readonly phase: VolumePhase;
  /** Why the phase is what it is, for people; absent when it is Ready. */
  readonly message?: string;
  readonly sizeBytes: number;
  readonly primaryNodeId?: NodeName;
  /** How many copies are wanted beside the primary. */
  readonly copies: number;
  readonly replicas: readonly VolumeReplica[];
  /** Nodes that are to remove their bytes and have not said yet that they did. */
  readonly leaving: readonly NodeName[];
  readonly accessMode: 'ReadWriteOnce';
  readonly hostPath?: string;
  /** Raised with every promotion: at most one node is the primary of an epoch. */
  readonly epoch: number;
  /** How long the primary of this epoch may write after its last answered report. */
  readonly leaseMs: number;
  readonly switchover?: VolumeSwitchover;
  /** How many there were. */
  readonly switchovers?: number;
  /** The last one, if it was given up; the same drain does not try again. */
  readonly switchoverFailed?: FailedSwitchover;
  readonly createdAt: string;
  /** Absent while something mounts it. */
  readonly unmountedSince?: string;
}

/**
 * Who mounts a volume, by the name of the deployment or of the job's owner: written in the transaction of what does, so that two writers, or a mount and a
 * deletion, cannot both pass.
 */
export interface VolumeClaims {
  readonly writer?: OwnerName;
  readonly readers: readonly OwnerName[];
}

export const SMALLEST_REPLICATED_BYTES = 128 * 2 ** 20;
/** A smaller file system of the engine btrfs cannot be resized while it is in use: it grows at least to this, and shrinks no further. */
export const LEAST_RESIZED_BYTES = 256 * 2 ** 20;

/** An agent keeps its bytes; the others live in memory or outside. */
export function isKeptByNode({ class: kind, type }: Pick<VolumeRecord, 'class' | 'type'>): boolean {
  return kind !== 'object' && type !== 'tmpfs';
}

/** Its primary is being moved, and what mounts it is away for that. */
export function standsStill({ switchover }: Pick<VolumeRecord, 'switchover'>): boolean {
  return switchover !== undefined && switchover.step !== 'preparing';
}

/** The primary of a volume with copies writes under a lease; without copies nobody could take its place, and no lease is needed. */
export function isLeased({ class: kind, replicas }: Pick<VolumeRecord, 'class' | 'replicas'>): boolean {
  return kind === 'replicated' && replicas.length > 0;
}

/** A lease that ran out, and the time in which the writers of a node are certainly killed after it. */
export function fencedAfterMs({ leaseMs }: Pick<VolumeRecord, 'leaseMs'>): number {
  return leaseMs + Math.ceil(leaseMs / 3);
}

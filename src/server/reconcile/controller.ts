import type { Workload } from '../../core/model/deployment.ts';
import type { TenantId } from '../../core/model/ids.ts';
import type { Clock } from '../clock.ts';
import type { Ids } from '../ids.ts';
import type { Journal } from '../journal/journal.ts';
import type { TenantClusters } from '../placement/tenant-clusters.ts';
import type { Guard } from '../store/kv.ts';
import type { Store } from '../store/store.ts';
import type { Timers } from './timers.ts';

/** A level-triggered loop: it may be stopped at any moment and started again, here or elsewhere. */
export interface Controller {
  readonly name: string;
  start(): void;
  stop(): Promise<void>;
  /** The tenant's shard was assigned to this process: reconcile everything of it. */
  adopt(tenantId: TenantId): void;
  /** The shard was reassigned: drop in-memory state. The store refuses writes anyway. */
  abandon(tenantId: TenantId): void;
  status(): Record<string, unknown>;
}

/** Figures for the operator; the server turns them into metrics. */
export interface ControllerMetrics {
  decided(controller: string, seconds: number): void;
  reconciled(controller: string, seconds: number): void;
  committed(controller: string, result: 'ok' | 'conflict' | 'fault'): void;
}

export interface ControllerDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly timers: Timers;
  readonly ids: Ids;
  readonly journal: Journal;
  readonly clusters: TenantClusters;
  readonly hashSpec: (spec: Workload) => string;
  /** Whether this process decides for the tenant (shards). */
  readonly owns: (tenantId: TenantId) => boolean;
  /** Of the tenant's shard, where several processes share the store; commits of `store` have it already. */
  readonly shardGuard?: (tenantId: TenantId) => Guard | undefined;
  /** Id of this process among several on one store; absent: it is the only one. */
  readonly controlPlane?: string;
  readonly metrics: ControllerMetrics;
  readonly log: (problem: string, details: Readonly<Record<string, unknown>>) => void;
}

/** Changes by controllers are the system's own. */
export const SYSTEM = { requestId: 'controller' } as const;

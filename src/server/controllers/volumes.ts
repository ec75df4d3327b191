import type { SeenVolume } from '../../core/contract/volume-seen.ts';
import { canonicalJson } from '../../core/model/canonical.ts';
import type { DeploymentRecord } from '../../core/model/deployment.ts';
import type { NodeName, TenantId } from '../../core/model/ids.ts';
import type { NodeLiveness, NodeRecord } from '../../core/model/node.ts';
import type { VolumeRecord } from '../../core/model/volume.ts';
import { planVolume, type VolumePlan } from '../../core/planner/volumes.ts';
import type { Stored } from '../store/collection.ts';
import { joinId } from '../store/keys.ts';
import type { TenantStore } from '../store/store.ts';
import type { Transaction } from '../store/transaction.ts';
import type { ViewChange } from '../store/view.ts';
import { type Controller, type ControllerDeps, ownedTenants } from './controller.ts';
import { LeasesElsewhere } from './leases-elsewhere.ts';
import { KeyedQueue } from './queue.ts';
import { VolumeMemory } from './volume-memory.ts';
import { readVolumeFacts, type VolumeSettings } from './volume-read.ts';

/** Leases and measurements, as the sessions with agents tell them. */
export interface VolumeSigns {
  mayLease(tenantId: TenantId, node: NodeName): boolean;
  leased(tenantId: TenantId, node: NodeName, heardMs: number): void;
  reported(tenantId: TenantId, node: NodeName, seen: SeenVolume, heardMs: number): void;
}

/**
 * Chooses where volumes and their copies are kept, tells how they stand, and promotes a copy when a primary is lost. The raised epoch
 * is stored first, guarded by what was read; orders go out from what is stored.
 */
export class VolumesController implements Controller, VolumeSigns {
  readonly name = 'volumes';
  readonly #deps: ControllerDeps;
  readonly #settings: VolumeSettings;
  readonly #queue: KeyedQueue;
  readonly #memory: VolumeMemory;
  readonly #elsewhere: LeasesElsewhere | undefined;
  #unsubscribe: (() => void) | undefined;

  constructor(deps: ControllerDeps, settings: VolumeSettings) {
    this.#deps = deps;
    this.#settings = settings;
    this.#memory = new VolumeMemory(deps.clock.monotonicMs());
    if (deps.controlPlane !== undefined) this.#elsewhere = new LeasesElsewhere(deps.store, deps.controlPlane);
    this.#queue = new KeyedQueue(
      {
        work: (key) => this.#converge(key),
        onFault: (key, fault) => {
          deps.metrics.committed(this.name, 'fault');
          deps.log('a volume could not be looked at; trying again', { key, fault: String(fault) });
        },
        timers: deps.timers,
      },
      () => deps.clock.monotonicMs(),
    );
  }

  start(): void {
    const { view } = this.#deps.store;
    this.#unsubscribe = view.onChange((change) => this.#take(change));
    for (const tenantId of ownedTenants(this.#deps)) this.adopt(tenantId);
  }

  adopt(tenantId: TenantId): void {
    if (this.#elsewhere !== undefined) this.#memory.adopted(tenantId, this.#deps.clock.monotonicMs());
    this.#addAll(tenantId);
  }

  /** What sessions told stays: it is of this process's own agents, whoever decides. */
  abandon(): void {}

  async stop(): Promise<void> {
    this.#unsubscribe?.();
    await this.#queue.stop();
  }

  status(): Record<string, unknown> {
    return { queue: this.#queue.depth };
  }

  mayLease(tenantId: TenantId, node: NodeName): boolean {
    return this.#memory.mayLease(tenantId, node);
  }

  leased(tenantId: TenantId, node: NodeName, heardMs: number): void {
    this.#memory.leased(tenantId, node, heardMs);
  }

  reported(tenantId: TenantId, node: NodeName, seen: SeenVolume, heardMs: number): void {
    if (this.#memory.reported(tenantId, node, seen, heardMs)) this.#add(tenantId, joinId(seen.volumeId));
  }

  #add(tenantId: TenantId, id: string): void {
    if (this.#deps.owns(tenantId)) this.#queue.add(`${tenantId}/${id}`);
  }

  /** When a lease ended elsewhere counts from when it was first seen: it is looked at once, not when a promotion is due. */
  #noteLeases(tenantId: TenantId): void {
    const nowMs = this.#deps.clock.monotonicMs();
    for (const { record } of this.#deps.store.forTenant(tenantId).list('volumes'))
      if (record.primaryNodeId !== undefined)
        this.#elsewhere?.latestMs(tenantId, record.primaryNodeId, nowMs);
  }

  #addAll(tenantId: TenantId): void {
    for (const id of this.#deps.store.view.tenant(tenantId, 'volumes').ids()) this.#add(tenantId, id);
  }

  #take(change: ViewChange): void {
    const { tenantId, kind, id } = change;
    if (tenantId === undefined) {
      // A control plane ended: the leases that it gave end from here on.
      if (kind === 'control-planes' && change.after === undefined)
        for (const owned of ownedTenants(this.#deps)) this.#noteLeases(owned);
      return;
    }
    switch (kind) {
      case 'node-sessions':
        if (this.#deps.owns(tenantId))
          this.#elsewhere?.latestMs(
            tenantId,
            decodeURIComponent(id) as NodeName,
            this.#deps.clock.monotonicMs(),
          );
        break;
      case 'volumes':
      case 'volume-claims':
        this.#add(tenantId, id);
        break;
      case 'volume-observations':
        this.#add(tenantId, id.slice(0, id.indexOf('/')));
        break;
      case 'nodes':
        if (nodeMoved(change)) this.#addAll(tenantId);
        break;
      case 'node-liveness':
        if (livenessMoved(change)) this.#addAll(tenantId);
        break;
      case 'deployments':
        // Its residency binds the copies of what it mounts.
        for (const { volumeId } of (change.after?.record as DeploymentRecord | undefined)?.spec.volumes ?? [])
          this.#add(tenantId, joinId(volumeId));
        break;
      default:
    }
  }

  async #converge(key: string): Promise<void> {
    const slash = key.indexOf('/');
    const tenantId = key.slice(0, slash) as TenantId;
    if (!this.#deps.owns(tenantId)) return;
    const tenant = this.#deps.store.forTenant(tenantId);
    const id = key.slice(slash + 1);
    const stored = tenant.get('volumes', id);
    if (stored === undefined) return;
    const { clock, metrics } = this.#deps;
    const nowMs = clock.monotonicMs();
    const facts = readVolumeFacts(tenant, stored.record, this.#memory, this.#settings, {
      nowMs,
      now: clock.now().toISOString(),
      ...this.#leasedElsewhere(tenant.tenantId, stored.record, nowMs),
    });
    const plan = planVolume(facts);
    metrics.decided(this.name, (clock.monotonicMs() - nowMs) / 1000);
    if (plan.recheckInMs !== undefined) this.#queue.addAfter(key, Math.max(1, plan.recheckInMs));
    const transaction = this.#transaction(tenant, stored, plan);
    const primary = stored.record.primaryNodeId;
    if (transaction === undefined) {
      if (primary !== undefined) this.#memory.release(tenant.tenantId, primary, stored.record.id);
      return;
    }
    // Nothing was awaited since the lease was judged: from here on the old primary gets no further one.
    if (plan.promotes && primary !== undefined)
      this.#memory.withhold(tenant.tenantId, primary, stored.record.id);
    const result = await tenant.commit(transaction);
    metrics.committed(this.name, result.ok ? 'ok' : 'conflict');
    if (primary !== undefined) this.#memory.release(tenant.tenantId, primary, stored.record.id);
    if (!result.ok) this.#queue.add(key);
    else for (const node of plan.forget) this.#memory.forget(tenant.tenantId, stored.record.id, node);
  }

  #leasedElsewhere(
    tenantId: TenantId,
    { primaryNodeId }: VolumeRecord,
    nowMs: number,
  ): { readonly leasedElsewhereMs?: number } {
    const leasedElsewhereMs =
      primaryNodeId === undefined ? undefined : this.#elsewhere?.latestMs(tenantId, primaryNodeId, nowMs);
    return leasedElsewhereMs === undefined ? {} : { leasedElsewhereMs };
  }

  /** Undefined: everything is as it should be. */
  #transaction(
    tenant: TenantStore,
    { id, record, ...stored }: Stored<VolumeRecord>,
    plan: VolumePlan,
  ): Transaction | undefined {
    const changed = canonicalJson(plan.record) !== canonicalJson(record);
    if (!changed && !plan.remove && plan.forget.length === 0) return undefined;
    const transaction = tenant.transaction().expect('volumes', id, { id, record, ...stored });
    // A session that the old primary opens meanwhile, with whichever control plane, could get it a lease: then this is not stored.
    if (plan.promotes && record.primaryNodeId !== undefined && this.#elsewhere !== undefined) {
      const session = joinId(record.primaryNodeId);
      transaction.expect('node-sessions', session, tenant.get('node-sessions', session));
    }
    if (plan.remove) {
      transaction.delete('volumes', id).delete('volume-names', joinId(record.name));
      for (const seen of tenant.collection('volume-observations').listUnder(id))
        transaction.delete('volume-observations', seen.id);
    } else {
      if (changed) transaction.put('volumes', id, plan.record);
      for (const node of plan.forget) transaction.delete('volume-observations', joinId(record.id, node));
    }
    for (const event of plan.events) this.#deps.journal.event(transaction, tenant.tenantId, event);
    return transaction;
  }
}

function livenessMoved({ before, after }: ViewChange): boolean {
  const was = before?.record as NodeLiveness | undefined;
  const is = after?.record as NodeLiveness | undefined;
  return was?.status !== is?.status || was?.lost !== is?.lost;
}

/** A new session alone changes nothing for volumes. */
function nodeMoved({ before, after }: ViewChange): boolean {
  const of = (record: NodeRecord | undefined) =>
    record && [record.schedulable, record.labels, record.volumeEngines];
  const was = of(before?.record as NodeRecord | undefined);
  const is = of(after?.record as NodeRecord | undefined);
  return canonicalJson(was) !== canonicalJson(is);
}

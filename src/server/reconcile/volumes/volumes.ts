import type { CopyAges } from '../../../core/protocol/peer-messages.ts';
import type { SeenVolume } from '../../../core/contract/volume-seen.ts';
import { canonicalJson } from '../../../core/model/canonical.ts';
import type { NodeName, TenantId } from '../../../core/model/ids.ts';
import type { NodeRecord } from '../../../core/model/node.ts';
import type { VolumeRecord } from '../../../core/model/volume.ts';
import { planVolume, type VolumePlan } from '../../../core/plan/volumes/volumes.ts';
import type { Stored } from '../../store/collection.ts';
import { leadingId } from '../../store/keys.ts';
import { idOf, segmentsOf } from '../../store/record-ids.ts';
import type { TenantStore } from '../../store/store.ts';
import type { Transaction } from '../../store/transaction.ts';
import type { ViewChange } from '../../store/view.ts';
import type { VolumeSigns } from '../../runtime/volume-signs.ts';
import type { ControllerDeps } from '../controller.ts';
import { livenessMoved } from '../liveness-moved.ts';
import { type ReconcileRequest, Reconciler } from '../reconciler.ts';
import { VolumeMemory } from './volume-memory.ts';
import { readVolumeFacts, type VolumeSettings } from './volume-read.ts';

/**
 * Places volumes and their copies, reports their status, and promotes a copy when a primary is lost. The raised epoch
 * is stored first, guarded by what was read; orders go out from what is stored.
 */
export class VolumesController extends Reconciler implements VolumeSigns {
  readonly #settings: VolumeSettings;
  readonly #memory: VolumeMemory;

  constructor(deps: ControllerDeps, settings: VolumeSettings) {
    super(deps, { name: 'volumes', problem: 'reconciling a volume failed; retrying' });
    this.#settings = settings;
    this.#memory = new VolumeMemory(deps.clock.monotonicMs(), settings.repeatedLeases);
  }

  adopt(tenantId: TenantId): void {
    this.#memory.adopted(tenantId, this.deps.clock.monotonicMs());
    this.#addAll(tenantId);
    const primaries = this.deps.store.view
      .tenant(tenantId, 'volumes')
      .list()
      .flatMap(({ record: { primaryNodeId } }) => primaryNodeId ?? []);
    for (const node of new Set(primaries)) this.#learnAges(tenantId, node);
  }

  // Reports of sessions are kept: they are of this process's own agents, whichever process owns the shard.

  override status(): Record<string, unknown> {
    return { queue: this.depth };
  }

  mayLease(tenantId: TenantId, node: NodeName): boolean {
    // A process whose lease may have expired must not grant leases.
    return (this.#settings.certain?.() ?? true) && this.#memory.mayLease(tenantId, node);
  }

  /** For another control plane: ages of copies that primaries reported to this one. */
  ages(tenantId: TenantId, node: NodeName): readonly CopyAges[] {
    return this.#memory.ages(tenantId, node, this.deps.clock.monotonicMs());
  }

  closed(tenantId: TenantId, node: NodeName): void {
    this.#memory.closed(tenantId, node);
  }

  leased(tenantId: TenantId, node: NodeName, heardMs: number): void {
    this.#memory.leased(tenantId, node, heardMs);
  }

  reported(tenantId: TenantId, node: NodeName, seen: SeenVolume, heardMs: number): void {
    if (this.#memory.reported(tenantId, node, seen, heardMs))
      this.add(tenantId, idOf('volumes', seen.volumeId));
  }

  #addAll(tenantId: TenantId): void {
    for (const id of this.deps.store.view.tenant(tenantId, 'volumes').ids()) this.add(tenantId, id);
  }

  protected take(change: ViewChange): void {
    const { tenantId, kind, id } = change;
    if (tenantId === undefined) {
      if (kind === 'control-planes' && change.after === undefined) this.#endedElsewhere(id);
      return;
    }
    switch (kind) {
      case 'volumes':
      case 'volume-claims':
        this.add(tenantId, id);
        break;
      case 'volume-observations':
        this.add(tenantId, leadingId(id));
        break;
      case 'node-sessions':
        this.#movedElsewhere(change);
        break;
      case 'nodes':
        if (nodeMoved(change)) this.#addAll(tenantId);
        break;
      case 'node-liveness':
        if (livenessMoved(change)) this.#addAll(tenantId);
        break;
      case 'instances':
        if (change.after === undefined) this.#left(tenantId, change);
        break;
      case 'deployments':
        // Its residency binds the copies of what it mounts.
        for (const { volumeId } of change.after?.record.spec.volumes ?? [])
          this.add(tenantId, idOf('volumes', volumeId));
        break;
      default:
    }
  }

  /** What it had mounted may wait for that, to move. */
  #left(tenantId: TenantId, { before }: ViewChange<'instances'>): void {
    if (before === undefined) return;
    const { deployment, specHash } = before.record;
    const id = idOf('specs', deployment, specHash);
    const spec = this.deps.store.view.tenant(tenantId, 'specs').get(id)?.record;
    for (const { volumeId } of spec?.volumes ?? []) this.add(tenantId, idOf('volumes', volumeId));
  }

  /**
   * Another process gave leases to the node, at the latest when it last heard it. What it says of a session is seen after it
   * happened, so the moment of seeing it is late enough.
   */
  #movedElsewhere({ tenantId, kind, id, before, after }: ViewChange<'node-sessions'>): void {
    const [was, is] = [before?.record, after?.record];
    const { controlPlane } = this.deps;
    if (was === undefined || was.controlPlane === controlPlane) return;
    const silentMs = is?.controlPlane === was.controlPlane ? (is.closed?.silentMs ?? 0) : 0;
    const nowMs = this.deps.clock.monotonicMs();
    const [node] = segmentsOf(kind, id);
    this.#memory.leased(tenantId, node, nowMs - silentMs);
    if (is?.closed !== undefined && this.deps.owns(tenantId)) this.#learnAges(tenantId, node);
  }

  /** Asked before the promotion, which waits for the lease and then reports how much may be missing. */
  #learnAges(tenantId: TenantId, node: NodeName): void {
    const askedMs = this.deps.clock.monotonicMs();
    this.#settings
      .agesElsewhere?.(tenantId, node)
      .then((ages = []) => {
        if (ages.length > 0) this.#memory.learned(tenantId, node, ages, askedMs);
      })
      .catch((fault: unknown) =>
        this.deps.log('the age of copies is not known', { node, fault: String(fault) }),
      );
  }

  /** It gave leases until its own ended, which was before its record went. */
  #endedElsewhere(controlPlane: string): void {
    const { view } = this.deps.store;
    const nowMs = this.deps.clock.monotonicMs();
    for (const tenantId of view.tenantIdsWith('node-sessions')) {
      for (const { id, record } of view.tenant(tenantId, 'node-sessions').list())
        if (record.controlPlane === controlPlane)
          this.#memory.leased(tenantId, segmentsOf('node-sessions', id)[0], nowMs);
    }
  }

  /** Connected to another process that lives: it is given leases there all the time. */
  #isLeasedElsewhere(tenant: TenantStore, node: NodeName | undefined): boolean {
    const session =
      node === undefined ? undefined : tenant.get('node-sessions', idOf('node-sessions', node))?.record;
    if (session === undefined || session.closed !== undefined) return false;
    if (session.controlPlane === this.deps.controlPlane) return false;
    return this.deps.store.getGlobal('control-planes', session.controlPlane) !== undefined;
  }

  /** The process that has the session counts as gone: if it is back meanwhile, it gives leases in that session as before. */
  #expectNoLeaseElsewhere(transaction: Transaction, tenant: TenantStore, node: NodeName): void {
    const session = tenant.get('node-sessions', idOf('node-sessions', node));
    if (session === undefined) return;
    const { controlPlane } = session.record;
    transaction
      .expect('node-sessions', session.id, session)
      .expectGlobal(
        'control-planes',
        controlPlane,
        this.deps.store.getGlobal('control-planes', controlPlane),
      );
  }

  protected async reconcile(request: ReconcileRequest): Promise<void> {
    const tenant = this.deps.store.forTenant(request.tenantId);
    const stored = tenant.get('volumes', request.id);
    if (stored === undefined) return;
    const { clock, clusters } = this.deps;
    const nowMs = clock.monotonicMs();
    const facts = readVolumeFacts(tenant, stored.record, this.#memory, this.#settings, clusters, {
      nowMs,
      now: clock.now().toISOString(),
    });
    const elsewhere = this.#isLeasedElsewhere(tenant, stored.record.primaryNodeId);
    const plan = planVolume(elsewhere ? { ...facts, fencedAtMs: Number.POSITIVE_INFINITY } : facts);
    this.decided(nowMs);
    if (plan.recheckInMs !== undefined && Number.isFinite(plan.recheckInMs))
      this.again(request, Math.max(1, plan.recheckInMs));
    const transaction = this.#transaction(tenant, stored, plan);
    const primary = stored.record.primaryNodeId;
    if (transaction === undefined) {
      if (primary !== undefined) this.#memory.release(tenant.tenantId, primary, stored.record.id);
      return;
    }
    // Nothing was awaited since the lease was judged: from here on the old primary gets no further one.
    if (plan.promotes && primary !== undefined) {
      this.#memory.withhold(tenant.tenantId, primary, stored.record.id);
      // Unless another thread repeated one at this very moment: then it is re-evaluated.
      if (this.#memory.fencedAtMs(tenant.tenantId, stored.record) > nowMs) {
        this.#memory.release(tenant.tenantId, primary, stored.record.id);
        this.again(request);
        return;
      }
      // A session that opens meanwhile, on any process, is in the node's record: then it is re-evaluated.
      transaction.expect('nodes', idOf('nodes', primary), tenant.get('nodes', idOf('nodes', primary)));
      this.#expectNoLeaseElsewhere(transaction, tenant, primary);
    }
    const isStored = await this.commit(tenant, transaction);
    if (primary !== undefined) this.#memory.release(tenant.tenantId, primary, stored.record.id);
    if (!isStored) this.again(request);
    else for (const node of plan.forget) this.#memory.forget(tenant.tenantId, stored.record.id, node);
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
    if (plan.remove) {
      transaction.delete('volumes', id).delete('volume-names', idOf('volume-names', record.name));
      for (const seen of tenant.collection('volume-observations').listUnder(id))
        transaction.delete('volume-observations', seen.id);
    } else {
      if (changed) transaction.put('volumes', id, plan.record);
      for (const node of plan.forget)
        transaction.delete('volume-observations', idOf('volume-observations', record.id, node));
    }
    for (const event of plan.events) this.deps.journal.event(transaction, tenant.tenantId, event);
    return transaction;
  }
}

/** A new session alone changes nothing for volumes. */
function nodeMoved({ before, after }: ViewChange<'nodes'>): boolean {
  const of = (record: NodeRecord | undefined) =>
    record && [record.schedulable, record.draining, record.labels, record.volumeEngines, record.features];
  return canonicalJson(of(before?.record)) !== canonicalJson(of(after?.record));
}

import type { DeploymentRecord, DeploymentSpec } from '../../../core/model/deployment.ts';
import type { DeploymentId, InstanceId, NodeName, TenantId } from '../../../core/model/ids.ts';
import { isOfDeployment } from '../../../core/model/owner.ts';
import { type InstancePlan, planInstances } from '../../../core/plan/rollout/instances.ts';
import { type Batch, batchOf } from '../../../core/plan/rollout/changes.ts';
import type { PlannerMemory } from '../../../core/plan/rollout/memory.ts';
import type { PlacementRefusal } from '../../../core/plan/rollout/placer.ts';
import { standsStill } from '../../../core/model/volume.ts';
import type { PlanEnd } from '../../placement/first-plan.ts';
import { claimants } from '../../placement/volume-claims.ts';
import { progressMs } from '../../clock.ts';
import { leadingId } from '../../store/keys.ts';
import { FEWEST_COMMIT_WRITES } from '../../store/kv.ts';
import { idOf, prefixOf, segmentsOf } from '../../store/record-ids.ts';
import type { TenantStore } from '../../store/store.ts';
import type { Transaction } from '../../store/transaction.ts';
import type { ViewChange } from '../../store/view.ts';
import type { ControllerDeps } from '../controller.ts';
import { addPlan, planTransaction } from './instance-commit.ts';
import { type DeploymentSnapshot, firstSnapshot, readDeploymentSnapshot } from './deployment-snapshot.ts';
import { JointCommits } from './joint-commits.ts';
import { livenessMoved } from '../liveness-moved.ts';
import { type ReconcileRequest, Reconciler } from '../reconciler.ts';

/** While some are being written the next ones gather: a start places many deployments. What they write is bounded, too. */
const PLANS_AT_ONCE = 128;
/** Where a commit takes more: what is summed, written and synced with each transaction is shared by more of them. */
const MORE_PLANS_AT_ONCE = 512;
/** Of a record: its spec is held, parsed, until the commit is done. */
const HEAVY_BYTES = 64 * 1024;

/** Reconciling a deployment walks its instances: others do not wait for large ones, and reports of these are batched, so that each costs the same as of a small one. */
const LARGE_FROM_INSTANCES = 16;
const GATHERED_MS_PER_INSTANCE = 1;
const GATHERED_MAX_MS = 200;

/** An explanation walks every node, so it is cached, 1 ms per node. */
const EXPLAINED_MS_PER_NODE = 1;

/** More, and the commit of a request would take noticeably longer. */
const FIRST_PLAN_REPLICAS = 16;

/** Kinds whose change re-queues their deployment. */
type OfDeployment = 'deployments' | 'deployment-status' | 'canaries' | 'instances' | 'observations';

interface KnownRefusal {
  readonly refusal: PlacementRefusal;
  readonly specHash: string;
  readonly untilMs: number;
}

interface TenantMemory {
  readonly deployments: Map<string, PlannerMemory>;
  /** Instances at the last reconcile, of deployments whose reports are batched. */
  readonly large: Map<string, number>;
  /** By dependency: who waits at its gate; and the other way round. */
  readonly waiters: Map<string, Set<string>>;
  readonly waitsFor: Map<string, readonly string[]>;
  /** Deployments for which no node had room, with the last explanation. */
  readonly unplaced: Map<string, KnownRefusal>;
}

/**
 * Keeps the instances of every deployment as its spec wants them. A change names a deployment; the deployment is read, planned
 * and committed. Reading, planning and reserving capacity happen without an await, so decisions of one tenant are made one after
 * the other and quota and capacity cannot be overrun, although their commits overlap (fault C-04).
 */
export class InstancesController extends Reconciler {
  readonly #settle: { readonly settleMs?: number };
  readonly #memory = new Map<TenantId, TenantMemory>();
  /** Being stored by a plan of this process, which knows of them already: their arrival in the view is no reason to reconcile again. */
  readonly #arriving = new Set<InstanceId>();
  /** Deployments that are being stored with their first plan, by key; `again`: something changed meanwhile. */
  readonly #first = new Map<string, { readonly id: DeploymentId; again: boolean }>();
  readonly #joint: JointCommits;
  readonly #batch: Batch;

  constructor(deps: ControllerDeps, settleMs?: number) {
    const { commitWrites = FEWEST_COMMIT_WRITES } = deps.store.kv;
    super(deps, {
      name: 'instances',
      problem: 'reconciling a deployment failed; retrying',
      concurrency: commitWrites > FEWEST_COMMIT_WRITES ? MORE_PLANS_AT_ONCE : PLANS_AT_ONCE,
      isHeavy: ({ tenantId, id }) => {
        const deployments = deps.store.view.tenant(tenantId, 'deployments');
        return deployments.largest > HEAVY_BYTES && (deployments.get(id)?.bytes ?? 0) > HEAVY_BYTES;
      },
      isLarge: ({ tenantId, id }) =>
        this.#memory.get(tenantId)?.large.has(id) === true ||
        (deps.store.view.tenant(tenantId, 'deployments').get(id)?.record.spec.replicas ?? 0) >
          LARGE_FROM_INSTANCES,
      isFull: () => this.#joint.isFull,
    });
    this.#joint = new JointCommits((tenant, transaction) => this.commit(tenant, transaction), commitWrites);
    this.#batch = batchOf(Math.floor(commitWrites / FEWEST_COMMIT_WRITES));
    this.#settle = settleMs === undefined ? {} : { settleMs };
  }

  adopt(tenantId: TenantId): void {
    const { view } = this.deps.store;
    const deployments = view.tenant(tenantId, 'deployments').ids();
    for (const id of deployments) this.add(tenantId, id);
    // Instances whose deployment was deleted while no process ran.
    for (const id of view.tenant(tenantId, 'instances').ids()) this.add(tenantId, leadingId(id));
    // Both in order: comparing takes less than adding each of them twice.
    let at = 0;
    for (const id of view.tenant(tenantId, 'rollouts').ids()) {
      while ((deployments[at] ?? id) < id) at += 1;
      if (deployments[at] !== id) this.add(tenantId, id);
    }
  }

  protected override forget(tenantId?: TenantId): void {
    if (tenantId === undefined) this.#memory.clear();
    else this.#memory.delete(tenantId);
    this.#joint.forget(tenantId);
  }

  protected override turned(): void {
    this.#joint.send();
  }

  protected override unplaced(tenantId: TenantId): Iterable<string> {
    return this.#memory.get(tenantId)?.unplaced.keys() ?? [];
  }

  protected override add(tenantId: TenantId, deployment: string, afterMs?: number): void {
    // Attempts of jobs are instances too; another controller has them.
    if (!isOfDeployment(deployment)) return;
    const first = this.#first.size === 0 ? undefined : this.#first.get(this.keyOf(tenantId, deployment));
    if (first === undefined) super.add(tenantId, deployment, afterMs);
    else first.again = true;
  }

  protected take(change: ViewChange): void {
    const { tenantId, kind, id } = change;
    if (tenantId === undefined) return;
    switch (kind) {
      case 'deployments':
      case 'deployment-status':
      case 'canaries':
      case 'instances':
      case 'observations':
        this.#takeDeployment(change);
        break;
      case 'nodes':
        this.#touchNode(tenantId, segmentsOf(kind, id)[0]);
        break;
      case 'node-liveness':
        if (livenessMoved(change)) this.#touchNode(tenantId, segmentsOf(kind, id)[0]);
        break;
      case 'volumes':
        this.#takeVolume(change);
        break;
      case 'quota':
        this.retryUnplaced(tenantId);
        break;
      default:
    }
  }

  #takeDeployment(change: ViewChange<OfDeployment>): void {
    const { tenantId, kind } = change;
    const deployment = leadingId(change.id);
    // A status is written from here; it matters only to those who wait for the deployment.
    const large = this.#memory.get(tenantId)?.large.get(deployment);
    if (kind === 'observations' && large !== undefined)
      this.add(tenantId, deployment, Math.min(large * GATHERED_MS_PER_INSTANCE, GATHERED_MAX_MS));
    else if (kind !== 'deployment-status' && !this.#isOwnCreation(change)) this.add(tenantId, deployment);
    for (const waiter of this.#memory.get(tenantId)?.waiters.get(deployment) ?? [])
      this.add(tenantId, waiter);
    if (kind === 'instances' && change.after === undefined) this.retryUnplaced(tenantId);
  }

  #isOwnCreation({ tenantId, kind, id, before, after }: ViewChange<OfDeployment>): boolean {
    if (before !== undefined || after === undefined) return false;
    if (kind === 'deployments') return this.#first.get(this.keyOf(tenantId, id))?.id === after.record.id;
    return kind === 'instances' && this.#arriving.has(after.record.id);
  }

  /** Deployments that mount it follow its primary. */
  #takeVolume({ tenantId, id, before, after }: ViewChange<'volumes'>): void {
    this.retryUnplaced(tenantId);
    const [was, is] = [before, after].map((stored) => stored?.record);
    if (
      was?.primaryNodeId === is?.primaryNodeId &&
      (was !== undefined && standsStill(was)) === (is !== undefined && standsStill(is))
    )
      return;
    const [volumeId] = segmentsOf('volumes', id);
    for (const owner of claimants(this.deps.store.forTenant(tenantId), volumeId))
      this.add(tenantId, prefixOf('instances', owner));
  }

  #touchNode(tenantId: TenantId, node: NodeName): void {
    if (!this.deps.owns(tenantId)) return;
    for (const owner of this.deps.clusters.ownersOn(tenantId, node))
      this.add(tenantId, prefixOf('instances', owner));
    this.retryUnplaced(tenantId);
  }

  protected async reconcile(request: ReconcileRequest): Promise<void> {
    const { key, tenantId, id } = request;
    const { store, clock, clusters } = this.deps;
    if (this.#first.has(key)) {
      this.add(tenantId, id);
      return;
    }
    const startedMs = clock.monotonicMs();
    const memory = this.#tenantMemory(tenantId);
    const snapshot = readDeploymentSnapshot(store.forTenant(tenantId), clusters, id);
    const plan = planInstances({
      ...snapshot.planned,
      ...optionalMemory(memory.deployments.get(id)),
      placer: this.#placer(
        tenantId,
        snapshot.planned.deployment,
        memory.unplaced.get(id),
        leftNodes(snapshot),
      ),
      ...this.#canary(tenantId, snapshot, memory.unplaced.get(id)),
      ...this.#settle,
      batch: this.#batch,
      nowMs: progressMs(clock),
    });
    this.decided(startedMs);
    const end = this.#begin(memory, snapshot, plan);
    let stored = false;
    try {
      const transaction = planTransaction(this.deps, snapshot, plan);
      stored = transaction === undefined || (await this.#joint.commit(key, snapshot.tenant, transaction));
    } finally {
      end(stored);
    }
  }

  /**
   * Plans a new deployment in the commit that stores it, so that it is on the disk with its instances and its status by one write.
   * What depends on other records than nodes and the quota is left to `reconcile`, and so is a name of which something is left.
   */
  planFirst(record: DeploymentRecord, transaction: Transaction): PlanEnd | undefined {
    const { tenantId, spec } = record;
    const { store, clock, shardGuard } = this.deps;
    if (!this.isRunning || !this.deps.owns(tenantId) || !isPlannedFirst(spec)) return undefined;
    const startedMs = clock.monotonicMs();
    const id = idOf('deployments', spec.name);
    const key = this.keyOf(tenantId, id);
    const tenant = store.forTenant(tenantId);
    const memory = this.#tenantMemory(tenantId);
    if (this.#first.has(key) || memory.deployments.has(id) || isLeft(tenant, id)) return undefined;
    const snapshot = firstSnapshot(tenant, id, record);
    const plan = this.#firstPlan(snapshot, record, progressMs(clock));
    if (plan === undefined) return undefined;
    this.decided(startedMs);
    const guard = shardGuard?.(tenantId);
    transaction.expect('rollouts', id, undefined).include({ guards: guard === undefined ? [] : [guard] });
    addPlan(this.deps, snapshot, plan, transaction);
    const first = { id: record.id, again: false };
    this.#first.set(key, first);
    const end = this.#begin(memory, snapshot, plan);
    return (stored) => {
      this.#first.delete(key);
      if (stored) this.committed(true);
      end(stored);
      if (first.again) this.add(tenantId, id);
    };
  }

  #firstPlan(
    { planned }: DeploymentSnapshot,
    record: DeploymentRecord,
    nowMs: number,
  ): InstancePlan | undefined {
    const placer = this.#placer(record.tenantId, record, undefined);
    try {
      return planInstances({ ...planned, placer, ...this.#settle, nowMs });
    } catch {
      // It is planned again when it is stored, and what is wrong is told then: a request does not fail for it.
      return undefined;
    }
  }

  /** What the plan waits for is noted before it is stored: that may come in between. */
  #begin(memory: TenantMemory, snapshot: DeploymentSnapshot, plan: InstancePlan): PlanEnd {
    const { tenant, id, planned } = snapshot;
    const { tenantId } = tenant;
    const created = [...plan.create, ...(plan.canary?.create ?? [])];
    for (const { id: instance } of created) this.#arriving.add(instance);
    this.#noteWaits(memory, snapshot, plan);
    return (stored) => {
      for (const { id: instance } of created) {
        this.#arriving.delete(instance);
        if (!stored) this.deps.clusters.release(tenantId, planned.name, instance);
      }
      if (stored) remember(memory, snapshot, plan);
      if (!stored || plan.more) this.add(tenantId, id);
      else if (plan.recheckInMs !== undefined) this.add(tenantId, id, plan.recheckInMs);
    };
  }

  /** The canary as it was read, with the scheduler bound to its spec. */
  #canary(tenantId: TenantId, { planned }: DeploymentSnapshot, known: KnownRefusal | undefined) {
    const { canary } = planned;
    return canary === undefined
      ? {}
      : { canary: { ...canary, placer: this.#placer(tenantId, canary.record, known) } };
  }

  #placer(
    tenantId: TenantId,
    deployment: Pick<DeploymentRecord, 'spec' | 'specHash'> | undefined,
    known: KnownRefusal | undefined,
    exclude?: ReadonlyMap<NodeName, string>,
  ) {
    const { clusters, ids, clock } = this.deps;
    if (deployment === undefined) return NO_PLACER;
    const isRecent = known?.specHash === deployment.specHash && clock.monotonicMs() < known.untilMs;
    return clusters.placer(tenantId, deployment.spec, {
      nextId: () => ids.next('instance'),
      ...(isRecent && { knownRefusal: known.refusal }),
      ...(exclude && { exclude }),
    });
  }

  #noteWaits(memory: TenantMemory, snapshot: DeploymentSnapshot, plan: InstancePlan): void {
    const { id, planned } = snapshot;
    noteWaiting(
      memory,
      id,
      planned.gates.map((gate) => idOf('deployments', gate.dependency)),
    );
    const { refusal = plan.canary?.refusal } = plan;
    const specHash = plan.refusal === undefined ? plan.canary?.record.specHash : plan.deployment.specHash;
    this.#noteRefusal(memory, snapshot, refusal, specHash ?? '');
  }

  #noteRefusal(
    { unplaced }: TenantMemory,
    snapshot: DeploymentSnapshot,
    refusal: PlacementRefusal | undefined,
    specHash: string,
  ): void {
    const { clusters, clock } = this.deps;
    const { tenantId } = snapshot.tenant;
    if (refusal === undefined) {
      unplaced.delete(snapshot.id);
      return;
    }
    const nowMs = clock.monotonicMs();
    const known = unplaced.get(snapshot.id);
    // Without nodes there is nothing to look at again.
    if (known?.refusal === refusal && clusters.size(tenantId) > 0) {
      this.add(tenantId, snapshot.id, Math.max(1, known.untilMs - nowMs));
      return;
    }
    const untilMs = nowMs + EXPLAINED_MS_PER_NODE * clusters.size(tenantId);
    unplaced.set(snapshot.id, { refusal, specHash, untilMs });
  }

  #tenantMemory(tenantId: TenantId): TenantMemory {
    const known = this.#memory.get(tenantId);
    if (known) return known;
    const memory: TenantMemory = {
      deployments: new Map(),
      large: new Map(),
      waiters: new Map(),
      waitsFor: new Map(),
      unplaced: new Map(),
    };
    this.#memory.set(tenantId, memory);
    return memory;
  }
}

const NO_PLACER = {
  place: (): never => {
    throw new Error('a deleted deployment places nothing');
  },
  fitsInsteadOf: () => false,
  refusalElsewhere: () => undefined,
};

/** Nodes that an instance leaves because it was unhealthy there again and again: its successor goes elsewhere. */
function leftNodes({ planned }: DeploymentSnapshot): ReadonlyMap<NodeName, string> | undefined {
  if (planned.instances.length === 0) return undefined;
  return new Map(
    planned.instances.flatMap(({ nodeId, leaving }) => (leaving === undefined ? [] : [[nodeId, leaving]])),
  );
}

/** Of nothing but itself, its nodes and the quota. */
function isPlannedFirst({ replicas, volumes = [], dependsOn = {} }: DeploymentSpec): boolean {
  return replicas <= FIRST_PLAN_REPLICAS && volumes.length === 0 && Object.keys(dependsOn).length === 0;
}

/** Of a deployment of the name that was deleted. */
function isLeft(tenant: TenantStore, id: string): boolean {
  return (
    tenant.get('rollouts', id) !== undefined ||
    tenant.get('deployment-status', id) !== undefined ||
    tenant.get('canaries', id) !== undefined ||
    tenant.collection('instances').listUnder(id).length > 0
  );
}

function remember(memory: TenantMemory, { id, planned }: DeploymentSnapshot, plan: InstancePlan): void {
  const { deployment, instances } = planned;
  const size = instances.length + plan.create.length;
  if (size > LARGE_FROM_INSTANCES) memory.large.set(id, size);
  else memory.large.delete(id);
  if (deployment === undefined && instances.length === 0) memory.deployments.delete(id);
  else memory.deployments.set(id, plan.memory);
}

function noteWaiting({ waiters, waitsFor }: TenantMemory, id: string, dependencies: readonly string[]): void {
  for (const dependency of waitsFor.get(id) ?? []) {
    const waiting = waiters.get(dependency);
    waiting?.delete(id);
    if (waiting?.size === 0) waiters.delete(dependency);
  }
  waitsFor.delete(id);
  if (dependencies.length === 0) return;
  waitsFor.set(id, dependencies);
  for (const dependency of dependencies) {
    const waiting = waiters.get(dependency) ?? new Set();
    waiting.add(id);
    waiters.set(dependency, waiting);
  }
}

function optionalMemory(memory: PlannerMemory | undefined): { readonly memory?: PlannerMemory } {
  return memory === undefined ? {} : { memory };
}

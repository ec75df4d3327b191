import type { DeploymentRecord } from '../../core/model/deployment.ts';
import type { InstanceId, NodeName, TenantId } from '../../core/model/ids.ts';
import { jobOfOwner } from '../../core/model/job.ts';
import { type InstancePlan, planInstances } from '../../core/planner/instances.ts';
import type { PlannerMemory } from '../../core/planner/memory.ts';
import type { PlacementRefusal } from '../../core/planner/placer.ts';
import { claimants } from '../placement/volume-claims.ts';
import { leadingId } from '../store/keys.ts';
import { idOf, segmentsOf } from '../store/record-ids.ts';
import type { ViewChange } from '../store/view.ts';
import { type Controller, type ControllerDeps, ownedTenants } from './controller.ts';
import { planTransaction } from './instance-commit.ts';
import { type DeploymentFacts, readFacts } from './instance-facts.ts';
import { livenessMoved } from './liveness-moved.ts';
import { lookQueue } from './look-queue.ts';
import type { KeyedQueue } from './queue.ts';

/** While some are being written the next ones gather: a start places many deployments, each with a commit of its own. */
const COMMITS_AT_ONCE = 128;
/** Of a record: its spec is held, parsed, until the commit is done. */
const HEAVY_BYTES = 64 * 1024;

/** Unplaced deployments are tried again so long after room may have appeared: many changes make one attempt. */
const STIR_MS = 50;

/** A look at a deployment walks its instances: reports of a large one are gathered, so that each costs the same as of a small one. */
const GATHERED_FROM_INSTANCES = 16;
const GATHERED_MS_PER_INSTANCE = 1;
const GATHERED_MAX_MS = 200;

/** An explanation walks every node: it is given again for so long per node before it is worked out anew. */
const EXPLAINED_MS_PER_NODE = 1;

/** What makes its deployment be looked at. */
type OfDeployment = 'deployments' | 'deployment-status' | 'canaries' | 'instances' | 'observations';

interface KnownRefusal {
  readonly refusal: PlacementRefusal;
  readonly specHash: string;
  readonly untilMs: number;
}

interface TenantMemory {
  readonly deployments: Map<string, PlannerMemory>;
  /** Instances at the last look, of those that are looked at less often. */
  readonly large: Map<string, number>;
  /** By dependency: who waits at its gate; and the other way round. */
  readonly waiters: Map<string, Set<string>>;
  readonly waitsFor: Map<string, readonly string[]>;
  /** Deployments for which no node had room, with the last explanation. */
  readonly unplaced: Map<string, KnownRefusal>;
}

/**
 * Keeps the instances of every deployment as its spec wants them. A change names a deployment; the deployment is read anew, planned
 * and committed. Reading, planning and reserving room happen without a pause, so decisions of one tenant are made one after
 * the other and quota and capacity cannot be overrun, although their commits overlap (fault C-04).
 */
export class InstancesController implements Controller {
  readonly name = 'instances';
  readonly #deps: ControllerDeps;
  readonly #settle: { readonly settleMs?: number };
  readonly #queue: KeyedQueue;
  readonly #memory = new Map<TenantId, TenantMemory>();
  readonly #stirred = new Map<TenantId, () => void>();
  /** Being stored by a plan of this process, which knows of them already: their arrival in the view is no reason to look again. */
  readonly #arriving = new Set<InstanceId>();
  #unsubscribe: (() => void) | undefined;
  #conflicts = 0;

  constructor(deps: ControllerDeps, settleMs?: number) {
    this.#deps = deps;
    this.#settle = settleMs === undefined ? {} : { settleMs };
    this.#queue = lookQueue(
      deps,
      {
        name: this.name,
        what: 'a deployment',
        concurrency: COMMITS_AT_ONCE,
        isHeavy: (key) => this.#isHeavy(key),
      },
      (key) => this.#converge(key),
    );
  }

  #isHeavy(key: string): boolean {
    const slash = key.indexOf('/');
    const held = this.#deps.store.view.tenant(key.slice(0, slash) as TenantId, 'deployments');
    return (held.get(key.slice(slash + 1))?.bytes ?? 0) > HEAVY_BYTES;
  }

  get depth(): number {
    return this.#queue.depth;
  }

  start(): void {
    const { view } = this.#deps.store;
    this.#unsubscribe = view.onChange((change) => this.#take(change));
    for (const tenantId of ownedTenants(this.#deps)) this.adopt(tenantId);
  }

  adopt(tenantId: TenantId): void {
    const { view } = this.#deps.store;
    for (const id of view.tenant(tenantId, 'deployments').ids()) this.#add(tenantId, id);
    // Instances whose deployment was deleted while nobody looked.
    for (const id of view.tenant(tenantId, 'instances').ids()) this.#add(tenantId, leadingId(id));
    for (const id of view.tenant(tenantId, 'rollouts').ids()) this.#add(tenantId, id);
  }

  abandon(tenantId: TenantId): void {
    this.#memory.delete(tenantId);
    this.#stirred.get(tenantId)?.();
    this.#stirred.delete(tenantId);
  }

  async stop(): Promise<void> {
    this.#unsubscribe?.();
    for (const cancel of this.#stirred.values()) cancel();
    this.#stirred.clear();
    await this.#queue.stop();
    this.#memory.clear();
  }

  status(): Record<string, unknown> {
    return { queue: this.#queue.depth, conflicts: this.#conflicts };
  }

  /** Resolves when nothing is left to look at now; for tests and an orderly end. */
  idle(): Promise<void> {
    return this.#queue.idle();
  }

  #add(tenantId: TenantId, deployment: string): void {
    // Attempts of jobs are instances too; another controller has them.
    if (jobOfOwner(deployment) !== undefined) return;
    if (this.#deps.owns(tenantId)) this.#queue.add(`${tenantId}/${deployment}`);
  }

  #take(change: ViewChange): void {
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
        this.#stir(tenantId);
        break;
      default:
    }
  }

  #takeDeployment(change: ViewChange<OfDeployment>): void {
    const { tenantId, kind } = change;
    const deployment = leadingId(change.id);
    // A status is written from here; it matters only to those who wait for the deployment.
    const large = this.#memory.get(tenantId)?.large.get(deployment);
    if (kind === 'observations' && large !== undefined) this.#addGathered(tenantId, deployment, large);
    else if (kind !== 'deployment-status' && !this.#isOwnCreation(change)) this.#add(tenantId, deployment);
    for (const waiter of this.#memory.get(tenantId)?.waiters.get(deployment) ?? [])
      this.#add(tenantId, waiter);
    if (kind === 'instances' && change.after === undefined) this.#stir(tenantId);
  }

  #isOwnCreation({ kind, before, after }: ViewChange<OfDeployment>): boolean {
    if (kind !== 'instances' || before !== undefined || after === undefined) return false;
    return this.#arriving.has(after.record.id);
  }

  #addGathered(tenantId: TenantId, deployment: string, instances: number): void {
    if (!this.#deps.owns(tenantId)) return;
    const waitMs = Math.min(instances * GATHERED_MS_PER_INSTANCE, GATHERED_MAX_MS);
    this.#queue.addAfter(`${tenantId}/${deployment}`, waitMs);
  }

  /** Whoever mounts it follows its primary. */
  #takeVolume({ tenantId, id, before, after }: ViewChange<'volumes'>): void {
    this.#stir(tenantId);
    if (before?.record.primaryNodeId === after?.record.primaryNodeId) return;
    const [volumeId] = segmentsOf('volumes', id);
    for (const name of claimants(this.#deps.store.forTenant(tenantId), volumeId))
      this.#add(tenantId, idOf('deployments', name));
  }

  #touchNode(tenantId: TenantId, node: NodeName): void {
    if (!this.#deps.owns(tenantId)) return;
    for (const deployment of this.#deps.clusters.deploymentsOn(tenantId, node))
      this.#add(tenantId, idOf('deployments', deployment));
    this.#stir(tenantId);
  }

  /** Room may have appeared: whoever found none looks again. */
  #stir(tenantId: TenantId): void {
    const unplaced = this.#memory.get(tenantId)?.unplaced;
    if (unplaced === undefined || unplaced.size === 0 || this.#stirred.has(tenantId)) return;
    this.#stirred.set(
      tenantId,
      this.#deps.timers.after(STIR_MS, () => {
        this.#stirred.delete(tenantId);
        for (const deployment of this.#memory.get(tenantId)?.unplaced.keys() ?? [])
          this.#add(tenantId, deployment);
      }),
    );
  }

  async #converge(key: string): Promise<void> {
    const slash = key.indexOf('/');
    const tenantId = key.slice(0, slash) as TenantId;
    const id = key.slice(slash + 1);
    const { store, clock, metrics, clusters, owns } = this.#deps;
    if (!owns(tenantId)) return;
    const startedMs = clock.monotonicMs();
    const memory = this.#tenantMemory(tenantId);
    const facts = readFacts(store.forTenant(tenantId), clusters, id);
    const plan = planInstances({
      ...facts.planned,
      ...optionalMemory(memory.deployments.get(id)),
      placer: this.#placer(tenantId, facts.planned.deployment, memory.unplaced.get(id)),
      ...this.#canary(tenantId, facts, memory.unplaced.get(id)),
      ...this.#settle,
      nowMs: startedMs,
    });
    metrics.decided(this.name, (clock.monotonicMs() - startedMs) / 1000);
    const created = [...plan.create, ...(plan.createCanary ?? [])];
    for (const { id: instance } of created) this.#arriving.add(instance);
    let stored = false;
    try {
      stored = await this.#commit(facts, plan);
    } finally {
      for (const { id: instance } of created) {
        this.#arriving.delete(instance);
        if (!stored) clusters.release(tenantId, facts.planned.name, instance);
      }
    }
    if (!stored) {
      this.#conflicts += 1;
      this.#queue.add(key);
      return;
    }
    this.#remember(memory, id, facts, plan);
    if (plan.more) this.#queue.add(key);
    else if (plan.recheckInMs !== undefined) this.#queue.addAfter(key, plan.recheckInMs);
  }

  /** The canary as it was read, with the scheduler bound to its spec. */
  #canary(tenantId: TenantId, { planned }: DeploymentFacts, known: KnownRefusal | undefined) {
    const { canary } = planned;
    return canary === undefined
      ? {}
      : { canary: { ...canary, placer: this.#placer(tenantId, canary.record, known) } };
  }

  #placer(
    tenantId: TenantId,
    deployment: Pick<DeploymentRecord, 'spec' | 'specHash'> | undefined,
    known: KnownRefusal | undefined,
  ) {
    const { clusters, ids, clock } = this.#deps;
    if (deployment === undefined) return NO_PLACER;
    const isRecent = known?.specHash === deployment.specHash && clock.monotonicMs() < known.untilMs;
    return clusters.placer(tenantId, deployment.spec, {
      nextId: () => ids.next('instance') as InstanceId,
      ...(isRecent && { knownRefusal: known.refusal }),
    });
  }

  async #commit(facts: DeploymentFacts, plan: InstancePlan): Promise<boolean> {
    const transaction = planTransaction(this.#deps, facts, plan);
    if (transaction === undefined) return true;
    const result = await facts.tenant.commit(transaction);
    this.#deps.metrics.committed(this.name, result.ok ? 'ok' : 'conflict');
    return result.ok;
  }

  #remember(memory: TenantMemory, id: string, facts: DeploymentFacts, plan: InstancePlan): void {
    const { deployment, instances, gates } = facts.planned;
    noteWaiting(
      memory,
      id,
      gates.map((gate) => idOf('deployments', gate.dependency)),
    );
    const size = instances.length + plan.create.length;
    if (size > GATHERED_FROM_INSTANCES) memory.large.set(id, size);
    else memory.large.delete(id);
    if (deployment === undefined && instances.length === 0) {
      memory.deployments.delete(id);
      memory.unplaced.delete(id);
      return;
    }
    memory.deployments.set(id, plan.memory);
    const { refusal = plan.canaryRefusal } = plan;
    const specHash =
      plan.refusal === undefined ? facts.planned.canary?.record.specHash : deployment?.specHash;
    this.#noteRefusal(memory, facts, refusal, specHash ?? '');
  }

  #noteRefusal(
    { unplaced }: TenantMemory,
    facts: DeploymentFacts,
    refusal: PlacementRefusal | undefined,
    specHash: string,
  ): void {
    const { clusters, clock } = this.#deps;
    const { tenantId } = facts.tenant;
    const nowMs = clock.monotonicMs();
    if (refusal === undefined) {
      unplaced.delete(facts.id);
      return;
    }
    const known = unplaced.get(facts.id);
    if (known?.refusal === refusal) {
      this.#queue.addAfter(`${tenantId}/${facts.id}`, Math.max(1, known.untilMs - nowMs));
      return;
    }
    const untilMs = nowMs + EXPLAINED_MS_PER_NODE * clusters.size(tenantId);
    unplaced.set(facts.id, { refusal, specHash, untilMs });
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
};

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

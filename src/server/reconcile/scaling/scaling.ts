import type { DeploymentRecord, DeploymentSpec } from '../../../core/model/deployment.ts';
import type { NodeName, TenantId } from '../../../core/model/ids.ts';
import { parseDuration } from '../../../core/model/quantity.ts';
import type { ScalingPolicyRecord, ScalingView } from '../../../core/model/scaling.ts';
import { isSingleWriter } from '../../../core/plan/rollout/rollout.ts';
import {
  decideScaling,
  type ScalingDecision,
  type ScalingMemory,
} from '../../../core/plan/scaling/scaling.ts';
import { type PlacementPlan, planPlacement } from '../../placement/explanation.ts';
import type { Stored } from '../../store/collection.ts';
import { putUnversioned } from '../../store/deployment-rows.ts';
import { idOf } from '../../store/record-ids.ts';
import { rolloutOf } from '../../store/rollout-row.ts';
import type { TenantStore } from '../../store/store.ts';
import type { ViewChange } from '../../store/view.ts';
import type { MeasuredUsage } from '../../runtime/measurements.ts';
import { type ControllerDeps, SYSTEM } from '../controller.ts';
import { type ReconcileRequest, Reconciler, KeyedState } from '../reconciler.ts';

type Measured = ReadonlyMap<string, Pick<MeasuredUsage, 'cpuPercent' | 'atMs'>>;

export interface ScalingOptions {
  /** By instance, for the instances of these nodes. */
  readonly measured: (tenantId: TenantId, nodes: readonly NodeName[]) => Promise<Measured>;
  readonly intervalMs: number;
  readonly maxReplicas: number;
}

/** A measurement older than this many rounds of the agents is stale. */
const FRESH_ROUNDS = 3;
const DEFAULT_COOLDOWN_MS = 60_000;

interface Memory {
  readonly scaling: ScalingMemory;
  readonly view: ScalingView;
  /** What the last `scaling_limited` said, so that it is published once. */
  readonly limited?: string;
}

interface Facts {
  readonly tenant: TenantStore;
  readonly id: string;
  readonly policy: Stored<ScalingPolicyRecord>;
  readonly deployment: Stored<DeploymentRecord>;
}

/**
 * Moves `replicas` of deployments that have a scaling policy, from what their agents measure. The number is not part of the spec hash,
 * so no instance is restarted; it is no new version of the archive either, or a busy week would push the history out.
 */
export class ScalingController extends Reconciler {
  readonly #options: ScalingOptions;
  readonly #memory = new KeyedState<Memory>();

  constructor(deps: ControllerDeps, options: ScalingOptions) {
    super(deps, {
      name: 'scaling',
      problem: 'reconciling a scaling policy failed; retrying',
      concurrency: 4,
    });
    this.#options = options;
  }

  adopt(tenantId: TenantId): void {
    for (const id of this.deps.store.view.tenant(tenantId, 'scaling-policies').ids()) this.add(tenantId, id);
  }

  protected override forget(tenantId?: TenantId): void {
    this.#memory.forget(tenantId);
  }

  override status(): Record<string, unknown> {
    return { policies: this.#memory.size };
  }

  /** What the policy of a deployment last saw; undefined when this process has not reconciled it. */
  view(tenantId: TenantId, deployment: string): ScalingView | undefined {
    return this.#memory.get(this.keyOf(tenantId, idOf('deployments', deployment)))?.view;
  }

  protected take({ tenantId, kind, id }: ViewChange): void {
    if (kind === 'scaling-policies') this.add(tenantId, id);
  }

  protected async reconcile(request: ReconcileRequest): Promise<void> {
    const { key } = request;
    const before = this.#facts(request);
    const measured = before && (await this.#measured(before));
    // Read again: measurements may have come from another control plane, and took their time.
    const facts = this.#facts(request);
    if (facts === undefined || measured === undefined) {
      this.#memory.delete(key);
      return;
    }
    const known = this.#memory.get(key);
    const decision = this.#decide(facts, measured, known?.scaling);
    const limit = decision.to === undefined ? undefined : this.#limit(facts, decision.to);
    const to = limit?.to ?? decision.to;
    const { replicas } = facts.deployment.record.spec;
    const isMove = to !== undefined && to !== replicas;
    if (isMove && !(await this.#move(facts, decision, to, limit?.why))) {
      this.again(request);
      return;
    }
    if (!isMove && limit?.why !== undefined && limit.why !== known?.limited)
      await this.#tellLimit(facts, decision, limit.why);
    const isHeavy = (decision.percent ?? Number.POSITIVE_INFINITY) > facts.policy.record.targetCpuPercent;
    const limited = limit?.why ?? (isHeavy && !isMove ? known?.limited : undefined);
    this.#memory.set(key, remembered(facts, decision, isMove ? to : replicas, limited));
    this.again(request, this.#options.intervalMs);
  }

  #facts({ tenantId, id }: ReconcileRequest): Facts | undefined {
    if (!this.deps.owns(tenantId)) return undefined;
    const tenant = this.deps.store.forTenant(tenantId);
    const policy = tenant.get('scaling-policies', id);
    const deployment = tenant.get('deployments', id);
    return policy && deployment && { tenant, id, policy, deployment };
  }

  async #measured({ tenant, id }: Facts): Promise<Measured> {
    const nodes = tenant
      .collection('instances')
      .listUnder(id)
      .map(({ record }) => record.nodeId);
    return this.#options.measured(tenant.tenantId, [...new Set(nodes)]);
  }

  #decide(facts: Facts, measured: Measured, memory: ScalingMemory | undefined): ScalingDecision {
    const { policy, deployment } = facts;
    const { spec, specHash } = deployment.record;
    const { minReplicas, maxReplicas, targetCpuPercent, cooldown } = policy.record;
    const ceiling = Math.min(maxReplicas, this.#options.maxReplicas, isSingleWriter(spec) ? 1 : maxReplicas);
    const hold = holdOf(facts);
    return decideScaling({
      replicas: spec.replicas,
      specHash,
      floor: Math.min(minReplicas, ceiling),
      ceiling,
      targetPercent: targetCpuPercent,
      cooldownMs: parseDuration(cooldown) ?? DEFAULT_COOLDOWN_MS,
      ...(hold === undefined ? {} : { hold }),
      loads: this.#loads(facts, measured),
      ...(memory === undefined ? {} : { memory }),
      intervalMs: this.#options.intervalMs,
      nowMs: this.deps.clock.monotonicMs(),
    });
  }

  /** Per instance of the current spec, in per cent of the CPU that it may use. */
  #loads({ tenant, id, deployment }: Facts, measured: Measured): readonly (number | undefined)[] {
    const { spec, specHash } = deployment.record;
    const oldestMs = this.deps.clock.monotonicMs() - FRESH_ROUNDS * this.#options.intervalMs;
    const cores = usableCores(spec);
    return tenant
      .collection('instances')
      .listUnder(id)
      .filter(({ record }) => record.wanted === 'run' && record.specHash === specHash)
      .map(({ record }) => {
        const seen = measured.get(record.id);
        return seen === undefined || seen.atMs < oldestMs ? undefined : seen.cpuPercent / cores;
      });
  }

  /** As many as quota and nodes take now: a policy never makes a deployment wait for room. */
  #limit({ tenant, deployment }: Facts, to: number): { readonly to: number; readonly why?: string } {
    const { spec, specHash } = deployment.record;
    if (to <= spec.replicas) return { to };
    const plan = planPlacement(this.deps.clusters, tenant, { ...spec, replicas: to }, specHash);
    if (plan.unplaced === undefined) return { to };
    return { to: Math.max(spec.replicas, to - plan.unplaced.count), why: limitText(plan.unplaced) };
  }

  async #move(
    facts: Facts,
    decision: ScalingDecision,
    to: number,
    limit: string | undefined,
  ): Promise<boolean> {
    const { tenant, id, policy, deployment } = facts;
    const { journal, clock } = this.deps;
    const { record } = deployment;
    const { name } = record.spec;
    const subject = { kind: 'Deployment', name } as const;
    const transaction = tenant
      .transaction()
      .expect('deployments', id, deployment)
      .expect('scaling-policies', id, policy)
      .expect('canaries', id, undefined);
    const spec = { ...record.spec, replicas: to };
    const scaled = { ...record, spec, updatedAt: clock.now().toISOString() };
    putUnversioned(transaction, { previous: record, record: scaled });
    const why = limit === undefined ? '' : `; more are wanted, but ${limit}`;
    journal.event(transaction, tenant.tenantId, {
      kind: 'deployment.scaled',
      subject,
      message: `${name} scaled from ${record.spec.replicas} to ${to}: ${reasonText(facts, decision)}${why}`,
      details: { from: record.spec.replicas, to, ...measurement(facts, decision), ...(limit && { limit }) },
    });
    journal.audit(transaction, tenant.tenantId, SYSTEM, 'deployment.scaled', subject);
    return this.commit(tenant, transaction);
  }

  async #tellLimit({ tenant, ...facts }: Facts, decision: ScalingDecision, limit: string): Promise<void> {
    const { record } = facts.deployment;
    const { name, replicas } = record.spec;
    const transaction = tenant.transaction().expect('deployments', facts.id, facts.deployment);
    this.deps.journal.event(transaction, tenant.tenantId, {
      kind: 'deployment.scaling_limited',
      subject: { kind: 'Deployment', name },
      message: `${name} stays at ${replicas} although ${decision.to} are wanted (${reasonText({ tenant, ...facts }, decision)}): ${limit}`,
      details: { from: replicas, wanted: decision.to, ...measurement({ tenant, ...facts }, decision), limit },
    });
    await tenant.commit(transaction);
  }
}

/** A quota is the same for every node, and its message says which one and how much. */
function limitText({ summary, nodes }: NonNullable<PlacementPlan['unplaced']>): string {
  const quota = nodes.flatMap(({ reasons }) => reasons).find(({ filter }) => filter === 'quota');
  return quota === undefined ? summary : `the quota is reached: ${quota.message}`;
}

function holdOf({ tenant, id, deployment }: Facts): string | undefined {
  const { spec, specHash } = deployment.record;
  if (tenant.get('canaries', id) !== undefined) return 'a canary runs';
  const rollout = rolloutOf(tenant, id)?.record;
  if (rollout?.specHash !== specHash || rollout.state !== 'complete') return 'a rollout is under way';
  const status = tenant.get('deployment-status', id)?.record;
  if (status?.specHash !== specHash || status.desired !== spec.replicas) return 'a change is under way';
  return status.phase === 'Running' ? undefined : `the deployment is ${status.phase}: ${status.message}`;
}

/** What `targetCpuPercent` is a share of: the limit binds, the request was promised, and without either one core is taken. */
function usableCores({ resources }: DeploymentSpec): number {
  return resources?.limits?.cpu ?? resources?.requests?.cpu ?? 1;
}

function percentText(percent: number | undefined): string {
  return percent === undefined ? 'unknown' : `${Math.round(percent)} %`;
}

function reasonText(
  { policy, deployment }: Facts,
  { cause, percent, measured, message }: ScalingDecision,
): string {
  if (cause === 'bounds') return message;
  const cores = usableCores(deployment.record.spec);
  const of = cores === 1 ? '1 core' : `${cores} cores`;
  const { targetCpuPercent } = policy.record;
  return `CPU is ${percentText(percent)} of ${of} per instance (${measured} of ${deployment.record.spec.replicas} measured), the target ${targetCpuPercent} %`;
}

function measurement({ policy }: Facts, { cause, percent, measured }: ScalingDecision) {
  return {
    cause,
    ...(percent === undefined ? {} : { cpuPercent: Math.round(percent * 10) / 10 }),
    targetCpuPercent: policy.record.targetCpuPercent,
    measured,
  };
}

/** Without capacity the number stays as it is; it is retried after a cooldown. */
function remembered(
  { deployment }: Facts,
  { memory, percent, measured, message, paused }: ScalingDecision,
  replicas: number,
  limited: string | undefined,
): Memory {
  const held = replicas === deployment.record.spec.replicas && limited !== undefined;
  return {
    scaling: { ...memory, replicas },
    view: {
      state: paused ? 'paused' : 'active',
      message: held ? `more are wanted, but ${limited}` : message,
      replicas,
      ...(percent === undefined ? {} : { cpuPercent: Math.round(percent * 10) / 10 }),
      measured,
    },
    ...(limited === undefined ? {} : { limited }),
  };
}

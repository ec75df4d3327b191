import type { CanaryRecord } from '../../model/canary.ts';
import type { DeploymentRecord, DeploymentStatus, Workload } from '../../model/deployment.ts';
import type { InstanceId, NodeName } from '../../model/ids.ts';
import type { InstanceObservation, InstanceRecord } from '../../model/instance.ts';
import type { RolloutOrigin, RolloutRecord } from '../../model/rollout.ts';
import { type CanaryAbort, type CanaryPlan, planCanary } from './canary.ts';
import { type Batch, type Changes, planChanges, planRemoval, SMALL_BATCH } from './changes.ts';
import type { ClosedGate } from './dependencies.ts';
import { freshState, newCanaryInstance } from './fresh-instance.ts';
import { type InstanceState, instanceState, type NodeCondition } from './instance-state.ts';
import { isRestarted } from './restart-order.ts';
import { carryOut, orderEvent, withOrders } from './instance-orders.ts';
import { type PlannerMemory, type MemoryUpdate, updateInstanceMemory } from './memory.ts';
import { planEvents, removedEvent } from './plan-events.ts';
import type { Placed, PlacementRefusal, Placer } from './placer.ts';
import { canaryAbortedEvent, instanceEvent, type PlannedEvent, transitionEvent } from './planned-event.ts';
import { isComplete, judgeProgress, progressDeadlineMs } from './progress.ts';
import { withHealth } from './health-memory.ts';
import { healthEvent, type HealthRestart, planHealth, withRestart } from './health-restart.ts';
import { type Groups, groupByStanding, NO_GROUPS } from './rollout.ts';
import { isStuck, misplacedDigest, misplacedStates } from './misplaced.ts';
import { advanceRollout, carryRollout, rollbackTarget } from './rollout-record.ts';
import { planStatus } from './status.ts';

export interface PlanInput {
  readonly name: string;
  /** Absent: the deployment was deleted. */
  readonly deployment?: DeploymentRecord;
  readonly status?: DeploymentStatus;
  readonly rollout?: RolloutRecord;
  /** Kept snapshots by hash. */
  readonly specs: Pick<ReadonlyMap<string, Workload>, 'get'>;
  readonly instances: readonly InstanceRecord[];
  readonly observationOf: (id: InstanceId) => InstanceObservation | undefined;
  readonly nodeOf: (node: NodeName) => NodeCondition;
  readonly fencedOf?: (record: InstanceRecord) => boolean;
  /** Its volume stays on a node that is being drained. */
  readonly staysOf?: (record: InstanceRecord) => boolean;
  /** Why a node must not have the instance by the residency of its current spec. */
  readonly misplacedOf?: (record: InstanceRecord) => string | undefined;
  readonly gates: readonly ClosedGate[];
  readonly placer: Placer;
  readonly canary?: {
    readonly record: CanaryRecord;
    readonly gates: readonly ClosedGate[];
    readonly placer?: Placer;
  };
  /** Absent: the process has just started. */
  readonly memory?: PlannerMemory;
  /** What the commit may carry; absent: what every store takes. */
  readonly batch?: Batch;
  /** Running time that counts as healthy without a health check. */
  readonly settleMs?: number;
  readonly nowMs: number;
}

interface Outcome {
  readonly stop: readonly InstanceRecord[];
  /** Records whose container is gone. */
  readonly remove: readonly InstanceRecord[];
  readonly events: readonly PlannedEvent[];
  readonly memory: PlannerMemory;
  /** Work was left over: look again at once. */
  readonly more: boolean;
}

export interface WantedPlan extends Outcome {
  readonly deployment: DeploymentRecord;
  readonly create: readonly Placed[];
  readonly status: Omit<DeploymentStatus, 'since'>;
  readonly rollout: RolloutRecord;
  /** The rollout failed and its spec asks for the last complete one (`update.onFailure`). */
  readonly rollback?: RolloutOrigin;
  /** Started as a canary, now of the deployment's own spec: theirs from here on. */
  readonly adopt: readonly InstanceRecord[];
  /** Of single instances, as they were asked for. */
  readonly ordered: readonly InstanceRecord[];
  /** An unhealthy instance whose container is made anew, or that is to be replaced elsewhere. */
  readonly restart?: HealthRestart;
  /** What one commit changes of the canary, if there is one and the stable instances need no change. */
  readonly canary?: CanaryChanges;
  /** Look again after this time even if nothing changes. */
  readonly recheckInMs?: number;
  readonly refusal?: PlacementRefusal;
}

/** The deployment was deleted: it has nothing but an end. */
export type RemovalPlan = Outcome & { readonly create: readonly [] } & {
  readonly [K in Exclude<keyof WantedPlan, keyof Outcome | 'create'>]?: never;
};

export type InstancePlan = WantedPlan | RemovalPlan;

/** One that is given up gets no new instances. */
export type CanaryChanges = { readonly record: CanaryRecord } & (
  | { readonly create: readonly Placed[]; readonly refusal?: PlacementRefusal; readonly abort?: never }
  | { readonly abort: CanaryAbort; readonly create?: never; readonly refusal?: never }
);

/** From what is wanted and what is seen to the next changes. Level-triggered: it needs no history besides its memory. */
export function planInstances(input: PlanInput): InstancePlan {
  const { instances, changed, more } = carryOut(input.instances, input.deployment);
  const plan = planAll({ ...input, instances });
  return plan.deployment === undefined || changed.length === 0 ? plan : withOrdered(plan, changed, more);
}

/** One commit with the rest. What that changes of the same instance has the order in it already. */
function withOrdered(plan: WantedPlan, changed: readonly InstanceRecord[], more: boolean): WantedPlan {
  const touched = new Set(
    [...plan.stop, ...plan.remove, ...plan.adopt, ...(plan.restart ? [plan.restart.state.record] : [])].map(
      ({ id }) => id,
    ),
  );
  return {
    ...plan,
    ordered: changed.filter(({ id }) => !touched.has(id)),
    rollout: { ...plan.rollout, generation: plan.rollout.generation + 1 },
    events: [...changed.map(orderEvent), ...plan.events],
    memory: { ...plan.memory, instances: withOrders(plan.memory.instances, changed) },
    more: plan.more || more,
  };
}

function batchIn({ batch = SMALL_BATCH }: PlanInput): Batch {
  return batch;
}

/** Nothing was ever planned of it, and nothing of it is there: most often its request waits for the plan. */
function isFresh({ instances, memory, status, rollout, canary, gates }: PlanInput): boolean {
  return instances.length + gates.length === 0 && (memory ?? status ?? rollout ?? canary) === undefined;
}

/** What `planWanted` says of a fresh deployment, without what it would find out about instances. */
function planFresh(input: PlanInput, deployment: DeploymentRecord): WantedPlan {
  const { spec, specHash } = deployment;
  const { replicas } = spec;
  const changes = planChanges({ open: true, placer: input.placer, batch: batchIn(input) }, spec, NO_GROUPS);
  const { create, refusal, more } = changes;
  const rollout = advanceRollout(carryRollout(deployment, undefined), changes, {
    complete: replicas === 0,
    late: false,
    nowhere: refusal !== undefined && create.length === 0,
    misplaced: undefined,
  });
  const deadlineMs = progressDeadlineMs(spec.update);
  const groups = afterChanges(NO_GROUPS, changes, deployment);
  const status = {
    specHash,
    ...planStatus({ desired: replicas, groups, gates: [], refusal, rollout, deadlineMs }),
  };
  const remembered = updateInstanceMemory(undefined, [], input.observationOf, input.nowMs, 0);
  const isHeld = create.length > 0 && rollout.state === 'progressing';
  return {
    deployment,
    create,
    stop: [],
    remove: [],
    adopt: [],
    ordered: [],
    status,
    rollout,
    events: planEvents(input, deployment, { changes, misplaced: [] }, rollout, status, remembered),
    memory: {
      instances: remembered.instances,
      progress: { specHash, replicas, score: 0, sinceMs: input.nowMs },
    },
    ...(isHeld && { recheckInMs: deadlineMs }),
    more,
    ...(refusal && { refusal }),
  };
}

function planAll(input: PlanInput): InstancePlan {
  const { instances, observationOf, nowMs, deployment } = input;
  const batch = batchIn(input);
  if (deployment !== undefined && isFresh(input)) return planFresh(input, deployment);
  const remembered = updateInstanceMemory(input.memory, instances, observationOf, nowMs, batch.transitions);
  const rollout = deployment && carryRollout(deployment, input.rollout);
  if (instances.length === 0 && deployment !== undefined && rollout !== undefined)
    return withCanary(input, planWanted(input, deployment, rollout, groupByStanding([]), remembered), []);
  const stateIn = (wanted: DeploymentRecord | undefined, complete: boolean) => {
    const seen = {
      deployment: wanted,
      specs: input.specs,
      nodeOf: input.nodeOf,
      observationOf,
      ...(input.fencedOf && { fencedOf: input.fencedOf }),
      ...(input.staysOf && { staysOf: input.staysOf }),
      ...(input.misplacedOf && { misplacedOf: input.misplacedOf }),
      memoryOf: (id: InstanceId) => remembered.instances.get(id),
      complete,
      ...(input.settleMs !== undefined && { settleMs: input.settleMs }),
      nowMs,
    };
    return (record: InstanceRecord) => instanceState(record, seen);
  };
  const own = instances.filter((record) => !isOfCanary(record, deployment));
  // Those that replace others of the same spec have to settle too.
  const isSettled = rollout?.state === 'complete' && !own.some((record) => isRestarted(record, deployment));
  const groups = groupByStanding(own.map(stateIn(deployment, isSettled)));
  if (deployment === undefined || rollout === undefined) return planDeleted(groups, remembered, batch);
  const plan = planWanted(input, deployment, rollout, groups, remembered);
  const record = input.canary?.record;
  const beside = record && { ...deployment, spec: record.spec, specHash: record.specHash };
  const states = instances.filter((instance) => isOfCanary(instance, deployment)).map(stateIn(beside, false));
  return withCanary(input, plan, states);
}

/** An instance of the deployment's own spec is its own, however it was started: that is what a promotion does. */
export function isOfCanary(record: InstanceRecord, deployment: DeploymentRecord | undefined): boolean {
  return record.canary === true && deployment !== undefined && record.specHash !== deployment.specHash;
}

/** One commit changes either the stable instances or the canary, so that both stay within its bounds. */
function withCanary(input: PlanInput, plan: WantedPlan, states: readonly InstanceState[]): WantedPlan {
  const { canary, nowMs, instances } = input;
  const { deployment } = plan;
  if (canary === undefined && instances.length === 0) return plan;
  const adopt = instances
    .filter(
      (record) =>
        record.canary === true &&
        !isOfCanary(record, deployment) &&
        !plan.stop.includes(record) &&
        !plan.remove.includes(record),
    )
    .slice(0, batchIn(input).adopts);
  const adopted = { ...plan, adopt };
  if (canary === undefined && states.length === 0) return adopted;
  if (plan.create.length + plan.stop.length + plan.remove.length > 0 || plan.restart !== undefined) {
    const status = { ...plan.status, ...keptStatus(input) };
    const memory = { ...plan.memory, ...(input.memory?.canary && { canary: input.memory.canary }) };
    return { ...adopted, status, memory, more: true };
  }
  const beside = planCanary({
    deployment,
    canary: canary?.record,
    states,
    gates: canary?.gates ?? [],
    placer: canary?.placer,
    memory: input.memory?.canary,
    nowMs,
  });
  return merged(adopted, beside, canary?.record);
}

function keptStatus({ status, canary }: PlanInput): Pick<DeploymentStatus, 'canary'> {
  const kept = status?.canary;
  return kept !== undefined && kept.specHash === canary?.record.specHash ? { canary: kept } : {};
}

function merged(plan: WantedPlan, beside: CanaryPlan, record: CanaryRecord | undefined): WantedPlan {
  const moved = beside.create.length + beside.stop.length + beside.remove.length > 0;
  const { rollout, status } = plan;
  const waits = [plan.recheckInMs, beside.recheckInMs].filter((ms) => ms !== undefined);
  const canary = record && canaryChanges(record, beside);
  return {
    ...plan,
    ...(canary && { canary }),
    stop: beside.stop,
    remove: beside.remove,
    ...(moved && { rollout: { ...rollout, generation: rollout.generation + 1 } }),
    ...(beside.status && { status: { ...status, canary: beside.status } }),
    events: [
      ...plan.events,
      ...(canary ? canaryEvents(plan.deployment, canary) : []),
      ...beside.remove.map(removedEvent),
    ],
    memory: { ...plan.memory, ...(beside.memory && { canary: beside.memory }) },
    ...(waits.length > 0 && { recheckInMs: Math.min(...waits) }),
    more: plan.more || beside.more,
  };
}

function canaryChanges(record: CanaryRecord, { create, abort, refusal }: CanaryPlan): CanaryChanges {
  return abort === undefined ? { record, create, ...(refusal && { refusal }) } : { record, abort };
}

function canaryEvents(
  deployment: DeploymentRecord,
  { record, abort, create = [] }: CanaryChanges,
): readonly PlannedEvent[] {
  if (abort !== undefined) return [canaryAbortedEvent(deployment.spec.name, record, abort)];
  return create.map((placed) =>
    instanceEvent(newCanaryInstance(placed, deployment, record, ''), 'created', 'created', { canary: true }),
  );
}

/** The deployment is gone: every container goes, whatever it runs. */
function planDeleted(groups: Groups, remembered: MemoryUpdate, batch: Batch): RemovalPlan {
  const { stop, remove, more } = planRemoval(groups, batch);
  return {
    create: [],
    stop: stop.map((state) => state.record),
    remove,
    events: [...remembered.transitions.map(transitionEvent), ...remove.map(removedEvent)],
    memory: { instances: remembered.instances },
    more: more || remembered.more,
  };
}

function planWanted(
  input: PlanInput,
  deployment: DeploymentRecord,
  before: RolloutRecord,
  groups: Groups,
  remembered: MemoryUpdate,
): WantedPlan {
  const { spec } = deployment;
  const { nowMs, gates } = input;
  const open = gates.length === 0;
  const changes = planChanges({ open, placer: input.placer, batch: batchIn(input) }, spec, groups);
  const progress = judgeProgress(input.memory?.progress, deployment, groups, gates.length > 0, nowMs);
  const isLeft = groups.keep.length > 0 || groups.leave.some(({ current }) => !current);
  const nowhere = changes.refusal !== undefined && !isLeft && changes.create.length === 0;
  const complete = isComplete(groups, spec.replicas);
  const misplaced = misplacedStates(groups);
  const rollout = advanceRollout(before, changes, {
    complete,
    late: progress.leftMs <= 0,
    nowhere,
    misplaced: misplacedDigest(misplaced),
  });
  const next = afterChanges(groups, changes, deployment);
  // Most plans are of a deployment that has no instances yet, and made while its request waits.
  const isEmpty = groups === NO_GROUPS;
  const instances = isEmpty
    ? remembered.instances
    : withHealth(remembered.instances, Object.values(groups).flat(), input.memory === undefined, nowMs);
  const isBusy = changes.create.length + changes.stop.length > 0;
  const health =
    isBusy || isEmpty
      ? {}
      : planHealth({
          spec,
          groups,
          progressing: rollout.state === 'progressing',
          memoryOf: (id) => instances.get(id)?.health,
          placer: input.placer,
          nowMs,
        });
  const status = {
    specHash: deployment.specHash,
    ...planStatus({
      desired: spec.replicas,
      groups: next,
      gates,
      refusal: changes.refusal,
      stuck: isStuck(groups, changes, gates.length === 0) ? misplaced : [],
      rollout,
      deadlineMs: progress.deadlineMs,
      ...(input.status?.specHash === deployment.specHash &&
        input.status.desired === spec.replicas && { before: input.status.phase }),
    }),
  };
  const rollback = rollbackTarget(spec, rollout, deployment);
  const settles = groups.keep.flatMap((state) => state.settlesInMs ?? []);
  // What is created now is held to the deadline from now on, whether or not anything is ever heard of it.
  const leftMs = changes.create.length > 0 ? Math.min(progress.leftMs, progress.deadlineMs) : progress.leftMs;
  const recheck = [
    ...settles,
    ...(rollout.state === 'progressing' ? [Math.max(leftMs, 0)] : []),
    ...(health.recheckInMs === undefined ? [] : [health.recheckInMs]),
  ];
  return {
    deployment,
    create: changes.create,
    stop: changes.stop.map((state) => state.record),
    remove: changes.remove,
    adopt: [],
    ordered: [],
    status,
    rollout: health.restart === undefined ? rollout : { ...rollout, generation: rollout.generation + 1 },
    ...(rollback && { rollback }),
    ...(health.restart && { restart: health.restart }),
    events: [
      ...planEvents(input, deployment, { changes, misplaced }, rollout, status, remembered),
      ...(health.restart ? [healthEvent(health.restart)] : []),
    ],
    memory: { instances: withRestart(instances, health.restart), progress: progress.memory },
    ...(recheck.length > 0 && Number.isFinite(Math.min(...recheck)) && { recheckInMs: Math.min(...recheck) }),
    more: changes.more || remembered.more,
    ...(changes.refusal && { refusal: changes.refusal }),
  };
}

/** How the groups will look when the planned stops and creations are stored: the status must not lag behind its own commit. */
function afterChanges(groups: Groups, changes: Changes, deployment: DeploymentRecord): Groups {
  if (changes.create.length + changes.stop.length + changes.remove.length === 0) return groups;
  if (changes.stop.length + changes.remove.length === 0)
    return {
      ...groups,
      keep: [...groups.keep, ...changes.create.map((placed) => freshState(placed, deployment))],
    };
  const stays = (state: InstanceState) => !changes.stop.includes(state);
  return {
    ...groups,
    keep: [...groups.keep.filter(stays), ...changes.create.map((placed) => freshState(placed, deployment))],
    leave: groups.leave.filter(stays),
    lost: groups.lost.filter(stays),
    stopping: [
      ...groups.stopping.filter((state) => !changes.remove.includes(state.record)),
      ...changes.stop.map((state) => ({ ...state, standing: 'stopping' as const })),
    ],
  };
}

import type { DeploymentRecord, DeploymentSpec, DeploymentStatus } from '../model/deployment.ts';
import type { InstanceId, NodeName } from '../model/ids.ts';
import type { InstanceObservation, InstanceRecord } from '../model/instance.ts';
import type { RolloutOrigin, RolloutRecord } from '../model/rollout.ts';
import { BATCH, type Changes, planChanges, planRemoval } from './changes.ts';
import type { ClosedGate } from './dependencies.ts';
import { freshState } from './fresh-instance.ts';
import { type InstanceState, instanceState, type NodeCondition } from './instance-state.ts';
import { type PlannerMemory, type Remembered, rememberInstances } from './memory.ts';
import { planEvents, removedEvent } from './plan-events.ts';
import type { Placed, PlacementRefusal, Placer } from './placer.ts';
import { type PlannedEvent, transitionEvent } from './planned-event.ts';
import { isComplete, judgeProgress } from './progress.ts';
import { type Groups, groupByStanding } from './rollout.ts';
import { advanceRollout, carryRollout, rollbackTarget } from './rollout-record.ts';
import { planStatus } from './status.ts';

export interface PlanInput {
  readonly name: string;
  /** Absent: the deployment was deleted. */
  readonly deployment?: DeploymentRecord;
  readonly status?: DeploymentStatus;
  readonly rollout?: RolloutRecord;
  /** Kept snapshots by hash. */
  readonly specs: ReadonlyMap<string, DeploymentSpec>;
  readonly instances: readonly InstanceRecord[];
  readonly observationOf: (id: InstanceId) => InstanceObservation | undefined;
  readonly nodeOf: (node: NodeName) => NodeCondition;
  readonly fencedOf?: (record: InstanceRecord) => boolean;
  readonly gates: readonly ClosedGate[];
  readonly placer: Placer;
  /** Absent: the process has just started. */
  readonly memory?: PlannerMemory;
  /** Running time that counts as healthy without a health check. */
  readonly settleMs?: number;
  readonly nowMs: number;
}

export interface InstancePlan {
  readonly create: readonly Placed[];
  readonly stop: readonly InstanceRecord[];
  /** Records whose container is gone. */
  readonly remove: readonly InstanceRecord[];
  /** Absent for a deleted deployment. */
  readonly status?: Omit<DeploymentStatus, 'since'>;
  readonly rollout?: RolloutRecord;
  /** The rollout failed and its spec asks for the last complete one (`update.onFailure`). */
  readonly rollback?: RolloutOrigin;
  readonly events: readonly PlannedEvent[];
  readonly memory: PlannerMemory;
  /** Look again after this time even if nothing changes. */
  readonly recheckInMs?: number;
  /** Work was left over: look again at once. */
  readonly more: boolean;
  readonly refusal?: PlacementRefusal;
}

/** From what is wanted and what is seen to the next changes. Level-triggered: it needs no history besides its memory. */
export function planInstances(input: PlanInput): InstancePlan {
  const { instances, observationOf, nowMs } = input;
  const remembered = rememberInstances(input.memory, instances, observationOf, nowMs, BATCH.transitions);
  const rollout = input.deployment && carryRollout(input.deployment, input.rollout);
  const states = instances
    .filter((record) => record.canary !== true || input.deployment === undefined)
    .map((record) =>
      instanceState(record, {
        deployment: input.deployment,
        specs: input.specs,
        nodeOf: input.nodeOf,
        observationOf,
        ...(input.fencedOf && { fencedOf: input.fencedOf }),
        memoryOf: (id) => remembered.instances.get(id),
        complete: rollout?.state === 'complete',
        ...(input.settleMs !== undefined && { settleMs: input.settleMs }),
        nowMs,
      }),
    );
  const groups = groupByStanding(states);
  if (input.deployment === undefined || rollout === undefined) return planDeleted(groups, remembered);
  return planWanted(input, input.deployment, rollout, groups, remembered);
}

/** The deployment is gone: every container goes, whatever it runs. */
function planDeleted(groups: Groups, remembered: Remembered): InstancePlan {
  const { stop, remove, more } = planRemoval(groups);
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
  remembered: Remembered,
): InstancePlan {
  const { spec } = deployment;
  const { nowMs, gates } = input;
  const changes = planChanges({ open: gates.length === 0, placer: input.placer }, spec, groups);
  const progress = judgeProgress(input.memory?.progress, deployment, groups, gates.length > 0, nowMs);
  const rollout = advanceRollout(before, changes, isComplete(groups, spec.replicas), progress.leftMs <= 0);
  const next = afterChanges(groups, changes, deployment);
  const status = {
    specHash: deployment.specHash,
    ...planStatus({
      desired: spec.replicas,
      groups: next,
      gates,
      refusal: changes.refusal,
      rollout,
      deadlineMs: progress.deadlineMs,
    }),
  };
  const rollback = rollbackTarget(spec, rollout, deployment);
  const settles = groups.keep.flatMap((state) => state.settlesInMs ?? []);
  const recheck = rollout.state === 'progressing' ? [...settles, Math.max(progress.leftMs, 0)] : settles;
  return {
    create: changes.create,
    stop: changes.stop.map((state) => state.record),
    remove: changes.remove,
    status,
    rollout,
    ...(rollback && { rollback }),
    events: planEvents(input, deployment, changes, rollout, status, remembered),
    memory: { instances: remembered.instances, progress: progress.memory },
    ...(recheck.length > 0 && Number.isFinite(Math.min(...recheck)) && { recheckInMs: Math.min(...recheck) }),
    more: changes.more || remembered.more,
    ...(changes.refusal && { refusal: changes.refusal }),
  };
}

/** How the groups will look when the planned stops and creations are stored: the status must not lag behind its own commit. */
function afterChanges(groups: Groups, changes: Changes, deployment: DeploymentRecord): Groups {
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

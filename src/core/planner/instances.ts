import type { DeploymentRecord, DeploymentSpec, DeploymentStatus } from '../model/deployment.ts';
import type { InstanceId, NodeName } from '../model/ids.ts';
import type { InstanceObservation, InstanceRecord } from '../model/instance.ts';
import type { RolloutOrigin, RolloutRecord } from '../model/rollout.ts';
import type { ClosedGate } from './dependencies.ts';
import { type InstanceState, instanceState, type NodeCondition } from './instance-state.ts';
import { type PlannerMemory, type Remembered, rememberInstances } from './memory.ts';
import type { Placed, PlacementRefusal, Placer } from './placer.ts';
import {
  deploymentEvent,
  instanceEvent,
  type PlannedEvent,
  rolloutEvents,
  statusEvents,
  transitionEvents,
  unschedulableEvent,
} from './planned-event.ts';
import { isComplete, noteProgress, progressDeadlineMs } from './progress.ts';
import {
  type Budget,
  budgetOf,
  dispensable,
  type Groups,
  groupByStanding,
  isExclusiveOnNode,
  isSingleWriter,
  makesRoom,
  missing,
  replacedLost,
  surplus,
} from './rollout.ts';
import { planStatus } from './status.ts';

/** What one commit may carry; etcd refuses transactions of more than 128 operations. */
export const BATCH = { changes: 80, transitions: 16, creates: 40, removes: 20 } as const;
const CREATE_COST = 2;
const STOP_COST = 2;
const REMOVE_COST = 3;

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
  readonly gates: readonly ClosedGate[];
  readonly placer: Placer;
  /** Absent: the process has just started. */
  readonly memory?: PlannerMemory;
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
  const rollout = carryRollout(input);
  const states = instances
    .filter((record) => record.canary !== true || input.deployment === undefined)
    .map((record) =>
      instanceState(record, {
        deployment: input.deployment,
        specs: input.specs,
        nodeOf: input.nodeOf,
        observationOf,
        memoryOf: (id) => remembered.instances.get(id),
        complete: rollout?.state === 'complete',
        nowMs,
      }),
    );
  const groups = groupByStanding(states);
  if (input.deployment === undefined || rollout === undefined) return planRemoval(input, groups, remembered);
  return planWanted(input, input.deployment, rollout, states, groups, remembered);
}

/** The deployment is gone: every container goes, whatever it runs. */
function planRemoval(input: PlanInput, groups: Groups, remembered: Remembered): InstancePlan {
  const remove = removable(groups);
  const room = Math.floor((BATCH.changes - remove.length * REMOVE_COST) / STOP_COST);
  const running = [...groups.keep, ...groups.leave, ...groups.lost];
  return {
    create: [],
    stop: running.slice(0, room).map((state) => state.record),
    remove,
    events: [...remembered.transitions.flatMap(transitionEvents), ...remove.map(removedEvent)],
    memory: { instances: remembered.instances },
    more: running.length > room || remembered.more || remove.length === BATCH.removes,
  };
}

function planWanted(
  input: PlanInput,
  deployment: DeploymentRecord,
  before: RolloutRecord,
  states: readonly InstanceState[],
  groups: Groups,
  remembered: Remembered,
): InstancePlan {
  const { spec } = deployment;
  const { nowMs, gates } = input;
  const changes = planChanges(input, spec, groups);
  const key = `${deployment.specHash}/${spec.replicas}`;
  const noted = noteProgress(input.memory?.progress, key, groups, nowMs);
  // Time spent at a closed gate, or before anything could be placed, is not time without progress of the rollout.
  const idle = gates.length > 0 || (groups.keep.length === 0 && groups.leave.length === 0);
  const progress = idle ? { ...noted, sinceMs: nowMs } : noted;
  const deadlineMs = progressDeadlineMs(spec.update);
  const leftMs = progress.sinceMs + deadlineMs - nowMs;
  const rollout = advanceRollout(before, changes, isComplete(groups, spec.replicas), leftMs <= 0);
  const status = planStatus({
    desired: spec.replicas,
    states: [
      ...states.filter((state) => !changes.stop.includes(state)),
      ...changes.create.map((placed) => fresh(placed, deployment)),
    ],
    groups: withoutStopped(groups, changes, deployment),
    gates,
    refusal: changes.refusal,
    rollout,
    deadlineMs,
  });
  const rollback = rollbackTarget(spec, rollout, deployment);
  const settles = groups.keep.flatMap((state) => state.settlesInMs ?? []);
  const recheck = [...settles, ...(rollout.state === 'progressing' && !idle ? [Math.max(leftMs, 0)] : [])];
  return {
    create: changes.create,
    stop: changes.stop.map((state) => state.record),
    remove: changes.remove,
    status,
    rollout,
    ...(rollback && { rollback }),
    events: wantedEvents(input, deployment, changes, rollout, status, remembered),
    memory: { instances: remembered.instances, progress },
    ...(recheck.length > 0 && { recheckInMs: Math.min(...recheck) }),
    more: changes.more || remembered.more,
    ...(changes.refusal && { refusal: changes.refusal }),
  };
}

interface Changes {
  readonly create: readonly Placed[];
  readonly stop: readonly InstanceState[];
  readonly remove: readonly InstanceRecord[];
  readonly refusal?: PlacementRefusal;
  readonly more: boolean;
}

function planChanges(input: PlanInput, spec: DeploymentSpec, groups: Groups): Changes {
  const budget = budgetOf(spec.replicas, spec.update);
  const remove = removable(groups);
  let room = BATCH.changes - remove.length * REMOVE_COST;
  const wanted = input.gates.length > 0 ? 0 : missing(groups, budget, isSingleWriter(spec));
  const count = Math.min(wanted, BATCH.creates, Math.floor(room / CREATE_COST));
  const { create, refusal } = placeMany(input.placer, count);
  room -= create.length * CREATE_COST;
  const stops = planStops(input, spec, groups, budget, refusal !== undefined);
  const stop = stops.slice(0, Math.floor(room / STOP_COST));
  const more =
    stop.length < stops.length ||
    (refusal === undefined && count < wanted) ||
    remove.length === BATCH.removes;
  return { create, stop, remove, ...(refusal && { refusal }), more };
}

function placeMany(
  placer: Placer,
  count: number,
): { readonly create: Placed[]; readonly refusal?: PlacementRefusal } {
  const create: Placed[] = [];
  while (create.length < count) {
    const answer = placer.place();
    if (!answer.ok) return { create, refusal: answer };
    create.push(answer);
  }
  return { create };
}

function planStops(
  input: PlanInput,
  spec: DeploymentSpec,
  groups: Groups,
  budget: Budget,
  refused: boolean,
): readonly InstanceState[] {
  if (budget.desired === 0) return [...groups.keep, ...groups.leave, ...groups.lost];
  const excess = surplus(groups, budget.desired);
  const kept: Groups = { ...groups, keep: groups.keep.filter((state) => !excess.includes(state)) };
  return [
    ...excess,
    ...replacedLost(kept, budget.desired),
    ...stopLeaving(input, spec, kept, budget, refused),
  ];
}

function stopLeaving(
  { placer, gates }: PlanInput,
  spec: DeploymentSpec,
  groups: Groups,
  budget: Budget,
  refused: boolean,
): readonly InstanceState[] {
  if (groups.leave.length === 0) return [];
  const fits = (state: InstanceState) => placer.fitsInsteadOf(state.record);
  if (isSingleWriter(spec)) {
    // Stop-first (decisions §3), but not before it is known that the successor has a place and may start.
    const successor = groups.keep.length >= budget.desired || (gates.length === 0 && groups.leave.some(fits));
    return successor ? groups.leave : [];
  }
  const spare = dispensable(groups, budget);
  if (spare.length > 0 || !refused || !isExclusiveOnNode(spec)) return spare;
  const one = makesRoom(groups, budget, fits);
  return one === undefined ? [] : [one];
}

function removable(groups: Groups): readonly InstanceRecord[] {
  const removed = groups.stopping.filter((state) => state.observation?.phase === 'removed');
  return [...removed, ...groups.gone].slice(0, BATCH.removes).map((state) => state.record);
}

function carryRollout({ deployment, rollout }: PlanInput): RolloutRecord | undefined {
  if (deployment === undefined) return undefined;
  const { id, specHash, version } = deployment;
  if (rollout?.deploymentId === id && rollout.specHash === specHash) return rollout;
  const known = rollout?.deploymentId === id ? rollout : undefined;
  const from =
    known?.state === 'complete' ? { specHash: known.specHash, version: known.version } : known?.from;
  return {
    deploymentId: id,
    specHash,
    version,
    state: 'progressing',
    ...(from && { from }),
    placed: false,
    generation: rollout?.generation ?? 0,
  };
}

function advanceRollout(
  before: RolloutRecord,
  changes: Changes,
  complete: boolean,
  late: boolean,
): RolloutRecord {
  const { unschedulable, ...rest } = before;
  const moved = changes.create.length > 0 || changes.stop.length > 0 || changes.remove.length > 0;
  const placed = before.placed || changes.create.length > 0;
  const state = nextState(
    before.state,
    complete && changes.create.length === 0 && changes.stop.length === 0,
    late,
  );
  const digest = placed ? undefined : (changes.refusal?.digest ?? unschedulable);
  return {
    ...rest,
    state,
    placed,
    ...(digest !== undefined && { unschedulable: digest }),
    generation: before.generation + (moved ? 1 : 0),
  };
}

/** A spec that was rolled out once stays so: an instance that fails later is a failure of the instance, not of the rollout. */
function nextState(before: RolloutRecord['state'], complete: boolean, late: boolean): RolloutRecord['state'] {
  if (complete || before === 'complete') return 'complete';
  return late ? 'failed' : before;
}

function rollbackTarget(
  spec: DeploymentSpec,
  rollout: RolloutRecord,
  deployment: DeploymentRecord,
): RolloutOrigin | undefined {
  if (rollout.state !== 'failed' || spec.update?.onFailure !== 'rollback' || rollout.isRollback === true)
    return undefined;
  return rollout.from?.specHash === deployment.specHash ? undefined : rollout.from;
}

/** How the groups will look when the planned stops and creations are stored: the status must not lag behind its own commit. */
function withoutStopped(groups: Groups, changes: Changes, deployment: DeploymentRecord): Groups {
  const stays = (state: InstanceState) => !changes.stop.includes(state);
  return {
    ...groups,
    keep: [...groups.keep.filter(stays), ...changes.create.map((placed) => fresh(placed, deployment))],
    leave: groups.leave.filter(stays),
    lost: groups.lost.filter(stays),
    stopping: [
      ...groups.stopping.filter((state) => !changes.remove.includes(state.record)),
      ...changes.stop.map((state) => ({ ...state, standing: 'stopping' as const })),
    ],
  };
}

export function newInstance(placed: Placed, deployment: DeploymentRecord, createdAt: string): InstanceRecord {
  return {
    id: placed.id,
    tenantId: deployment.tenantId,
    deployment: deployment.spec.name,
    specHash: deployment.specHash,
    secretsVersion: deployment.spec.secretsVersion,
    nodeId: placed.nodeId,
    wanted: 'run',
    createdAt,
    attempt: 0,
  };
}

function fresh(placed: Placed, deployment: DeploymentRecord): InstanceState {
  return {
    record: newInstance(placed, deployment, deployment.updatedAt),
    observation: undefined,
    node: { status: 'ready', draining: false },
    standing: 'keep',
    current: true,
    running: false,
    healthy: false,
    available: false,
    settlesInMs: undefined,
    failure: undefined,
  };
}

function wantedEvents(
  input: PlanInput,
  deployment: DeploymentRecord,
  changes: Changes,
  rollout: RolloutRecord,
  status: Omit<DeploymentStatus, 'since'>,
  remembered: Remembered,
): readonly PlannedEvent[] {
  const { name } = input;
  const nodes = [...new Set(changes.create.map((placed) => placed.nodeId))].sort();
  const allPlaced = changes.create.length > 0 && status.placed >= status.desired;
  const isNews =
    changes.refusal !== undefined &&
    !rollout.placed &&
    changes.refusal.digest !== input.rollout?.unschedulable;
  return [
    ...(changes.refusal && isNews ? [unschedulableEvent(name, changes.refusal)] : []),
    ...rolloutEvents(name, input.rollout, rollout, status),
    ...changes.create.map((placed) =>
      instanceEvent(newInstance(placed, deployment, ''), 'created', 'created', {
        version: deployment.version,
      }),
    ),
    ...(allPlaced
      ? [deploymentEvent(name, 'placed', `${status.placed} of ${status.desired} instances placed`, { nodes })]
      : []),
    ...changes.stop.filter(isMoved).map((state) => instanceEvent(state.record, 'replaced', whyMoved(state))),
    ...remembered.transitions.flatMap(transitionEvents),
    ...statusEvents(name, input.status, status),
    ...changes.remove.map(removedEvent),
  ];
}

function isMoved(state: InstanceState): boolean {
  return state.current && (state.standing === 'lost' || state.node.draining);
}

function whyMoved(state: InstanceState): string {
  return state.standing === 'lost'
    ? 'is replaced: its node is lost'
    : 'is replaced: its node is being drained';
}

function removedEvent(record: InstanceRecord): PlannedEvent {
  return instanceEvent(record, 'stopped', 'is gone');
}

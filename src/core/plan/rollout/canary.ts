import type { CanaryRecord } from '../../model/canary.ts';
import type { CanaryStatus, DeploymentRecord } from '../../model/deployment.ts';
import type { InstanceRecord } from '../../model/instance.ts';
import type { ClosedGate } from './dependencies.ts';
import type { InstanceState } from './instance-state.ts';
import type { CanaryMemory } from './memory.ts';
import type { Placed, PlacementRefusal, Placer } from './placer.ts';
import { progressDeadlineMs } from './progress.ts';
import { groupByStanding, type Groups } from './rollout.ts';

/** What one commit carries of a canary; it is planned only when the stable instances need no change. */
const CANARY_BATCH = { creates: 20, stops: 20, removes: 10 } as const;

/** The agent retries these, and no container of the canary has run yet: the planner waits until the deadline. */
const RETRIED: ReadonlySet<string> = new Set([
  'node_unreachable',
  'engine_unavailable',
  'image_pull_failed',
  'secret_unresolved',
]);

export interface CanaryAbort {
  readonly reason: 'deployment_changed' | 'deployment_stopped' | 'unhealthy' | 'progress_deadline';
  readonly message: string;
  readonly instance?: string;
}

export interface CanaryInput {
  readonly deployment: DeploymentRecord;
  /** Absent: whatever is left of one goes. */
  readonly canary: CanaryRecord | undefined;
  /** Of canary instances, against the canary's spec. */
  readonly states: readonly InstanceState[];
  readonly gates: readonly ClosedGate[];
  readonly placer: Placer | undefined;
  readonly memory: CanaryMemory | undefined;
  readonly nowMs: number;
}

export interface CanaryPlan {
  readonly create: readonly Placed[];
  readonly stop: readonly InstanceRecord[];
  readonly remove: readonly InstanceRecord[];
  readonly abort?: CanaryAbort;
  readonly status?: CanaryStatus;
  readonly memory?: CanaryMemory;
  readonly refusal?: PlacementRefusal;
  readonly recheckInMs?: number;
  readonly more: boolean;
}

/** No law of rollouts holds for a canary: its instances serve beside the stable ones and may go at any moment. */
export function planCanary(input: CanaryInput): CanaryPlan {
  const { canary, nowMs } = input;
  const groups = groupByStanding(input.states);
  if (canary === undefined) return planEnd(groups);
  const memory = carried(input.memory, canary, groups, nowMs);
  const leftMs = memory.sinceMs + progressDeadlineMs(input.deployment.spec.update) - nowMs;
  const abort = abortOf(input.deployment, canary, groups, leftMs <= 0);
  if (abort !== undefined) return { ...planEnd(groups), abort };
  const stop = [...surplus(groups, canary.replicas), ...groups.leave, ...groups.lost];
  const wanted = input.gates.length > 0 ? 0 : Math.max(0, canary.replicas - groups.keep.length);
  const { create, refusal } = placeMany(input.placer, Math.min(wanted, CANARY_BATCH.creates));
  const settles = groups.keep.flatMap((state) => state.settlesInMs ?? []);
  const recheck = [...settles, ...(isWhole(groups, canary) ? [] : [leftMs])];
  const remove = removable(groups);
  return {
    create,
    stop: stop.slice(0, CANARY_BATCH.stops).map((state) => state.record),
    remove: remove.slice(0, CANARY_BATCH.removes),
    status: statusOf(canary, groups, input.gates, create.length, refusal),
    memory,
    ...(refusal && { refusal }),
    ...(recheck.length > 0 && { recheckInMs: Math.max(0, Math.min(...recheck)) }),
    more:
      stop.length > CANARY_BATCH.stops ||
      remove.length > CANARY_BATCH.removes ||
      (refusal === undefined && create.length < wanted),
  };
}

function planEnd(groups: Groups): CanaryPlan {
  const stop = [...groups.keep, ...groups.leave, ...groups.lost];
  const remove = removable(groups);
  return {
    create: [],
    stop: stop.slice(0, CANARY_BATCH.stops).map((state) => state.record),
    remove: remove.slice(0, CANARY_BATCH.removes),
    more: stop.length > CANARY_BATCH.stops || remove.length > CANARY_BATCH.removes,
  };
}

function removable(groups: Groups): readonly InstanceRecord[] {
  const removed = groups.stopping.filter((state) => state.observation?.phase === 'removed');
  return [...removed, ...groups.gone].map((state) => state.record);
}

function placeMany(
  placer: Placer | undefined,
  count: number,
): { readonly create: readonly Placed[]; readonly refusal?: PlacementRefusal } {
  const create: Placed[] = [];
  while (placer !== undefined && create.length < count) {
    const answer = placer.place();
    if (!answer.ok) return { create, refusal: answer };
    create.push(answer);
  }
  return { create };
}

function surplus({ keep }: Groups, wanted: number): readonly InstanceState[] {
  return keep
    .toSorted((a, b) => (a.record.id < b.record.id ? 1 : -1))
    .slice(0, Math.max(0, keep.length - wanted));
}

function isWhole({ keep }: Groups, { replicas }: CanaryRecord): boolean {
  return keep.length >= replicas && keep.every((state) => state.available);
}

/** The deadline runs while it is not whole: from its start, and again after it lost an instance. */
function carried(
  before: CanaryMemory | undefined,
  canary: CanaryRecord,
  groups: Groups,
  nowMs: number,
): CanaryMemory {
  const { specHash } = canary;
  const isKnown = before?.specHash === specHash && !isWhole(groups, canary);
  return isKnown ? before : { specHash, sinceMs: nowMs };
}

function abortOf(
  { spec, specHash }: DeploymentRecord,
  canary: CanaryRecord,
  groups: Groups,
  late: boolean,
): CanaryAbort | undefined {
  if (canary.stableSpecHash !== specHash) {
    return { reason: 'deployment_changed', message: 'the deployment it ran beside has changed' };
  }
  if (spec.replicas === 0) return { reason: 'deployment_stopped', message: 'the deployment was stopped' };
  const failing = groups.keep.find(({ failure }) => failure !== undefined && !RETRIED.has(failure.reason));
  if (failing?.failure !== undefined) {
    return { reason: 'unhealthy', message: failing.failure.message, instance: failing.record.id };
  }
  if (!late) return undefined;
  const trouble = groups.keep.find(({ failure }) => failure !== undefined)?.failure?.message;
  const deadline = `not healthy within ${Math.round(progressDeadlineMs(spec.update) / 1000)} s`;
  return {
    reason: 'progress_deadline',
    message: trouble === undefined ? deadline : `${deadline}: ${trouble}`,
  };
}

function statusOf(
  canary: CanaryRecord,
  { keep }: Groups,
  gates: readonly ClosedGate[],
  created: number,
  refusal: PlacementRefusal | undefined,
): CanaryStatus {
  const kept = keep.slice(0, canary.replicas);
  const placed = kept.length + created;
  const running = kept.filter((state) => state.running).length;
  const healthy = kept.filter((state) => state.healthy).length;
  const trouble = kept.find(({ failure }) => failure !== undefined)?.failure?.message;
  const counts = `${healthy} of ${canary.replicas} healthy`;
  const waiting = placed < canary.replicas ? gates.map((gate) => gate.message).join('; ') : '';
  const unplaced = refusal === undefined ? '' : `no node takes more: ${refusal.summary}`;
  return {
    specHash: canary.specHash,
    desired: canary.replicas,
    placed,
    running,
    healthy,
    message: [counts, trouble ?? '', waiting, unplaced].filter((text) => text !== '').join('; '),
  };
}

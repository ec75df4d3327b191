import type { DeploymentSpec, HealthCheck } from '../../model/deployment.ts';
import type { InstanceId } from '../../model/ids.ts';
import { parseDuration } from '../../model/quantity.ts';
import type { InstanceRecord } from '../../model/instance.ts';
import type { InstanceState } from './instance-state.ts';
import type { HealthMemory, InstanceMemory } from './memory.ts';
import { instanceEvent, type PlannedEvent } from './planned-event.ts';
import type { Placer } from './placer.ts';
import { type Groups, isSingleWriter } from './rollout.ts';
import { progressDeadlineMs } from './progress.ts';

export const NEVER = 'never';
const DEFAULT_INTERVAL_MS = 30_000;
const DEFAULT_INTERVALS = 3;
const LEAST_MS = 30_000;
const LONGEST_MS = 600_000;
/** Restarts on one node that did not help: the next one is tried elsewhere. */
export const RESTARTS_BEFORE_MOVE = 3;

/** Undefined: it is left as it is. */
export function restartAfterMs(check: HealthCheck | undefined): number | undefined {
  if (check === undefined || check.restartAfter === NEVER) return undefined;
  if (check.restartAfter !== undefined) return parseDuration(check.restartAfter);
  const interval = check.interval === undefined ? undefined : parseDuration(check.interval);
  return Math.max(LEAST_MS, DEFAULT_INTERVALS * (interval ?? DEFAULT_INTERVAL_MS));
}

export interface HealthRestart {
  readonly state: InstanceState;
  /** With this one. */
  readonly restarts: number;
  readonly illMs: number;
  /** It is replaced on another node instead. */
  readonly moves: boolean;
  /** Why it stays where it failed before. */
  readonly staysBecause?: string;
}

export interface HealthPlan {
  readonly restart?: HealthRestart;
  readonly recheckInMs?: number;
}

export interface HealthInput {
  readonly spec: DeploymentSpec;
  readonly groups: Groups;
  /** A rollout judges its new instances itself. */
  readonly progressing: boolean;
  readonly memoryOf: (id: InstanceId) => HealthMemory | undefined;
  readonly placer: Placer;
  readonly nowMs: number;
}

/**
 * At most one instance, and only while no other one of the deployment is on its way down or up: whatever makes all of them
 * unhealthy at once, they are never all restarted at once.
 */
export function planHealth(input: HealthInput): HealthPlan {
  const { groups, progressing, nowMs } = input;
  if (groups.keep.length + groups.leave.length === 0) return {};
  const ill = [...(progressing ? [] : groups.keep), ...groups.leave]
    .filter(({ node, record }) => node.status === 'ready' && record.leaving === undefined)
    .flatMap((state) => dueOf(state, input) ?? []);
  if (ill.length === 0) return {};
  const [first] = ill.toSorted((a, b) => a.dueMs - b.dueMs);
  if (first === undefined) return {};
  const freeMs = freeAtMs(input, first.state);
  const atMs = Math.max(first.dueMs, freeMs);
  if (atMs > nowMs) return { recheckInMs: atMs - nowMs };
  const { state, restarts, sinceMs } = first;
  return {
    restart: { state, restarts: restarts + 1, illMs: nowMs - sinceMs, ...whereTo(input, state, restarts) },
  };
}

interface Due {
  readonly state: InstanceState;
  /** So far. */
  readonly restarts: number;
  readonly sinceMs: number;
  readonly dueMs: number;
}

function dueOf(state: InstanceState, { spec, memoryOf }: HealthInput): Due | undefined {
  const { record } = state;
  const health = memoryOf(record.id);
  const afterMs = restartAfterMs(spec.healthCheck);
  if (health?.condition !== 'ill' || health.restarting === true || afterMs === undefined) return undefined;
  const restarts = health.isSteady ? 0 : (record.healthRestarts ?? 0);
  const backOffMs = Math.min(afterMs * 2 ** restarts, Math.max(afterMs, LONGEST_MS));
  // What has not been well yet may only be slow: without a word of its spec it is given as long as a rollout gives it.
  const isSlow = !health.wasWell && spec.healthCheck?.restartAfter === undefined;
  const waitMs = isSlow ? Math.max(backOffMs, progressDeadlineMs(spec.update)) : backOffMs;
  return { state, restarts, sinceMs: health.sinceMs, dueMs: health.sinceMs + waitMs };
}

/** Until when others of the deployment are on their way. One that takes longer than a rollout may is no longer waited for. */
function freeAtMs({ spec, groups, memoryOf, nowMs }: HealthInput, own: InstanceState): number {
  const limitMs = progressDeadlineMs(spec.update);
  const others = [...groups.keep, ...groups.leave, ...groups.stopping].filter((state) => state !== own);
  const until = others.flatMap((state) => {
    const health = memoryOf(state.record.id);
    const isUnderWay =
      state.node.status === 'silent' || health?.condition === 'waiting' || health?.restarting === true;
    return isUnderWay || (state.standing === 'stopping' && state.node.status === 'ready')
      ? [(health?.sinceMs ?? nowMs) + limitMs]
      : [];
  });
  return Math.max(-Infinity, ...until);
}

/** A writer stays with its volume, which moves for reasons of its own. */
function whereTo(
  { spec, placer }: HealthInput,
  { record, standing }: InstanceState,
  restarts: number,
): Pick<HealthRestart, 'moves' | 'staysBecause'> {
  if (restarts < RESTARTS_BEFORE_MOVE || standing !== 'keep') return { moves: false };
  if (isSingleWriter(spec)) return { moves: false, staysBecause: 'it stays with the volume that it writes' };
  const refusal = placer.refusalElsewhere(record, 'it was unhealthy there again and again');
  if (refusal === undefined) return { moves: true };
  return { moves: false, staysBecause: `no other node takes it: ${refusal.summary}` };
}

/** The record that the agent is given: another attempt is another container, whoever is killed in between. */
export function restartedRecord({
  state: { record, observation },
  moves,
  restarts,
}: HealthRestart): InstanceRecord {
  if (moves) return { ...record, leaving: leavingBecause(restarts - 1, record.nodeId, observation?.message) };
  return { ...record, attempt: record.attempt + 1, healthRestarts: restarts };
}

function leavingBecause(restarts: number, node: string, message: string | undefined): string {
  return `unhealthy after ${restarts} restarts on ${node}${message === undefined ? '' : `: ${message}`}`;
}

export function healthEvent(restart: HealthRestart): PlannedEvent {
  const { state, restarts, illMs, moves, staysBecause } = restart;
  const { record, observation } = state;
  const details = {
    reason: 'unhealthy',
    restarts,
    ...(observation?.message && { health: observation.message }),
  };
  if (moves) {
    const why = leavingBecause(restarts - 1, record.nodeId, observation?.message);
    return instanceEvent(record, 'leaving', `is to be replaced on another node: ${why}`, details);
  }
  const why = observation?.message === undefined ? '' : `: ${observation.message}`;
  const stays = staysBecause === undefined ? '' : `; ${staysBecause}`;
  return instanceEvent(
    record,
    'restarted',
    `is restarted (restart ${restarts}), unhealthy for ${Math.round(illMs / 1000)} s${why}${stays}`,
    { ...details, attempt: record.attempt + 1 },
  );
}

/** What is seen of the old container from now on is no news. */
export function withRestart(
  instances: ReadonlyMap<InstanceId, InstanceMemory>,
  restart: HealthRestart | undefined,
): ReadonlyMap<InstanceId, InstanceMemory> {
  const id = restart?.state.record.id;
  const known = id === undefined ? undefined : instances.get(id);
  if (id === undefined || known?.health === undefined || restart?.moves !== false) return instances;
  return new Map([
    ...instances,
    [id, { ...known, noted: 'created', health: { ...known.health, restarting: true } }],
  ]);
}

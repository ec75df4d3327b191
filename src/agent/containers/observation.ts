import { constants } from 'node:os';
import type { AssignedInstance, AssignedOnce } from '../../core/protocol/agent-protocol.ts';
import { instanceId } from '../../core/model/ids.ts';
import type { ContainerPhase, InstanceObservation } from '../../core/model/instance.ts';
import type { ContainerHealth, ContainerStatus } from '../engine/container.ts';
import { optional } from '../../core/model/values.ts';
import { type InstanceHistory, isCrashLoop, isFresh, recentEndings } from './instance-history.ts';
import type { ObservedContainer } from './observed-container.ts';
import { currentContainer } from './plan.ts';
import type { Words } from './last-words.ts';
import type { InstanceStep } from './step.ts';

export interface ObservationInput {
  readonly instanceId: string;
  readonly assigned: AssignedInstance | undefined;
  readonly containers: readonly ObservedContainer[];
  readonly history: InstanceHistory;
  /** The step under way. */
  readonly activity: InstanceStep['kind'] | undefined;
  readonly nowMs: number;
  /** How often the agent started it again, beside the engine. */
  readonly restartsOf?: (containerId: string) => number;
  /** The volume that it waits for. */
  readonly awaited: { readonly reason: string; readonly message: string } | undefined;
  /** Of its last run that failed. */
  readonly words?: Words | undefined;
}

/** What is reported of an instance. Facts of the container first; a failure to create a newer one is reported beside them. */
export function observationOf(input: ObservationInput): InstanceObservation {
  const { assigned, containers } = input;
  const seen = (assigned && currentContainer(assigned, containers)) ?? containers[0];
  const id = instanceId(input.instanceId);
  if (seen === undefined) return { id, phase: phaseWithout(input), ...trouble(input, undefined) };
  return {
    id,
    phase: phaseOf(input, seen),
    ...optional('health', seen.health?.status),
    containerId: seen.id,
    containerName: seen.name,
    specHash: seen.specHash,
    secretsVersion: seen.secretsVersion,
    ...optional('exitCode', seen.exitCode ?? lastLoopExit(input)),
    restarts: seen.restarts + (input.restartsOf?.(seen.id) ?? 0),
    ...trouble(input, seen),
    ...optional('startedAt', seen.startedAt),
    ...optional('healthySince', seen.healthySince),
    ...optional('address', seen.address),
    ...(seen.ports.length === 0 ? {} : { ports: seen.ports }),
  };
}

const PHASE_OF_STEP: Readonly<Record<InstanceStep['kind'], ContainerPhase>> = {
  ensureNetwork: 'creating',
  pull: 'pulling',
  resolve: 'creating',
  create: 'creating',
  start: 'starting',
  takeOver: 'running',
  stop: 'running',
  end: 'running',
  restart: 'starting',
  remove: 'exited',
  healthcheckNow: 'running',
};

function phaseWithout({ assigned, history, activity }: ObservationInput): ContainerPhase {
  // One that is being made will be there in a moment, and is removed then.
  if (assigned?.wanted === 'stop') return activity === 'create' ? PHASE_OF_STEP.create : 'removed';
  if (assigned?.once?.started === true) return 'failed';
  if (history.failure !== undefined) return 'failed';
  return activity === undefined ? 'pending' : PHASE_OF_STEP[activity];
}

const PHASE_OF_STATUS: Readonly<Record<ContainerStatus, ContainerPhase>> = {
  created: 'starting',
  running: 'running',
  paused: 'running',
  restarting: 'exited',
  exited: 'exited',
  dead: 'exited',
  removing: 'exited',
};

function phaseOf({ history }: ObservationInput, seen: ObservedContainer): ContainerPhase {
  if (seen.status === 'created' && history.failure !== undefined) return 'failed';
  return PHASE_OF_STATUS[seen.status];
}

interface Trouble {
  readonly reason?: string;
  readonly message?: string;
}

function trouble(input: ObservationInput, seen: ObservedContainer | undefined): Trouble {
  const { failure } = input.history;
  if (failure !== undefined) return { reason: failure.reason, message: failure.message };
  if (input.assigned?.once !== undefined && seen?.status === 'exited')
    return endedOnce(input.assigned.once, seen, input);
  if (input.awaited !== undefined && seen?.status !== 'running') {
    return { reason: input.awaited.reason, message: input.awaited.message };
  }
  if (seen === undefined) return lost(input);
  // What was ordered to stop and has is in no trouble.
  if (input.assigned?.wanted === 'stop' && PHASE_OF_STATUS[seen.status] === 'exited') return {};
  return ended(input, seen) ?? unhealthy(input, seen) ?? paused(seen) ?? endedBefore(input, seen);
}

function lost({ assigned }: ObservationInput): Trouble {
  if (assigned?.wanted !== 'run' || assigned.once?.started !== true) return {};
  return { reason: 'container_lost', message: 'the container was removed before its end was known' };
}

/**
 * From the engine's own times, so that a restarted agent reports the same. What ends within its time is judged by
 * its code alone.
 */
function endedOnce(
  { timeoutMs }: AssignedOnce,
  seen: ObservedContainer,
  { history: { wasEnded }, words }: ObservationInput,
): Trouble {
  const ranMs = Date.parse(seen.finishedAt ?? '') - Date.parse(seen.startedAt ?? '');
  // What exited well while no agent could end it has done its work, however late.
  const isLate = timeoutMs !== undefined && ranMs >= timeoutMs;
  if (isLate && (seen.exitCode !== 0 || wasEnded === true))
    return { reason: 'timed_out', message: `it was ended because its time of ${timeoutMs / 1000} s was up` };
  if (seen.exitCode === undefined || seen.exitCode === 0) return {};
  return endingTrouble({ exitCode: seen.exitCode, outOfMemory: seen.oomKilled }, words);
}

function ended(input: ObservationInput, seen: ObservedContainer): Trouble | undefined {
  const endings = recentEndings(input.history, input.nowMs);
  const last = endings.at(-1);
  const exitCode = seen.exitCode ?? last?.exitCode;
  const outOfMemory = seen.oomKilled || last?.outOfMemory === true;
  const words = input.words?.unwell === true ? undefined : input.words;
  const loops = isCrashLoop(endings, input.nowMs);
  const one = endingTrouble({ exitCode, outOfMemory }, loops ? undefined : words);
  if (loops) {
    const said = words?.cause === undefined ? '' : `: \`${words.cause}\``;
    const message = `${one.message}; it ended ${endings.length} times in the last five minutes${said}`;
    return { reason: one.reason === 'container_exited' ? 'crash_loop' : one.reason, message };
  }
  return PHASE_OF_STATUS[seen.status] === 'exited' ? one : undefined;
}

/** It runs, and has not shown yet that it stays: what is said of a rollout that fails in this moment. */
function endedBefore({ history, nowMs, words }: ObservationInput, seen: ObservedContainer): Trouble {
  const last = recentEndings(history, nowMs).at(-1);
  const isWell = seen.health === undefined ? !isFresh(last, nowMs) : seen.health.status === 'healthy';
  if (last === undefined || isWell) return {};
  return {
    message: `in the run before, ${endingTrouble(last, words?.unwell === true ? undefined : words).message}`,
  };
}

/** How one run ended, for machines and for people. */
export function endingTrouble(
  { exitCode, outOfMemory }: { readonly exitCode: number | undefined; readonly outOfMemory: boolean },
  { cause, ranMs }: Words = {},
): Required<Trouble> {
  const known = outOfMemory ? OUT_OF_MEMORY : NOT_RUNNABLE[exitCode ?? 0];
  const code = exitCode === undefined ? '' : ` with exit code ${exitCode}${signalOf(exitCode)}`;
  const after = ranMs === undefined ? '' : ` after ${spanText(ranMs)}`;
  const said = cause === undefined ? '' : `: \`${cause}\``;
  return {
    reason: known?.reason ?? 'container_exited',
    message: known === undefined ? `the container ended${code}${after}${said}` : `${known.message}${said}`,
  };
}

function spanText(ms: number): string {
  if (ms < 1_000) return 'less than a second';
  if (ms < 120_000) return `${Math.round(ms / 1_000)} s`;
  return ms < 7_200_000 ? `${Math.round(ms / 60_000)} min` : `${Math.round(ms / 3_600_000)} h`;
}

/** Of a container that ends again and again, while it runs in between. */
function lastLoopExit({ history, nowMs }: ObservationInput): number | undefined {
  const endings = recentEndings(history, nowMs);
  return isCrashLoop(endings, nowMs) ? endings.at(-1)?.exitCode : undefined;
}

const SIGNALLED = 128;

/** By which signal, as shells and engines say it in the code; empty: by none. */
function signalOf(exitCode: number): string {
  const name = Object.entries(constants.signals).find(([, number]) => number === exitCode - SIGNALLED)?.[0];
  return name === undefined ? '' : ` (${name})`;
}

const OUT_OF_MEMORY: Required<Trouble> = {
  reason: 'out_of_memory',
  message: 'the container was killed because it ran out of memory',
};

/** Of the engine's init process, and of any shell. */
const NOT_RUNNABLE: Readonly<Record<number, Required<Trouble>>> = {
  126: {
    reason: 'command_not_found',
    message: 'the container ended with exit code 126: its command is not executable in the image',
  },
  127: {
    reason: 'command_not_found',
    message: 'the container ended with exit code 127: its command does not exist in the image',
  },
};

/** A check that cannot run differs from one that fails. */
function unhealthy(input: ObservationInput, seen: ObservedContainer): Trouble | undefined {
  const { health } = seen;
  if (health?.commandNotFound === true) {
    const command = input.assigned?.container?.healthCheck?.command[0]?.trim().split(/\s+/, 1)[0] ?? '';
    return {
      reason: 'healthcheck_command_not_found',
      message: `the health check cannot run: command ${command} does not exist or is not executable in the image`,
    };
  }
  if (health?.status !== 'unhealthy') return undefined;
  return unhealthyTrouble(health, input.words?.unwell === true ? input.words : undefined);
}

/** How the check fails, for machines and for people. */
export function unhealthyTrouble(health: ContainerHealth, { cause }: Words = {}): Required<Trouble> {
  const last = health.timedOut
    ? 'the last time because it did not return within its timeout'
    : `last with exit code ${health.lastExitCode ?? 'unknown'}`;
  return {
    reason: 'unhealthy',
    message: `the health check failed ${health.failingStreak} times in a row, ${last}${cause === undefined ? '' : `: \`${cause}\``}`,
  };
}

function paused(seen: ObservedContainer): Trouble | undefined {
  return seen.status === 'paused'
    ? { reason: 'paused', message: 'the container was paused by hand' }
    : undefined;
}

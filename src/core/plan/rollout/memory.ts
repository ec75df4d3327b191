import type { InstanceId } from '../../model/ids.ts';
import type { InstanceObservation, InstanceRecord } from '../../model/instance.ts';

/** The last state of an instance that an event published. */
export type Noted = 'created' | 'started' | 'unhealthy' | 'failed';

export interface InstanceMemory {
  /** The container as it runs now, and since when on the server's monotonic clock. */
  readonly run?: { readonly key: string; readonly sinceMs: number };
  readonly noted: Noted;
  readonly health?: HealthMemory;
}

/** `waiting`: neither well nor failing, such as one that starts. */
export type Condition = 'well' | 'ill' | 'failing' | 'waiting';

export interface HealthMemory {
  readonly condition: Condition;
  readonly sinceMs: number;
  /** The container that it speaks of; another one begins anew. */
  readonly container: string;
  /** This container was seen well, or was there before this process was. */
  readonly wasWell: boolean;
  /** It was well for so long that earlier restarts no longer count. */
  readonly isSteady: boolean;
  /** It is being replaced by another one, as ordered. */
  readonly restarting?: boolean;
}

/** Since when a rollout has come no further. */
export interface ProgressMemory {
  readonly specHash: string;
  readonly replicas: number;
  readonly score: number;
  readonly sinceMs: number;
}

/** Since when a canary has not been whole. */
export interface CanaryMemory {
  readonly specHash: string;
  readonly sinceMs: number;
}

/**
 * What a planner knows besides records: times on the monotonic clock. Kept in memory only, so a control plane that was restarted
 * grants a fresh settle time and a fresh deadline instead of comparing wall clocks (fault F-20).
 */
export interface PlannerMemory {
  readonly instances: ReadonlyMap<InstanceId, InstanceMemory>;
  readonly progress?: ProgressMemory;
  readonly canary?: CanaryMemory;
}

export interface Transition {
  readonly record: InstanceRecord;
  readonly observation: InstanceObservation;
  readonly from: Noted;
  readonly to: Noted;
}

export interface MemoryUpdate {
  readonly instances: ReadonlyMap<InstanceId, InstanceMemory>;
  readonly transitions: readonly Transition[];
  /** More transitions are waiting than fit into one commit. */
  readonly more: boolean;
}

/** Of every deployment without instances, of which there may be very many: an empty map takes 400 bytes. */
const NO_INSTANCES: ReadonlyMap<InstanceId, InstanceMemory> = new Map();

/**
 * Updates the memory of each instance. Without any memory (the process has just started) what is seen counts as published
 * already; otherwise each change becomes one transition, at most `limit` at a time.
 */
export function updateInstanceMemory(
  memory: PlannerMemory | undefined,
  instances: readonly InstanceRecord[],
  observationOf: (id: InstanceId) => InstanceObservation | undefined,
  nowMs: number,
  limit: number,
): MemoryUpdate {
  if (instances.length === 0) return { instances: NO_INSTANCES, transitions: [], more: false };
  const next = new Map<InstanceId, InstanceMemory>();
  const transitions: Transition[] = [];
  let more = false;
  for (const record of instances) {
    const known = memory?.instances.get(record.id);
    const observation = observationOf(record.id);
    const run = currentRun(known, observation, nowMs);
    const seen =
      observation && !isBeingRestarted(known, observation) ? notable(record, observation) : undefined;
    let noted = known?.noted ?? (memory === undefined ? seen : undefined) ?? 'created';
    if (observation !== undefined && seen !== undefined && seen !== noted) {
      if (transitions.length < limit) {
        transitions.push({ record, observation, from: noted, to: seen });
        noted = seen;
      } else {
        more = true;
      }
    }
    const health = known?.health;
    next.set(record.id, { ...(run && { run }), noted, ...(health && { health }) });
  }
  return { instances: next, transitions, more };
}

/** A restart of the container resets the time, or a crash loop would look settled. */
function currentRun(
  known: InstanceMemory | undefined,
  observation: InstanceObservation | undefined,
  nowMs: number,
): InstanceMemory['run'] {
  if (observation?.phase !== 'running') return undefined;
  const key = `${observation.containerId ?? ''}/${observation.restarts ?? 0}`;
  return known?.run?.key === key ? known.run : { key, sinceMs: nowMs };
}

/** What ends now was ordered to, and what it says until then was told already. */
function isBeingRestarted(known: InstanceMemory | undefined, { containerId }: InstanceObservation): boolean {
  return known?.health?.restarting === true && known.health.container === (containerId ?? '');
}

function notable(record: InstanceRecord, observation: InstanceObservation): Noted | undefined {
  if (endedAsOrdered(record, observation)) return undefined;
  if (observation.phase === 'running') return observation.health === 'unhealthy' ? 'unhealthy' : 'started';
  if (observation.phase === 'failed' || observation.phase === 'exited') return 'failed';
  return observation.reason === undefined ? undefined : 'failed';
}

/** Between its end and its removal: whatever the code, that is no failure. One that cannot be removed has another reason. */
function endedAsOrdered({ wanted }: InstanceRecord, { phase, reason }: InstanceObservation): boolean {
  return wanted === 'stop' && phase === 'exited' && (reason === undefined || reason === 'container_exited');
}

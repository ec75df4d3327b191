import type { InstanceId } from '../../model/ids.ts';
import type { InstanceState } from './instance-state.ts';
import type { Condition, HealthMemory, InstanceMemory } from './memory.ts';

/** Well for so long, and what failed before is forgotten. */
export const STEADY_MS = 600_000;

/** A check that cannot run says nothing of the workload: that is mended by a change of the spec. */
function conditionOf({ healthy, failure, observation }: InstanceState): Condition {
  if (healthy) return 'well';
  if (failure === undefined) return 'waiting';
  return failure.reason === 'unhealthy' && observation?.phase === 'running' ? 'ill' : 'failing';
}

/** The memory of every instance with how it is now, and since when. */
export function withHealth(
  instances: ReadonlyMap<InstanceId, InstanceMemory>,
  states: readonly InstanceState[],
  /** The process has just started: containers that are there may have been well. */
  isFirst: boolean,
  nowMs: number,
): ReadonlyMap<InstanceId, InstanceMemory> {
  // Of every deployment that waits for a node: an empty map takes 400 bytes.
  if (instances.size === 0) return instances;
  const next = new Map(instances);
  for (const state of states) {
    const known = next.get(state.record.id);
    if (known !== undefined)
      next.set(state.record.id, { ...known, health: healthOf(state, known.health, isFirst, nowMs) });
  }
  return next;
}

function healthOf(
  state: InstanceState,
  before: HealthMemory | undefined,
  isFirst: boolean,
  nowMs: number,
): HealthMemory {
  const condition = conditionOf(state);
  const container = state.observation?.containerId ?? before?.container ?? '';
  const isSame = before?.container === container;
  const wasWell = condition === 'well' || (isSame ? before.wasWell : isFirst);
  const isSteady =
    before?.condition === 'well' ? nowMs - before.sinceMs >= STEADY_MS : before?.isSteady === true;
  const restarting = isSame && before.restarting === true;
  // One that is being restarted is not ill any more, and one that is ill again begins anew.
  if (isSame && before.condition === condition) return { ...before, wasWell, isSteady };
  return { condition, sinceMs: nowMs, container, wasWell, isSteady, ...(restarting && { restarting }) };
}

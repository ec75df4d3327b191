import type { InstanceId } from '../../model/ids.ts';
import type { InstanceRecord } from '../../model/instance.ts';
import type { Clearing, JobPlanInput } from './job-plan.ts';

/** How long an ended attempt waits for its output to be fetched before it is removed. */
export const CAPTURE_MS = 60_000;

/**
 * Instances that no attempt under way needs: ended, kept until what they printed is fetched, then removed. Those of a deleted job
 * go at once.
 */
export function planClearing(
  input: Pick<JobPlanInput, 'instances' | 'observationOf' | 'isCaptured' | 'nodeOf' | 'memory' | 'nowMs'>,
  current: InstanceId | undefined,
  { deleted = false }: { readonly deleted?: boolean },
): Clearing & { readonly leftover: ReadonlyMap<InstanceId, number>; readonly dueInMs: readonly number[] } {
  const { nowMs, memory } = input;
  const end: InstanceRecord[] = [];
  const stop: InstanceRecord[] = [];
  const remove: InstanceRecord[] = [];
  const leftover = new Map<InstanceId, number>();
  const dueInMs: number[] = [];
  for (const record of input.instances) {
    if (record.id === current) continue;
    const node = input.nodeOf(record.nodeId).status;
    const observation = input.observationOf(record.id);
    if (node === 'gone' || (record.wanted === 'stop' && observation?.phase === 'removed')) {
      remove.push(record);
      continue;
    }
    if (record.wanted === 'stop') continue;
    const sinceMs = memory?.leftover.get(record.id) ?? nowMs;
    const leftMs = CAPTURE_MS - (nowMs - sinceMs);
    const hasContainer = observation?.containerId !== undefined;
    if (deleted || node === 'lost' || !hasContainer || leftMs <= 0 || input.isCaptured(record.id)) {
      stop.push(record);
      continue;
    }
    if (observation.phase !== 'exited' && record.once?.end !== true) end.push(record);
    leftover.set(record.id, sinceMs);
    dueInMs.push(leftMs);
  }
  return { end, stop, remove, leftover, dueInMs };
}

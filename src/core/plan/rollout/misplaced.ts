import type { Changes } from './changes.ts';
import type { InstanceState } from './instance-state.ts';
import { deploymentEvent, type PlannedEvent } from './planned-event.ts';
import type { Groups } from './rollout.ts';

/** Instances that run where the residency of their deployment no longer allows them: a label or the spec changed. */
export function misplacedStates({ leave }: Pick<Groups, 'leave'>): readonly InstanceState[] {
  return leave.filter((state) => state.misplaced !== undefined);
}

export function misplacedSentence({ record, misplaced }: InstanceState): string {
  return `instance ${record.id} on ${record.nodeId} is where its residency does not allow it: ${misplaced}`;
}

/** Equal texts: nothing that is worth another event has changed. */
export function misplacedDigest(states: readonly InstanceState[]): string | undefined {
  if (states.length === 0) return undefined;
  return [...new Set(states.map(({ record, misplaced }) => `${record.nodeId}: ${misplaced}`))]
    .sort()
    .join('\n');
}

/** Nothing is under way that would end it: no successor starts, and none of them may stop. */
export function isStuck(
  groups: Groups,
  { create, stop }: Pick<Changes, 'create' | 'stop'>,
  open: boolean,
): boolean {
  return (
    open &&
    create.length === 0 &&
    stop.length === 0 &&
    groups.keep.every((state) => state.available) &&
    groups.stopping.every((state) => state.node.status !== 'ready')
  );
}

const MAX_SHOWN = 50;

export function misplacedEvent(name: string, states: readonly InstanceState[]): PlannedEvent {
  const shown = states.slice(0, MAX_SHOWN);
  const rest = states.length - shown.length;
  return deploymentEvent(
    name,
    'misplaced',
    [...shown.map(misplacedSentence), ...(rest > 0 ? [`and ${rest} more instances`] : [])].join('\n'),
    {
      instances: shown.map(({ record, misplaced }) => ({
        instance: record.id,
        node: record.nodeId,
        why: misplaced,
      })),
    },
  );
}

import type { DeploymentRecord, DeploymentStatus } from '../../model/deployment.ts';
import type { InstanceRecord } from '../../model/instance.ts';
import type { RolloutRecord } from '../../model/rollout.ts';
import type { Changes } from './changes.ts';
import { newInstance } from './fresh-instance.ts';
import type { InstanceState } from './instance-state.ts';
import type { MemoryUpdate } from './memory.ts';
import { misplacedEvent } from './misplaced.ts';
import {
  deploymentEvent,
  instanceEvent,
  type PlannedEvent,
  rolloutEvents,
  statusEvents,
  transitionEvent,
  unschedulableEvent,
} from './planned-event.ts';

export interface PublishedBefore {
  readonly name: string;
  readonly status?: DeploymentStatus;
  readonly rollout?: RolloutRecord;
}

/** Every transition that a plan makes or has seen, in the order of publication. */
export function planEvents(
  before: PublishedBefore,
  deployment: DeploymentRecord,
  { changes, misplaced }: { readonly changes: Changes; readonly misplaced: readonly InstanceState[] },
  rollout: RolloutRecord,
  status: Omit<DeploymentStatus, 'since'>,
  remembered: MemoryUpdate,
): readonly PlannedEvent[] {
  const { name } = before;
  const nodes = [...new Set(changes.create.map((placed) => placed.nodeId))].sort();
  const allPlaced = changes.create.length > 0 && status.placed >= status.desired;
  const isNews =
    changes.refusal !== undefined &&
    changes.refusal.digest === rollout.unschedulable &&
    changes.refusal.digest !== before.rollout?.unschedulable;
  return [
    ...(changes.refusal && isNews ? [unschedulableEvent(name, changes.refusal)] : []),
    ...(rollout.misplaced !== undefined && rollout.misplaced !== before.rollout?.misplaced
      ? [misplacedEvent(name, misplaced)]
      : []),
    ...rolloutEvents(name, before.rollout, rollout, status),
    ...changes.create.map((placed) =>
      instanceEvent(newInstance(placed, deployment, ''), 'created', 'created', {
        version: deployment.version,
      }),
    ),
    ...(allPlaced
      ? [deploymentEvent(name, 'placed', `${status.placed} of ${status.desired} instances placed`, { nodes })]
      : []),
    ...changes.stop
      .filter((state) => isMoved(state) || changes.makesRoom === state)
      .map((state) => instanceEvent(state.record, 'replaced', whyMoved(state, changes))),
    ...remembered.transitions.map(transitionEvent),
    ...statusEvents(name, before.status, status),
    ...changes.remove.map(removedEvent),
  ];
}

function isMoved(state: InstanceState): boolean {
  return (
    state.current &&
    (state.standing === 'lost' ||
      state.node.draining ||
      state.misplaced !== undefined ||
      state.record.leaving !== undefined)
  );
}

function whyMoved(state: InstanceState, { makesRoom }: Changes): string {
  if (makesRoom === state) return 'is stopped before its successor starts: there is no room for both';
  if (state.fenced) return 'is replaced: its volume moves to another node';
  if (state.standing === 'lost') return 'is replaced: its node is lost';
  if (state.node.draining) return 'is replaced: its node is being drained';
  return `is replaced: ${state.record.leaving ?? state.misplaced}`;
}

export function removedEvent(record: InstanceRecord): PlannedEvent {
  return instanceEvent(record, 'stopped', 'is gone');
}

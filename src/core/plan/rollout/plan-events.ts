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
  const { refusal, create } = changes;
  const events: PlannedEvent[] = [];
  const isNews =
    refusal !== undefined &&
    refusal.digest === rollout.unschedulable &&
    refusal.digest !== before.rollout?.unschedulable;
  if (isNews) events.push(unschedulableEvent(name, refusal));
  if (rollout.misplaced !== undefined && rollout.misplaced !== before.rollout?.misplaced)
    events.push(misplacedEvent(name, misplaced));
  events.push(...rolloutEvents(name, before.rollout, rollout, status));
  const { version } = deployment;
  for (const placed of create)
    events.push(instanceEvent(newInstance(placed, deployment, ''), 'created', 'created', { version }));
  if (create.length > 0 && status.placed >= status.desired) {
    const nodes = [...new Set(create.map((placed) => placed.nodeId))].sort();
    const message = `${status.placed} of ${status.desired} instances placed`;
    events.push(deploymentEvent(name, 'placed', message, { nodes }));
  }
  for (const state of changes.stop)
    if (isMoved(state) || changes.makesRoom === state)
      events.push(instanceEvent(state.record, 'replaced', whyMoved(state, changes)));
  for (const transition of remembered.transitions) events.push(transitionEvent(transition));
  events.push(...statusEvents(name, before.status, status));
  for (const record of changes.remove) events.push(removedEvent(record));
  return events;
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

import type { AssignedInstance } from '../../core/protocol/agent-protocol.ts';
import type { ObservedContainer } from './observed-container.ts';
import { awaitedVolume, checkAtMs, currentContainer, type NodeView, restartAtMs } from './plan.ts';
import type { InstanceStep } from './step.ts';

/** What is known without a session: the last orders, and what the engine and the volumes say. */
export interface RecalledView
  extends Pick<NodeView, 'nowMs' | 'engineKind' | 'installId' | 'containers' | 'history' | 'volume'> {
  /** Before that a session may still come, with newer orders. */
  readonly fromMs: number;
  /** The orders are of an earlier run of this agent, and are read from its disk. */
  readonly areRecalled: boolean;
}

/** What becomes of an instance by the last orders; a reason is for a person. */
export type RecalledPlan =
  | { readonly kind: 'step'; readonly step: InstanceStep }
  | { readonly kind: 'later'; readonly atMs: number }
  | { readonly kind: 'waits'; readonly reason: string; readonly message: string }
  | { readonly kind: 'rests' };

const RESTS: RecalledPlan = { kind: 'rests' };

/**
 * Nothing is made by old orders: credentials are resolved when a container is created, and nobody answers. What ran and is down is started
 * as soon as its volumes are there. A stop that was ordered and cut off by the end of the machine is made good, because engines
 * start such a container again.
 */
export function planRecalled(view: RecalledView, assigned: AssignedInstance): RecalledPlan {
  const mine = (view.containers.get(assigned.id) ?? []).filter((one) => one.installId === view.installId);
  if (assigned.wanted === 'stop') return planStopped(view, mine);
  const kept = currentContainer(assigned, mine);
  if (kept === undefined)
    return waits(
      'container_absent',
      'it has no container, and none is made without the control plane, which has its credentials',
    );
  switch (kept.status) {
    case 'running': {
      const target = { instanceId: assigned.id, containerId: kept.id };
      const checkMs = checkAtMs(view, assigned.id, assigned.container);
      return checkMs === undefined ? RESTS : dueAt(view, checkMs, { kind: 'healthcheckNow', ...target });
    }
    case 'created':
      return waits('container_not_started', 'its container was made and never started');
    case 'exited':
      return planExited(view, assigned, kept);
    case 'dead':
      return waits('container_dead', 'the engine cannot start its container any more');
    case 'paused':
    case 'restarting':
    case 'removing':
      return RESTS;
  }
}

function planStopped(view: RecalledView, mine: readonly ObservedContainer[]): RecalledPlan {
  const running = mine.find(({ status }) => status === 'running' || status === 'restarting');
  if (!view.areRecalled || running === undefined) return RESTS;
  return dueAt(view, -Infinity, { kind: 'stop', instanceId: running.instanceId, containerId: running.id });
}

function planExited(
  view: RecalledView,
  assigned: Extract<AssignedInstance, { readonly wanted: 'run' }>,
  kept: ObservedContainer,
): RecalledPlan {
  if (assigned.once !== undefined)
    return waits(
      'job_not_repeated',
      'a run that ended is not repeated: the rules of its job say what follows',
    );
  // The engine may not start it, and its folders have to be checked: the record of its binds says so, and there is none.
  if (assigned.container.mounts.some(({ kind }) => kind === 'bind'))
    return waits('bind_not_allowed', 'its folders of the host are not known to be checked');
  const awaited = awaitedVolume(view, assigned.container);
  if (awaited !== undefined) return waits(awaited.reason, awaited.message);
  const target = { instanceId: assigned.id, containerId: kept.id };
  return dueAt(view, restartAtMs(view, assigned.id), { kind: 'start', ...target });
}

function dueAt(view: RecalledView, atMs: number, step: InstanceStep): RecalledPlan {
  const failedUntilMs = view.history.get(step.instanceId)?.failure?.retryAtMs ?? -Infinity;
  const dueMs = Math.max(view.fromMs, atMs, failedUntilMs);
  return view.nowMs >= dueMs ? { kind: 'step', step } : { kind: 'later', atMs: dueMs };
}

function waits(reason: string, message: string): RecalledPlan {
  return { kind: 'waits', reason, message };
}

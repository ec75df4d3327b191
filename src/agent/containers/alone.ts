import type { AssignedInstance } from '../../core/protocol/agent-protocol.ts';
import type { MountState } from '../volumes/mount-state.ts';
import type { InstanceHistory } from './instance-history.ts';
import type { ObservedContainer } from './observed-container.ts';
import { awaitedVolume, currentContainer } from './plan.ts';
import type { InstanceStep } from './step.ts';

/** By then the control plane, if it is there, knows that this node does not answer, and counts its instances as down. */
const ALONE_FOR_MS = 60_000;
const LONGEST_MS = 600_000;

/** What is known without a session: the last orders, and what the engine says. */
export interface AloneView {
  readonly nowMs: number;
  readonly sinceMs: number;
  readonly installId: string;
  readonly assigned: ReadonlyMap<string, AssignedInstance>;
  readonly containers: ReadonlyMap<string, readonly ObservedContainer[]>;
  readonly history: ReadonlyMap<string, InstanceHistory>;
  readonly volume: (volumeId: string) => MountState;
}

/**
 * A hung container is restarted without a session too, where the control plane gave its word before (`aloneRestartMs`): it gives it to one
 * node of a deployment, which restarts one instance at a time. So never all of them go at once, although nobody can be asked.
 */
export function planAlone(view: AloneView, instanceId: string): InstanceStep | undefined {
  const assigned = view.assigned.get(instanceId);
  if (assigned?.wanted !== 'run' || assigned.aloneRestartMs === undefined) return undefined;
  const { nowMs, sinceMs } = view;
  const { unhealthySinceMs, aloneRestarts = 0, failure } = view.history.get(instanceId) ?? {};
  const kept = containerOf(view, assigned);
  if (kept?.status !== 'running' || kept.health?.status !== 'unhealthy' || kept.health.commandNotFound)
    return undefined;
  const afterMs = assigned.aloneRestartMs;
  const waitMs = Math.min(afterMs * 2 ** aloneRestarts, Math.max(afterMs, LONGEST_MS));
  const dueMs = Math.max(
    sinceMs + ALONE_FOR_MS,
    (unhealthySinceMs ?? nowMs) + waitMs,
    failure?.retryAtMs ?? -Infinity,
  );
  if (nowMs < dueMs || awaitedVolume(view, assigned.container) !== undefined) return undefined;
  const others = [...view.assigned.values()].filter(
    ({ id, deployment, wanted }) =>
      id !== instanceId && deployment === assigned.deployment && wanted === 'run',
  );
  if (others.some((other) => isUnderWay(containerOf(view, other)))) return undefined;
  return { kind: 'restart', instanceId, containerId: kept.id };
}

function containerOf(view: AloneView, assigned: AssignedInstance): ObservedContainer | undefined {
  const mine = (view.containers.get(assigned.id) ?? []).filter((one) => one.installId === view.installId);
  return currentContainer(assigned, mine);
}

function isUnderWay(container: ObservedContainer | undefined): boolean {
  return container?.status !== 'running' || container.health?.status === 'starting';
}

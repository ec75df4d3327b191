import type {
  AssignedContainer,
  AssignedInstance,
  AssignedOnce,
} from '../../core/protocol/agent-protocol.ts';
import { backOffMs } from '../back-off.ts';
import type { BindRecord } from './bind-record.ts';
import { bindsOf, isHeld } from './binds.ts';
import { chooseName } from './container-name.ts';
import type { EngineKind } from '../engine/engine.ts';
import { type InstanceHistory, NO_HISTORY, recentEndings } from './instance-history.ts';
import type { ObservedContainer } from './observed-container.ts';
import type { InstanceStep, StepOf } from './step.ts';
import type { MountState } from '../volumes/mount-state.ts';

/** All that a decision rests on. Taken only in a session whose assignment has arrived. */
export interface NodeView {
  readonly nowMs: number;
  readonly engineKind: EngineKind;
  readonly installId: string;
  readonly assigned: ReadonlyMap<string, AssignedInstance>;
  /** By instance id, of any install: others' are seen and left alone. */
  readonly containers: ReadonlyMap<string, readonly ObservedContainer[]>;
  readonly history: ReadonlyMap<string, InstanceHistory>;
  /** Instances that the control plane, asked, does not know. */
  readonly condemned: ReadonlySet<string>;
  readonly askedAtMs: ReadonlyMap<string, number>;
  readonly networkReady: boolean;
  readonly images: ReadonlySet<string>;
  /** Name → instance that holds or will hold it; an empty text for containers that are not ours. */
  readonly takenNames: ReadonlyMap<string, string>;
  readonly volume: (volumeId: string) => MountState;
  /** Where folders of the host are held for containers. */
  readonly heldFolder: string;
  /** Until when an instance that was ordered to stop at that time runs on, so that others know that it leaves. Undefined: nobody knows it. */
  readonly drainsUntilMs?: (instanceId: string, orderedMs: number) => number | undefined;
  /** Whether a deployment is reached by its name; undefined: that is not known here, or not to be waited for. */
  readonly nameAnswers?: (name: string) => boolean | undefined;
}

/** Names are asked for so often: what keeps one from answering may end without a word. */
const NAME_MS = 1_000;
/** Long enough for a pull to end between `resolve` and `create`, short enough that a rotation is not missed. */
export const RESOLVED_FRESH_MS = 30_000;
const ASK_AGAIN_MS = 10_000;
const MAX_ASKED = 500;
const DEFAULT_CHECK_INTERVAL_MS = 30_000;

/**
 * At most one step: the next is planned from what that one led to. Only two orders end a container: its instance is in the
 * assignment and wants none or another one, or the control plane, asked, said that it may go (fault F-29).
 */
export function planInstance(view: NodeView, instanceId: string): InstanceStep | undefined {
  const mine = (view.containers.get(instanceId) ?? []).filter((one) => one.installId === view.installId);
  const assigned = view.assigned.get(instanceId);
  if (assigned !== undefined && assigned.wanted === 'run') return planRun(view, assigned, mine);
  if (assigned === undefined && !view.condemned.has(instanceId)) return undefined;
  if (waits(view, instanceId) || view.nowMs < (drainedAtMs(view, instanceId, mine) ?? -Infinity))
    return undefined;
  return discardFirst(mine);
}

/** Of one that is ordered to stop. What the control plane does not know, and what may no longer write its volume, ends at once. */
function drainedAtMs(
  view: NodeView,
  instanceId: string,
  mine: readonly ObservedContainer[],
): number | undefined {
  const orderedMs = view.history.get(instanceId)?.stopOrderedAtMs;
  if (orderedMs === undefined || !mine.some(({ status }) => status === 'running')) return undefined;
  return view.drainsUntilMs?.(instanceId, orderedMs);
}

export function planAsk(view: NodeView): readonly StepOf<'ask'>[] {
  const due = (id: string): boolean => view.nowMs - (view.askedAtMs.get(id) ?? -Infinity) >= ASK_AGAIN_MS;
  const instanceIds = [...view.containers]
    .filter(([id, containers]) => {
      const ours = containers.some((one) => one.installId === view.installId);
      return ours && !view.assigned.has(id) && !view.condemned.has(id) && due(id);
    })
    .map(([id]) => id)
    .slice(0, MAX_ASKED);
  return instanceIds.length === 0 ? [] : [{ kind: 'ask', instanceIds }];
}

function planRun(
  view: NodeView,
  assigned: AssignedInstance,
  mine: readonly ObservedContainer[],
): InstanceStep | undefined {
  const { container } = assigned;
  if (container === undefined || waits(view, assigned.id)) return undefined;
  const kept = currentContainer(assigned, mine);
  if (kept === undefined) {
    // It ran and was removed from outside: recreated, it would run twice.
    return assigned.once?.started === true ? undefined : planCreate(view, assigned, container, mine);
  }
  const surplus = discardFirst(mine.filter((one) => one.id !== kept.id));
  if (surplus !== undefined) return surplus;
  return assigned.once !== undefined && hasStarted(view, assigned.id, kept)
    ? planOnce(view, assigned, assigned.once, kept)
    : planKept(view, assigned, container, kept);
}

/** Everything that can fail without a container comes first, so that a running one is not given up for one that cannot be made. */
function planCreate(
  view: NodeView,
  assigned: AssignedInstance,
  container: AssignedContainer,
  stale: readonly ObservedContainer[],
): InstanceStep | undefined {
  const instanceId = assigned.id;
  const present = view.images.has(container.image);
  if (container.needsSecrets && !hasFreshSecrets(view, instanceId)) return { kind: 'resolve', instanceId };
  if (!present) return { kind: 'pull', instanceId, image: container.image };
  if (!view.networkReady) return { kind: 'ensureNetwork', instanceId };
  if (awaitedVolume(view, container) !== undefined) return undefined;
  if (stale.length > 0) return discardFirst(stale);
  return { kind: 'create', instanceId, name: chooseName(assigned.deployment, instanceId, view.takenNames) };
}

function planKept(
  view: NodeView,
  assigned: AssignedInstance,
  container: AssignedContainer,
  kept: ObservedContainer,
): InstanceStep | undefined {
  const target = { instanceId: assigned.id, containerId: kept.id };
  const awaited = awaitedVolume(view, container);
  if (awaited !== undefined) return planWithout(awaited, kept);
  const binds = bindsOf(container);
  // The engine would start it through names that may lead elsewhere by then.
  if (binds.length > 0 && kept.restartsItself && kept.status !== 'dead' && kept.status !== 'removing')
    return { kind: 'takeOver', ...target };
  const held = isHeld(view.heldFolder, assigned.id, binds, kept);
  switch (kept.status) {
    case 'created':
      if (!held) return { kind: 'remove', ...target };
      if (!view.networkReady) return { kind: 'ensureNetwork', instanceId: assigned.id };
      if (awaitsName(view, assigned, container)) return undefined;
      // A start that keeps failing may be due to what the container was made with, e.g. a network that is gone.
      return isWornOut(view, assigned.id) ? { kind: 'remove', ...target } : { kind: 'start', ...target };
    case 'exited':
      if (view.nowMs < restartAtMs(view, assigned.id)) return undefined;
      // It is down already: recreated, it gets what was checked. A running one is left as it is.
      if (!held) return { kind: 'remove', ...target };
      if (!view.networkReady) return { kind: 'ensureNetwork', instanceId: assigned.id };
      return { kind: 'start', ...target };
    case 'dead':
      return { kind: 'remove', ...target };
    case 'running':
      return isCheckDue(view, assigned.id, container) ? { kind: 'healthcheckNow', ...target } : undefined;
    case 'paused':
    case 'restarting':
    case 'removing':
      return undefined;
  }
}

/** What is known without a session: what ran here by the last orders, and what its containers do. */
export interface DisconnectedView
  extends Pick<NodeView, 'nowMs' | 'containers' | 'history' | 'volume' | 'heldFolder'> {
  /** Before that a session may still come, with newer orders. */
  readonly fromMs: number;
}

/**
 * Without a session nothing is made or ended. Containers that the engine may not start again are started by what the agent
 * remembers of them, as the engine would have: after they ended, and after a restart of the machine.
 */
export function planDisconnected(view: DisconnectedView, record: BindRecord): InstanceStep | undefined {
  const kept = restartable(view, record);
  if (kept === undefined || view.nowMs < disconnectedAtMs(view, record.instanceId)) return undefined;
  return { kind: 'start', instanceId: record.instanceId, containerId: kept.id };
}

export function disconnectedDueMs(view: DisconnectedView, record: BindRecord): number | undefined {
  return restartable(view, record) === undefined ? undefined : disconnectedAtMs(view, record.instanceId);
}

function restartable(view: DisconnectedView, record: BindRecord): ObservedContainer | undefined {
  const { instanceId, owner, once, volumeIds, binds } = record;
  const mine = (view.containers.get(instanceId) ?? []).filter((one) => one.installId === owner.installId);
  const kept = currentContainer(record, mine);
  const ready = volumeIds.every((id) => view.volume(id).kind === 'ready');
  const startable = kept?.status === 'exited' && isHeld(view.heldFolder, instanceId, binds, kept);
  return !once && ready && startable ? kept : undefined;
}

function disconnectedAtMs(view: DisconnectedView, instanceId: string): number {
  const failedUntilMs = view.history.get(instanceId)?.failure?.retryAtMs ?? -Infinity;
  return Math.max(view.fromMs, restartAtMs(view, instanceId), failedUntilMs);
}

/** From what this agent did or sees: a container that ended at once may still be known as created. */
function hasStarted(view: NodeView, instanceId: string, kept: ObservedContainer | undefined): boolean {
  return kept?.status !== 'created' || view.history.get(instanceId)?.wasStarted === true;
}

/** Runs to its end, which may be brought about, and then stays: the control plane says when it may go. */
function planOnce(
  view: NodeView,
  { id: instanceId }: AssignedInstance,
  once: AssignedOnce,
  kept: ObservedContainer,
): InstanceStep | undefined {
  if (kept.status !== 'running' && kept.status !== 'paused') return undefined;
  const isDue = once.end === true || view.nowMs >= (timeoutAtMs(view, instanceId, once) ?? Infinity);
  return isDue ? { kind: 'end', instanceId, containerId: kept.id } : undefined;
}

function timeoutAtMs(view: NodeView, instanceId: string, { timeoutMs }: AssignedOnce): number | undefined {
  const since = view.history.get(instanceId)?.runningSinceMs;
  return since === undefined || timeoutMs === undefined ? undefined : since + timeoutMs;
}

/** What this node may no longer write ends its container; one that is only not ready yet leaves it as it is. */
function planWithout(awaited: MountState, kept: ObservedContainer): InstanceStep | undefined {
  const runs = kept.status === 'running' || kept.status === 'restarting' || kept.status === 'paused';
  return awaited.kind === 'lost' && runs ? discardFirst([kept]) : undefined;
}

/** The first of its volumes that is not there, if any. What needs nothing prepared is always there. */
export function awaitedVolume(
  { volume }: Pick<NodeView, 'volume'>,
  { mounts }: Pick<AssignedContainer, 'mounts'>,
): Exclude<MountState, { readonly kind: 'ready' }> | undefined {
  for (const { kind, volumeId } of mounts) {
    const state = kind === 'volume' ? volume(volumeId) : undefined;
    if (state !== undefined && state.kind !== 'ready') return state;
  }
  return undefined;
}

/** Of those that it depends on. The control plane saw that one is healthy; from here it may not be reached yet, or not at all. */
export function awaitedName(
  { nameAnswers }: Pick<NodeView, 'nameAnswers'>,
  { after = [] }: Pick<AssignedContainer, 'after'>,
): { readonly reason: string; readonly message: string } | undefined {
  const name = after.find((one) => nameAnswers?.(one) === false);
  if (name === undefined) return undefined;
  return {
    reason: 'dependency_unreachable',
    message: `waiting for ${name}, which is healthy but not reached from this node over the tenant's network; berth network show names the ways between nodes`,
  };
}

/** Only the first container waits: one that ran is not kept down by a dependency that is down. */
function awaitsName(view: NodeView, { attempt }: AssignedInstance, container: AssignedContainer): boolean {
  return attempt === 0 && awaitedName(view, container) !== undefined;
}

/** A running container before one that does not run, an older one before a younger: both agents of a restart choose alike. */
export function currentContainer(
  assigned: Pick<AssignedInstance, 'specHash' | 'attempt'>,
  mine: readonly ObservedContainer[],
): ObservedContainer | undefined {
  const current = mine.filter((one) => isCurrent(assigned, one) && one.status !== 'removing');
  return current.toSorted((a, b) => rank(a) - rank(b) || (a.id < b.id ? -1 : 1))[0];
}

export function isCurrent(
  assigned: Pick<AssignedInstance, 'specHash' | 'attempt'>,
  container: Pick<ObservedContainer, 'specHash' | 'attempt'>,
): boolean {
  return container.specHash === assigned.specHash && container.attempt === assigned.attempt;
}

function rank(container: ObservedContainer): number {
  if (container.status === 'running') return 0;
  return container.status === 'created' || container.status === 'dead' ? 2 : 1;
}

function discardFirst(containers: readonly ObservedContainer[]): InstanceStep | undefined {
  const one = containers.find(({ status }) => status !== 'removing');
  if (one === undefined) return undefined;
  const target = { instanceId: one.instanceId, containerId: one.id };
  switch (one.status) {
    case 'running':
    case 'paused':
    case 'restarting':
      return { kind: 'stop', ...target };
    default:
      return { kind: 'remove', ...target };
  }
}

function waits(view: NodeView, instanceId: string): boolean {
  return view.nowMs < (view.history.get(instanceId)?.failure?.retryAtMs ?? -Infinity);
}

const WORN_OUT = 3;

function isWornOut(view: NodeView, instanceId: string): boolean {
  const failure = view.history.get(instanceId)?.failure;
  return failure?.step === 'start' && failure.count % WORN_OUT === 0;
}

function hasFreshSecrets(view: NodeView, instanceId: string): boolean {
  const at = view.history.get(instanceId)?.resolvedAtMs;
  return at !== undefined && view.nowMs - at < RESOLVED_FRESH_MS;
}

function isCheckDue(view: NodeView, instanceId: string, container: AssignedContainer): boolean {
  return view.nowMs >= (checkAtMs(view, instanceId, container) ?? Infinity);
}

/** Undefined: Docker runs checks on its own. */
export function checkAtMs(
  view: Pick<NodeView, 'engineKind' | 'history'>,
  instanceId: string,
  { healthCheck }: AssignedContainer,
): number | undefined {
  if (view.engineKind !== 'podman' || healthCheck === undefined) return undefined;
  const last = view.history.get(instanceId)?.checkedAtMs ?? -Infinity;
  return last + (healthCheck.intervalMs ?? DEFAULT_CHECK_INTERVAL_MS);
}

const RESTART_BACK_OFF = { baseMs: 100, capMs: 60_000 };

/** What the engine's restart policy leaves down is started again here, at the engine's own pace. */
export function restartAtMs(view: Pick<NodeView, 'history' | 'nowMs'>, instanceId: string): number {
  const endings = recentEndings(view.history.get(instanceId) ?? NO_HISTORY, view.nowMs);
  const last = endings.at(-1);
  return last === undefined ? -Infinity : last.atMs + backOffMs(endings.length, RESTART_BACK_OFF);
}

/** When time alone will bring a step for an instance that has none now. */
export function nextDueMs(view: NodeView, instanceId: string): number | undefined {
  const assigned = view.assigned.get(instanceId);
  const mine = (view.containers.get(instanceId) ?? []).filter((one) => one.installId === view.installId);
  if (assigned?.wanted === 'stop') return drainedAtMs(view, instanceId, mine);
  if (assigned?.container === undefined) return undefined;
  const kept = currentContainer(assigned, mine);
  if (kept?.status === 'created' && awaitsName(view, assigned, assigned.container))
    return view.nowMs + NAME_MS;
  if (assigned.once !== undefined && hasStarted(view, instanceId, kept))
    return kept?.status === 'running' ? timeoutAtMs(view, instanceId, assigned.once) : undefined;
  if (kept?.status === 'exited') return restartAtMs(view, instanceId);
  return kept?.status === 'running' ? checkAtMs(view, instanceId, assigned.container) : undefined;
}

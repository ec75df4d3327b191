import type { DeploymentSpec, UpdatePolicy } from '../../model/deployment.ts';
import type { InstanceState, InstanceStanding } from './instance-state.ts';

export interface Budget {
  readonly desired: number;
  /** How many may exist above the wanted number while an update runs. */
  readonly maxSurge: number;
  /** How many have to stay available, if they are. */
  readonly minAvailable: number;
}

/**
 * At least one available instance is never given up for one that is not, whatever `maxUnavailable` says; where that leaves no
 * room for a step, one may be added, or an update could neither start nor stop anything.
 */
export function budgetOf(desired: number, policy: UpdatePolicy | undefined): Budget {
  const minAvailable = Math.max(desired - (policy?.maxUnavailable ?? 0), Math.min(1, desired));
  const maxSurge = Math.max(policy?.maxSurge ?? 1, minAvailable >= desired ? 1 : 0);
  return { desired, maxSurge, minAvailable };
}

/** A read-write mount: two instances of different specs must never write at the same time. */
export function isSingleWriter(spec: Pick<DeploymentSpec, 'volumes'>): boolean {
  return spec.volumes?.some((mount) => !mount.readOnly) ?? false;
}

/** Takes something of its node that a second instance cannot have there. */
export function isExclusiveOnNode(spec: Pick<DeploymentSpec, 'name' | 'ports' | 'placement'>): boolean {
  return (
    (spec.ports?.some((port) => port.host !== undefined) ?? false) ||
    (spec.placement?.antiAffinity?.includes(spec.name) ?? false)
  );
}

export type Groups = Readonly<Record<InstanceStanding, readonly InstanceState[]>>;

/** Of a deployment without instances: the one that `groupByStanding` gives. */
export const NO_GROUPS: Groups = { keep: [], leave: [], lost: [], stopping: [], gone: [] };

export function groupByStanding(states: readonly InstanceState[]): Groups {
  if (states.length === 0) return NO_GROUPS;
  const groups: Record<InstanceStanding, InstanceState[]> = {
    keep: [],
    leave: [],
    lost: [],
    stopping: [],
    gone: [],
  };
  for (const state of states) groups[state.standing].push(state);
  return groups;
}

/** Too many of the current spec: a smaller `replicas`, or a node that came back after its instances were replaced. */
export function surplus(groups: Groups, desired: number): readonly InstanceState[] {
  return groups.keep.toSorted(leastUsefulFirst).slice(0, Math.max(0, groups.keep.length - desired));
}

/** How many instances of the current spec are missing and may be added now. */
export function missing(groups: Groups, budget: Budget, singleWriter: boolean): number {
  const wanted = Math.max(0, budget.desired - groups.keep.length);
  if (!singleWriter) {
    return Math.min(
      wanted,
      Math.max(0, budget.desired + budget.maxSurge - groups.keep.length - groups.leave.length),
    );
  }
  // An instance that was ordered to stop still writes until its agent reports it gone; a lost node's writer is fenced by the
  // volume, whose primary decides where the next one may be placed.
  const writing =
    groups.leave.length + groups.stopping.filter((state) => state.node.status !== 'lost').length;
  return writing === 0 ? wanted : 0;
}

/**
 * Which of the leaving instances may stop without going below the minimum: first those that are of no use, then the newest.
 * Instances of the current spec that are not available yet are counted against it, as they may need the room to be replaced.
 */
export function dispensable(groups: Groups, budget: Budget): readonly InstanceState[] {
  const { keep, leave } = groups;
  const keepUnavailable = keep.filter((state) => !state.available).length;
  const room = Math.max(0, keep.length + leave.length - budget.minAvailable - keepUnavailable);
  // What remains of the room after the useless ones is exactly the number of available ones above the minimum.
  return leave.toSorted(leastUsefulFirst).slice(0, room);
}

/** Lost instances are given up only when every slot is filled: until then a returning node brings them back, unless it was fenced. */
export function replacedLost(groups: Groups, desired: number): readonly InstanceState[] {
  const available = groups.keep.filter((state) => state.available).length;
  return available >= desired ? groups.lost : groups.lost.filter((state) => state.fenced);
}

/**
 * A new instance fits nowhere because an old one holds what it needs. One at a time, and only when everything that was started
 * already is available, an old one makes room although that goes below the minimum: the alternative is to wait for ever.
 */
export function makesRoom(
  { keep, leave, stopping }: Groups,
  fitsInsteadOf: (state: InstanceState) => boolean,
): InstanceState | undefined {
  const isUnderWay =
    keep.some((state) => !state.available) || stopping.some((state) => state.node.status === 'ready');
  // A silent node answers again or is lost before long; going further below the minimum meanwhile would be hasty.
  if (isUnderWay || leave.some((state) => state.node.status === 'silent')) return undefined;
  return leave.toSorted(leastUsefulFirst).find(fitsInsteadOf);
}

export function leastUsefulFirst(a: InstanceState, b: InstanceState): number {
  if (a.available !== b.available) return a.available ? 1 : -1;
  if (a.healthy !== b.healthy) return a.healthy ? 1 : -1;
  // Ids sort by the time they were made.
  return a.record.id < b.record.id ? 1 : -1;
}

import type { DeploymentSpec } from '../../model/deployment.ts';
import type { InstanceRecord } from '../../model/instance.ts';
import type { InstanceState } from './instance-state.ts';
import type { Placed, PlacementRefusal, Placer } from './placer.ts';
import {
  type Budget,
  budgetOf,
  dispensable,
  type Groups,
  isExclusiveOnNode,
  isSingleWriter,
  makesRoom,
  missing,
  replacedLost,
  surplus,
} from './rollout.ts';

/** What one commit may carry; etcd refuses transactions of more than 128 operations. */
export const BATCH = { changes: 80, transitions: 16, creates: 40, removes: 20, adopts: 10 } as const;
const CREATE_COST = 2;
const STOP_COST = 2;
const REMOVE_COST = 4;

export interface Changes {
  readonly create: readonly Placed[];
  readonly stop: readonly InstanceState[];
  readonly remove: readonly InstanceRecord[];
  readonly refusal?: PlacementRefusal;
  /** The one of `stop` that stops before its successor could start. */
  readonly makesRoom?: InstanceState;
  readonly more: boolean;
}

export interface ChangeInput {
  /** No gate is closed: instances may be created. */
  readonly open: boolean;
  readonly placer: Placer;
}

export function planChanges(input: ChangeInput, spec: DeploymentSpec, groups: Groups): Changes {
  const budget = budgetOf(spec.replicas, spec.update);
  const remove = removable(groups);
  let room = BATCH.changes - remove.length * REMOVE_COST;
  const wanted = input.open ? missing(groups, budget, isSingleWriter(spec)) : 0;
  const count = Math.min(wanted, BATCH.creates, Math.floor(room / CREATE_COST));
  const { create, refusal } = placeMany(input.placer, count);
  room -= create.length * CREATE_COST;
  // What is started now comes first: nothing makes room before that is available.
  const stops = planStops(input, spec, groups, budget, create.length === 0 ? refusal : undefined);
  const stop = stops.slice(0, Math.floor(room / STOP_COST));
  const more =
    stop.length < stops.length ||
    (refusal === undefined && count < wanted) ||
    remove.length === BATCH.removes;
  const first = stop.find((state) => isStopFirst(state, spec, groups, budget));
  return { create, stop, remove, ...(refusal && { refusal }), ...(first && { makesRoom: first }), more };
}

/** A leaving instance that goes although that leaves fewer than the minimum; writers do so by their nature. */
function isStopFirst(state: InstanceState, spec: DeploymentSpec, groups: Groups, budget: Budget): boolean {
  if (budget.desired === 0 || isSingleWriter(spec)) return false;
  return groups.leave.includes(state) && !dispensable(groups, budget).includes(state);
}

function placeMany(
  placer: Placer,
  count: number,
): { readonly create: Placed[]; readonly refusal?: PlacementRefusal } {
  const create: Placed[] = [];
  while (create.length < count) {
    const answer = placer.place();
    if (!answer.ok) return { create, refusal: answer };
    create.push(answer);
  }
  return { create };
}

function planStops(
  input: ChangeInput,
  spec: DeploymentSpec,
  groups: Groups,
  budget: Budget,
  refusal: PlacementRefusal | undefined,
): readonly InstanceState[] {
  const { keep, leave, lost } = groups;
  if (keep.length + leave.length + lost.length === 0) return [];
  if (budget.desired === 0) return [...keep, ...leave, ...lost];
  const excess = surplus(groups, budget.desired);
  const kept: Groups = { ...groups, keep: keep.filter((state) => !excess.includes(state)) };
  return [
    ...excess,
    ...replacedLost(kept, budget.desired),
    ...stopLeaving(input, spec, kept, budget, refusal),
  ];
}

function stopLeaving(
  { placer, open }: ChangeInput,
  spec: DeploymentSpec,
  groups: Groups,
  budget: Budget,
  refusal: PlacementRefusal | undefined,
): readonly InstanceState[] {
  if (groups.leave.length === 0) return [];
  const fits = (state: InstanceState) => placer.fitsInsteadOf(state.record);
  if (isSingleWriter(spec)) {
    // Stop-first, but not before it is known that the successor has a place and may start.
    const successor = groups.keep.length >= budget.desired || (open && groups.leave.some(fits));
    return successor ? groups.leave : [];
  }
  const spare = dispensable(groups, budget);
  // Where the quota is reached exactly, no update would ever make a step otherwise.
  if (spare.length > 0 || refusal === undefined) return spare;
  if (!isExclusiveOnNode(spec) && refusal.quota !== true) return spare;
  const one = makesRoom(groups, fits);
  return one === undefined ? [] : [one];
}

/** The container is gone, or the node that had it. */
function removable(groups: Groups): readonly InstanceRecord[] {
  if (groups.stopping.length + groups.gone.length === 0) return [];
  const removed = groups.stopping.filter((state) => state.observation?.phase === 'removed');
  return [...removed, ...groups.gone].slice(0, BATCH.removes).map((state) => state.record);
}

/** The deployment is gone: everything stops, whatever it runs. */
export function planRemoval(groups: Groups): Changes {
  const remove = removable(groups);
  const running = [...groups.keep, ...groups.leave, ...groups.lost];
  const stop = running.slice(0, Math.floor((BATCH.changes - remove.length * REMOVE_COST) / STOP_COST));
  return { create: [], stop, remove, more: stop.length < running.length || remove.length === BATCH.removes };
}

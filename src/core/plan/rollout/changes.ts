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

/** What the plan of one commit may change, so that it takes no more writes than the store has for it. */
export interface Batch {
  readonly changes: number;
  readonly transitions: number;
  readonly creates: number;
  readonly removes: number;
  readonly adopts: number;
}

/** Together fewer than the 120 writes that every store takes in one commit. */
export const SMALL_BATCH: Batch = { changes: 80, transitions: 16, creates: 40, removes: 20, adopts: 10 };

/** A plan walks all instances of its deployment: where the store takes so many times as much at once, a large one is planned fewer times. */
export function batchOf(times: number): Batch {
  const { changes, transitions, creates, removes, adopts } = SMALL_BATCH;
  return {
    changes: changes * times,
    transitions: transitions * times,
    creates: creates * times,
    removes: removes * times,
    adopts: adopts * times,
  };
}

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
  readonly batch: Batch;
}

export function planChanges(input: ChangeInput, spec: DeploymentSpec, groups: Groups): Changes {
  const { batch } = input;
  const budget = budgetOf(spec.replicas, spec.update);
  const remove = removable(groups, batch);
  let room = batch.changes - remove.length * REMOVE_COST;
  const wanted = input.open ? missing(groups, budget, isSingleWriter(spec)) : 0;
  const count = Math.min(wanted, batch.creates, Math.floor(room / CREATE_COST));
  const { create, refusal } = placeMany(input.placer, count);
  room -= create.length * CREATE_COST;
  // What is started now comes first: nothing makes room before that is available.
  const stops = planStops(input, spec, groups, budget, create.length === 0 ? refusal : undefined);
  const stop = stops.slice(0, Math.floor(room / STOP_COST));
  const more =
    stop.length < stops.length ||
    (refusal === undefined && count < wanted) ||
    remove.length === batch.removes;
  const first = stopsFirst(stop, spec, groups, budget);
  return { create, stop, remove, ...(refusal && { refusal }), ...(first && { makesRoom: first }), more };
}

/** A leaving instance that goes although that leaves fewer than the minimum; writers do so by their nature. */
function stopsFirst(
  stop: readonly InstanceState[],
  spec: DeploymentSpec,
  groups: Groups,
  budget: Budget,
): InstanceState | undefined {
  if (stop.length === 0 || budget.desired === 0 || isSingleWriter(spec)) return undefined;
  const leaving = new Set(groups.leave);
  const spare = new Set(dispensable(groups, budget));
  return stop.find((state) => leaving.has(state) && !spare.has(state));
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
  const excess = new Set(surplus(groups, budget.desired));
  const kept: Groups = { ...groups, keep: keep.filter((state) => !excess.has(state)) };
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
function removable(groups: Groups, batch: Batch): readonly InstanceRecord[] {
  if (groups.stopping.length + groups.gone.length === 0) return [];
  const removed = groups.stopping.filter((state) => state.observation?.phase === 'removed');
  return [...removed, ...groups.gone].slice(0, batch.removes).map((state) => state.record);
}

/** The deployment is gone: everything stops, whatever it runs. */
export function planRemoval(groups: Groups, batch: Batch): Changes {
  const remove = removable(groups, batch);
  const running = [...groups.keep, ...groups.leave, ...groups.lost];
  const stop = running.slice(0, Math.floor((batch.changes - remove.length * REMOVE_COST) / STOP_COST));
  return { create: [], stop, remove, more: stop.length < running.length || remove.length === batch.removes };
}

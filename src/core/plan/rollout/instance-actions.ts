import type { InstanceId, NodeName } from '../../model/ids.ts';
import type { InstanceState } from './instance-state.ts';
import { type Groups, leastUsefulFirst, surplus } from './rollout.ts';

/** What a change does to one instance. */
export interface InstanceAction {
  /** `keep`: it is left alone. */
  readonly action: 'create' | 'replace' | 'stop' | 'keep';
  /** Absent: it does not exist yet. */
  readonly instance?: InstanceId;
  /** Where it runs. */
  readonly node?: NodeName;
  /** Where the new one goes; absent: no node takes it, and an old one stays until one does. */
  readonly to?: NodeName;
  /** Whether the new one is there before the old one stops. */
  readonly how?: 'start-first' | 'stop-first';
  readonly why: string;
}

export interface ActionInput {
  readonly desired: number;
  /** Before the change; absent: there was no deployment. */
  readonly desiredBefore: number | undefined;
  readonly groups: Groups;
  /** Of the canary, which the change leaves alone or ends. */
  readonly canary: readonly InstanceState[];
  readonly canaryEnds: boolean;
  /** Nodes of the new instances that have a place. */
  readonly places: readonly NodeName[];
  /** Why no successor runs beside an old one; absent: it does. */
  readonly stopFirst: string | undefined;
  /** Which fields of its spec the change touches; empty: none. */
  readonly changedOf: (state: InstanceState) => readonly string[];
}

/** What happens to each instance, in the order of their ids; then what is new. */
export function instanceActions(input: ActionInput): readonly InstanceAction[] {
  const { desired, groups, canary, canaryEnds } = input;
  const excess = surplus(groups, desired);
  const leaving = [...groups.leave, ...groups.lost, ...groups.gone].sort(leastUsefulFirst);
  const wanted = Math.max(0, desired - groups.keep.length);
  const replaced = leaving.slice(Math.max(0, leaving.length - wanted));
  const places = [...input.places];
  const fewer = fewerText(input);
  const known = [
    ...groups.keep.map(
      (state): InstanceAction =>
        excess.includes(state) ? of(state, 'stop', fewer) : of(state, 'keep', 'nothing of it changes'),
    ),
    ...leaving
      .filter((state) => !replaced.includes(state))
      .map((state) => of(state, 'stop', leavesAnyway(state) ?? fewer)),
    ...replacements(replaced, places, input),
    ...canary.map((state) =>
      canaryEnds
        ? of(state, 'stop', 'the canary ends: the deployment that it runs beside changes')
        : of(state, 'keep', 'it is the canary, beside what changes'),
    ),
  ].sort((a, b) => ((a.instance ?? '') < (b.instance ?? '') ? -1 : 1));
  const missing = wanted - replaced.length;
  const why = input.desiredBefore === undefined ? 'it is new' : moreText(input);
  const created = Array.from({ length: missing }, (): InstanceAction => {
    const to = places.shift();
    return { action: 'create', ...(to !== undefined && { to }), why };
  });
  return [...known, ...created];
}

function of(
  { record }: InstanceState,
  action: InstanceAction['action'],
  why: string,
): InstanceAction & { readonly instance: InstanceId } {
  return { action, instance: record.id, node: record.nodeId, why };
}

/** Each gets the place on its own node where there is one: which successor is whose is not decided anywhere else. */
function replacements(
  replaced: readonly InstanceState[],
  places: NodeName[],
  { stopFirst, changedOf }: ActionInput,
): readonly InstanceAction[] {
  const stays = replaced.map(({ record }) => takeOut(places, record.nodeId));
  return replaced.map((state, at) => {
    const to = stays[at] ?? places.shift();
    const why = [
      leavingText(state, changedOf(state)),
      ...(to === undefined ? ['it stays until a node takes its successor'] : []),
      ...(to !== undefined && state.standing === 'leave' && stopFirst !== undefined ? [stopFirst] : []),
    ].join('; ');
    const how = stopFirst === undefined ? ('start-first' as const) : ('stop-first' as const);
    return {
      ...of(state, 'replace', why),
      ...(to !== undefined && { to }),
      ...(to !== undefined && state.standing === 'leave' && { how }),
    };
  });
}

function takeOut(places: NodeName[], node: NodeName): NodeName | undefined {
  const at = places.indexOf(node);
  return at === -1 ? undefined : places.splice(at, 1)[0];
}

const MAX_FIELDS = 3;

function leavingText(state: InstanceState, changed: readonly string[]): string {
  if (changed.length > 0) {
    const more = changed.length - MAX_FIELDS;
    return `${changed.slice(0, MAX_FIELDS).join(', ')}${more > 0 ? ` and ${more} more` : ''} changed`;
  }
  return leavesAnyway(state) ?? (state.current ? 'a restart was asked for' : 'it runs an earlier spec');
}

/** What makes it leave whatever the change says. */
function leavesAnyway({ record, node, misplaced, fenced }: InstanceState): string | undefined {
  if (fenced) return 'its volume moves to another node';
  if (node.status === 'gone') return `node ${record.nodeId} is not enrolled any more`;
  if (node.status === 'lost') return `node ${record.nodeId} is lost`;
  if (misplaced !== undefined) return misplaced;
  if (node.draining) return `node ${record.nodeId} is being drained`;
  return record.leaving;
}

function fewerText({ desired, desiredBefore }: ActionInput): string {
  if (desiredBefore !== undefined && desiredBefore > desired) return `replicas ${desiredBefore} → ${desired}`;
  return `more run than the ${desired} that are wanted`;
}

function moreText({ desired, desiredBefore }: ActionInput): string {
  if (desiredBefore !== undefined && desiredBefore < desired) return `replicas ${desiredBefore} → ${desired}`;
  return `fewer run than the ${desired} that are wanted`;
}

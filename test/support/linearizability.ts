/**
 * Whether a history of calls on one record could have happened one after the other, each at some moment between its start and its
 * end (Wing and Gong's search, with Lowe's memory of what was tried). Records are independent, so each is searched alone. A call
 * whose answer was lost has no end: it took effect at any later moment, or never.
 */

export type RecordCall =
  | { readonly kind: 'read' }
  | { readonly kind: 'create'; readonly value: string }
  | { readonly kind: 'update'; readonly value: string; readonly ifMatch?: string }
  | { readonly kind: 'delete'; readonly ifMatch?: string };

export type RecordAnswer =
  | { readonly kind: 'found'; readonly value: string; readonly tag: string }
  | { readonly kind: 'written'; readonly tag: string }
  | { readonly kind: 'deleted' }
  | { readonly kind: 'absent' }
  | { readonly kind: 'exists' }
  | { readonly kind: 'mismatch' };

export interface RecordedCall {
  readonly key: string;
  readonly call: RecordCall;
  readonly startMs: number;
  /** Absent with `answer`: nobody knows whether it took effect. */
  readonly endMs?: number;
  readonly answer?: RecordAnswer;
}

/** The tag of a write whose answer was lost is not known until somebody reads it. */
type State = { readonly value: string; readonly tag: string | undefined } | undefined;

const NOT_POSSIBLE = Symbol('not possible');

/** Keys whose calls fit no order. */
export function notLinearizable(history: readonly RecordedCall[]): readonly string[] {
  const byKey = Map.groupBy(history, ({ key }) => key);
  return [...byKey].filter(([, calls]) => !isLinearizable(calls)).map(([key]) => key);
}

export function isLinearizable(history: readonly RecordedCall[]): boolean {
  const calls = history.toSorted((a, b) => a.startMs - b.startMs);
  const tried = new Set<string>();
  const done = new Set<number>();

  function search(low: number, state: State): boolean {
    let first = low;
    while (done.has(first)) first += 1;
    if (calls.every((call, at) => at < first || done.has(at) || call.answer === undefined)) return true;
    const ahead = [...done].filter((at) => at > first).toSorted((a, b) => a - b);
    const memory = `${first}|${ahead.join(',')}|${stateText(state)}`;
    if (tried.has(memory)) return false;
    tried.add(memory);
    for (const at of candidates(first)) {
      const call = calls[at];
      if (call === undefined) continue;
      const next = apply(state, call);
      if (next === NOT_POSSIBLE) continue;
      done.add(at);
      if (search(first, next)) return true;
      done.delete(at);
    }
    return false;
  }

  /** What began before the earliest end of all that is left may be the next. */
  function candidates(first: number): readonly number[] {
    let earliestEnd = Infinity;
    const found: number[] = [];
    for (let at = first; at < calls.length; at += 1) {
      const call = calls[at];
      if (call === undefined || done.has(at)) continue;
      if (call.startMs > earliestEnd) break;
      earliestEnd = Math.min(earliestEnd, call.endMs ?? Infinity);
      found.push(at);
    }
    return found.filter((at) => (calls[at]?.startMs ?? Infinity) <= earliestEnd);
  }

  return search(0, undefined);
}

function stateText(state: State): string {
  return state === undefined ? '' : `${state.tag ?? '?'} ${state.value}`;
}

function apply(state: State, { call, answer }: RecordedCall): State | typeof NOT_POSSIBLE {
  if (answer === undefined) return applyUnanswered(state, call);
  switch (answer.kind) {
    case 'found':
      if (state?.value !== answer.value) return NOT_POSSIBLE;
      return state.tag === undefined || state.tag === answer.tag
        ? { value: answer.value, tag: answer.tag }
        : NOT_POSSIBLE;
    case 'absent':
      return state === undefined ? state : NOT_POSSIBLE;
    case 'exists':
      return state === undefined ? NOT_POSSIBLE : state;
    case 'mismatch': {
      const ifMatch = 'ifMatch' in call ? call.ifMatch : undefined;
      return state !== undefined && ifMatch !== undefined && state.tag !== ifMatch ? state : NOT_POSSIBLE;
    }
    case 'deleted':
      return call.kind === 'delete' && state !== undefined && matches(state, call.ifMatch)
        ? undefined
        : NOT_POSSIBLE;
    case 'written':
      return isWritable(state, call) ? { value: call.value, tag: answer.tag } : NOT_POSSIBLE;
  }
}

function applyUnanswered(state: State, call: RecordCall): State | typeof NOT_POSSIBLE {
  if (call.kind === 'read') return state;
  if (call.kind === 'delete')
    return state !== undefined && matches(state, call.ifMatch) ? undefined : NOT_POSSIBLE;
  return isWritable(state, call) ? { value: call.value, tag: undefined } : NOT_POSSIBLE;
}

function isWritable(state: State, call: RecordCall): call is Extract<RecordCall, { readonly value: string }> {
  if (call.kind === 'create') return state === undefined;
  return call.kind === 'update' && state !== undefined && matches(state, call.ifMatch);
}

/** Whoever knows a tag has read it, and then the state knows it too. */
function matches(state: NonNullable<State>, ifMatch: string | undefined): boolean {
  return ifMatch === undefined || state.tag === ifMatch;
}

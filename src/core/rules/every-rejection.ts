import type { Rejection } from '../rejections/rejection.ts';

/** Where the items of a list moved up because one was taken out, and from which on. */
interface Move {
  readonly list: string;
  readonly from: number;
}

interface Member {
  readonly parent: object;
  readonly key: string | number;
  /** The path to the parent. */
  readonly at: string;
}

/** Keys may hold dots, so that the longest one that fits is meant. */
function keyIn(parent: object, path: string): string | undefined {
  const fits = (key: string): boolean =>
    key !== '' && path.startsWith(key) && ['', '.', '['].includes(path.charAt(key.length));
  return Object.keys(parent)
    .filter(fits)
    .toSorted((a, b) => b.length - a.length)[0];
}

/** Where the path of a rejection leads to; undefined: nothing is there. */
function placeOf(parent: unknown, path: string, at = ''): Member | undefined {
  if (typeof parent !== 'object' || parent === null) return undefined;
  const item = Array.isArray(parent) ? /^\[(\d{1,9})\]/.exec(path) : null;
  const key = item === null ? keyIn(parent, path) : Number(item[1]);
  if (key === undefined || !Object.hasOwn(parent, key)) return undefined;
  const below = path.slice(item === null ? String(key).length : item[0].length).replace(/^\./, '');
  if (below === '') return { parent, key, at };
  const step = typeof key === 'number' ? `[${key}]` : `${at === '' ? '' : '.'}${key}`;
  return placeOf(Reflect.get(parent, key), below, `${at}${step}`);
}

/** Takes out what a rejection names; of what is missing, what it is missing in. */
function takeOut(document: object, path: string): { readonly move?: Move } | undefined {
  const place = placeOf(document, path);
  if (place === undefined) {
    const end = Math.max(path.lastIndexOf('.'), path.endsWith(']') ? path.lastIndexOf('[') : -1);
    return end > 0 ? takeOut(document, path.slice(0, end)) : undefined;
  }
  const { parent, key, at } = place;
  if (!Array.isArray(parent)) {
    Reflect.deleteProperty(parent, key);
    return {};
  }
  parent.splice(Number(key), 1);
  return { move: { list: at, from: Number(key) } };
}

/** As the field is called in what was sent: items before it were taken out. */
function asSentField(field: string, moves: readonly Move[]): string {
  return moves.toReversed().reduce((path, { list, from }) => {
    if (!path.startsWith(`${list}[`)) return path;
    const end = path.indexOf(']', list.length);
    const index = Number(path.slice(list.length + 1, end));
    return index >= from ? `${list}[${index + 1}]${path.slice(end + 1)}` : path;
  }, field);
}

/** What is left of a document, and where its parts were. */
export interface Left<T> {
  readonly value: T;
  readonly moves: readonly Move[];
}

/**
 * All that a judge refuses, not only the first: what it refuses is taken out, and it is asked again. Of the document itself nothing can
 * be taken out: there it ends. Answers what is left, or undefined when that is still refused. `told`: of a document that was altered, a
 * rejection as it is told.
 */
export function* everyRejection<T extends object>(
  { value, moves }: Left<T>,
  judge: (value: T) => Rejection | undefined,
  told: (rejection: Rejection) => Rejection = (rejection) => rejection,
): Generator<Rejection, Left<T> | undefined> {
  const moved: Move[] = [];
  const rest = structuredClone(value);
  for (let rejection = judge(rest); rejection !== undefined; rejection = judge(rest)) {
    const shown = told({ ...rejection, field: asSentField(rejection.field, moved) });
    yield { ...shown, field: asSentField(shown.field, moves) };
    const taken = takeOut(rest, rejection.field);
    if (taken === undefined) return undefined;
    if (taken.move) moved.push(taken.move);
  }
  return { value: rest, moves: [...moves, ...moved] };
}

/** As it was sent. */
export function whole<T>(value: T): Left<T> {
  return { value, moves: [] };
}

/** The field of a document that a rejection is about: `ports` of `ports[0].host`. */
export function topOf({ field }: Pick<Rejection, 'field'>): string {
  return field.split(/[.[]/, 1)[0] ?? field;
}

import { isRecord } from '../../core/model/values.ts';
import { fieldSteps } from './rejection.ts';

/** A description that is being written: as the wire carries it, with whatever has been entered so far. */
export type Draft = Readonly<Record<string, unknown>>;

type Container = Record<string, unknown>;

function isContainer(value: unknown): value is Container {
  return typeof value === 'object' && value !== null;
}

export function valueAt(draft: Draft, path: string): unknown {
  let at: unknown = draft;
  for (const step of fieldSteps(path)) {
    if (!isContainer(at) || !Object.hasOwn(at, step)) return undefined;
    at = at[step];
  }
  return at;
}

export function textAt(draft: Draft, path: string): string {
  const value = valueAt(draft, path);
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

/** None where there is no list. */
export function textsAt(draft: Draft, path: string): readonly string[] {
  const value = valueAt(draft, path);
  return Array.isArray(value) ? value.map(String) : [];
}

/** Empty where there is no map. */
export function recordAt(draft: Draft, path: string): Draft {
  const value = valueAt(draft, path);
  return isRecord(value) ? value : {};
}

function isEmpty(value: unknown): boolean {
  if (value === undefined || value === '') return true;
  return isContainer(value) && Object.keys(value).length === 0;
}

/** The draft with a value at a path. An empty value removes the field, and objects that became empty with it. */
export function withValue(draft: Draft, path: string, value: unknown): Draft {
  const [first, ...rest] = fieldSteps(path);
  if (first === undefined) return draft;
  const inner = draft[first];
  const next =
    rest.length === 0
      ? value
      : withValue(isContainer(inner) && !Array.isArray(inner) ? inner : {}, rest.join('.'), value);
  const { [first]: _before, ...others } = draft;
  if (isEmpty(next)) return others;
  // Fields keep their place, so that a description does not jump about while it is edited.
  return Object.hasOwn(draft, first) ? { ...draft, [first]: next } : { ...others, [first]: next };
}

/** A number where the text is one; anything else goes to the server as it is, which says what it expects. */
export function numberOrText(text: string): number | string | undefined {
  if (text.trim() === '') return undefined;
  const value = Number(text);
  return Number.isFinite(value) ? value : text;
}

export function listOrNothing(text: string, separator: RegExp | string): readonly string[] | undefined {
  const entries = text
    .split(separator)
    .map((entry) => entry.trim())
    .filter((entry) => entry !== '');
  return entries.length === 0 ? undefined : entries;
}

/** Whether a list comes back as it is, once it was shown as one text: an entry may be empty, begin with a space or have the separator in it. */
export function comesBack(entries: readonly string[], separator: string): boolean {
  const back = listOrNothing(entries.join(separator), separator) ?? [];
  return back.length === entries.length && back.every((entry, at) => entry === entries[at]);
}

/** Owned by the server, or an answer's alone: no part of a description. */
const NOT_WRITTEN = [
  'id',
  'tenantId',
  'revision',
  'specHash',
  'createdAt',
  'updatedAt',
  'status',
  'storedLabels',
  'imageDigest',
  'containerDefaults',
  'secretsVersion',
] as const;

/** The description inside a stored deployment. */
export function draftOf(stored: object): Draft {
  const draft: Container = { ...stored };
  for (const key of NOT_WRITTEN) delete draft[key];
  if (Array.isArray(draft['secrets']) && draft['secrets'].length === 0) delete draft['secrets'];
  return draft;
}

/**
 * The body of an update. A field that is not sent stays as it is, so one that was taken out of the description is sent as null:
 * the draft shows the whole, and what is not in it is removed.
 */
export function updateBody(before: Draft, draft: Draft): Draft {
  const lost = Object.keys(before).filter((key) => draft[key] === undefined);
  return { ...draft, ...Object.fromEntries(lost.map((key) => [key, key === 'secrets' ? [] : null])) };
}

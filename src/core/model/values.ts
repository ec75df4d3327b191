/** What is asked of values of unknown type, and of the keys of known ones. */

export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** For a list of words that is `as const`. */
export function isOneOf<const T>(list: readonly T[], value: unknown): value is T {
  return list.some((one) => one === value);
}

export function isIntegerWithin(value: unknown, min: number, max = Number.MAX_VALUE): value is number {
  return typeof value === 'number' && Number.isInteger(value) && value >= min && value <= max;
}

/** Of a literal or a record whose keys are all known: a value of a wider type may have more than its type says. */
export function keysOf<T extends object>(value: T): (keyof T & string)[] {
  return Object.keys(value) as (keyof T & string)[];
}

/** One member for each of the keys. */
export function recordOf<const K extends string, V>(keys: readonly K[], member: (key: K) => V): Record<K, V> {
  return Object.fromEntries(keys.map((key) => [key, member(key)])) as Record<K, V>;
}

/** The members of a JSON object; of anything else, none. Text that is no JSON throws. */
export function parsedRecord(text: string): Readonly<Record<string, unknown>> {
  const value: unknown = JSON.parse(text);
  return isRecord(value) ? value : {};
}

/** `exactOptionalPropertyTypes` knows no undefined in optional members: what is absent is left out. */
export function optional<K extends string, V>(key: K, value: V | undefined): { readonly [P in K]?: V } {
  return value === undefined ? {} : ({ [key]: value } as { readonly [P in K]?: V });
}

export function isTextRecord(value: unknown): value is Readonly<Record<string, string>> {
  return isRecord(value) && Object.values(value).every((member) => typeof member === 'string');
}

/** The texts of a list; of anything else, none. */
export function textsIn(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((one) => typeof one === 'string') : [];
}

/** The objects of a list; of anything else, none. */
export function recordsIn(value: unknown): Readonly<Record<string, unknown>>[] {
  return Array.isArray(value) ? value.filter(isRecord) : [];
}

/** `ENOENT` and the like, of an error of the system. */
export function errnoOf(error: unknown): string | undefined {
  return isRecord(error) && typeof error['code'] === 'string' ? error['code'] : undefined;
}

const MAX_FIELD_TEXT = 200;

/** Of what another program answered, bounded. */
export function fieldText(value: unknown, field: string): string | undefined {
  const text = isRecord(value) ? value[field] : undefined;
  return typeof text === 'string' ? text.slice(0, MAX_FIELD_TEXT) : undefined;
}

export function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** Undefined for text that is no JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

import { isRecord } from './values.ts';

/** JSON with keys sorted by their code units, as `sort` does, and without undefined members: equal values give equal text. */
export function canonicalJson(value: unknown): string {
  if (typeof value === 'string') return quoted(value);
  if (Array.isArray(value)) return `[${value.map((item) => canonicalJson(item ?? null)).join(',')}]`;
  if (isRecord(value)) {
    let members = '';
    for (const key of sorted(Object.keys(value))) {
      const member = value[key];
      if (member === undefined) continue;
      members += `${members === '' ? '' : ','}${quoted(key)}:${canonicalJson(member)}`;
    }
    return `{${members}}`;
  }
  return JSON.stringify(value) ?? 'null';
}

/** Means itself in JSON, as nearly every name does: that is seen sooner than it is written out. */
const PLAIN = /^[\w .,:;/@=+()-]*$/;

function quoted(text: string): string {
  return PLAIN.test(text) ? `"${text}"` : JSON.stringify(text);
}

/** A spec and a record have few members: so many are put in order faster than `sort` begins. */
const FEW = 24;

function sorted(keys: string[]): readonly string[] {
  if (keys.length > FEW) return keys.sort();
  for (let from = 1; from < keys.length; from += 1) {
    const key = keys[from] ?? '';
    let to = from;
    for (let before = keys[to - 1]; before !== undefined && before > key; before = keys[to - 1]) {
      keys[to] = before;
      to -= 1;
    }
    keys[to] = key;
  }
  return keys;
}

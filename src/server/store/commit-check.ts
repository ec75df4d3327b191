import type { Commit } from './kv.ts';

/**
 * Refuses what an adapter could only store by changing it or by choosing for the caller: text that has no UTF-8
 * form, an empty key, the same key written twice. These are faults of the calling code, so they throw.
 */
export function checkCommit(commit: Commit): void {
  const { puts = [], deletes = [] } = commit;
  for (const put of puts) {
    checkKey(put.key);
    if (!put.value.isWellFormed()) throw new TypeError(`the value of key ${put.key} has no UTF-8 form`);
  }
  for (const key of deletes) checkKey(key);
  const written = puts.length + deletes.length;
  if (written === 0) throw new TypeError('a commit must write at least one key');
  if (written > 1 && hasTwice([...puts.map(({ key }) => key), ...deletes]))
    throw new TypeError('a commit writes the same key twice');
}

/** So few are compared faster than they are sorted into chains. */
const FEW = 8;
/** Of more, those that somebody chose alike could make each chain a long one. */
const MANY = 1024;
/** Keys of a commit begin alike, and differ in their length or here. */
const LAST_CHARACTERS = 16;

/** A set would hash each key from its beginning, and grow from few places to many with each commit: most of what placing one instance spent on its check. */
function hasTwice(keys: readonly string[]): boolean {
  if (keys.length > MANY) return new Set(keys).size !== keys.length;
  if (keys.length <= FEW) return keys.some((key, at) => keys.indexOf(key) !== at);
  const places = 2 ** Math.ceil(Math.log2(keys.length));
  // One more than where the last key of a chain is; 0: none.
  const newest = new Uint16Array(places);
  const before = new Uint16Array(keys.length);
  return keys.some((key, at) => {
    const place = endingOf(key) & (places - 1);
    for (let next = newest[place] ?? 0; next > 0; next = before[next - 1] ?? 0)
      if (keys[next - 1] === key) return true;
    before[at] = newest[place] ?? 0;
    newest[place] = at + 1;
    return false;
  });
}

function endingOf(key: string): number {
  let sum = key.length;
  for (let at = Math.max(0, key.length - LAST_CHARACTERS); at < key.length; at += 1)
    sum = (Math.imul(sum, 31) + key.charCodeAt(at)) | 0;
  return sum ^ (sum >>> 15);
}

function checkKey(key: string): void {
  if (key === '') throw new TypeError('a key must not be empty');
  if (!key.isWellFormed()) throw new TypeError('a key has no UTF-8 form');
}

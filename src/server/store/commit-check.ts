import type { Commit, Put } from './kv.ts';

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
  if (written === 1) return;
  if (deletes.length === 0 && puts.length <= FEW) {
    if (puts.some(({ key }, at) => isBefore(puts, at, key))) throw new TypeError(TWICE);
    return;
  }
  const keys = new Set(deletes);
  for (const put of puts) keys.add(put.key);
  if (keys.size !== written) throw new TypeError(TWICE);
}

const TWICE = 'a commit writes the same key twice';
/** So few are compared faster than they are put into a set. */
const FEW = 8;

function isBefore(puts: readonly Put[], end: number, key: string): boolean {
  for (let at = 0; at < end; at += 1) if (puts[at]?.key === key) return true;
  return false;
}

function checkKey(key: string): void {
  if (key === '') throw new TypeError('a key must not be empty');
  if (!key.isWellFormed()) throw new TypeError('a key has no UTF-8 form');
}

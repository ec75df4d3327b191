import type { DatabaseSync } from 'node:sqlite';
import type { KvChange, KvChangeBatch, KvEntry } from '../kv.ts';
import { DamageError } from './fault.ts';
import { cellsOf, prepareRows } from './rows.ts';
import { changeSum, decodeEntry, firstAfter, keySum, revisionOfSeq } from './schema.ts';

/** A change whose value has not been found yet. */
interface Change {
  readonly revision: number;
  readonly key: string;
  readonly isDeletion: boolean;
  entry?: KvEntry;
}

/**
 * Reads the changes of a range of revisions. A change does not carry what it wrote: that is in `current` as long as it is the newest of its key,
 * and in the next change of the key from then on, which is looked for in the history behind the range. An index of keys there would cost every
 * commit more than this costs the few who are behind.
 */
export function changeReader(
  db: DatabaseSync,
): (afterRevision: number, upTo: number) => readonly KvChangeBatch[] {
  const between = `seq >= ${firstAfter(':after')} AND seq < ${firstAfter(':upTo')}`;
  const inRange = prepareRows(
    db,
    `SELECT ${revisionOfSeq}, h.key, h.create_rev, h.sum, h.prev_create_rev, h.prev_mod_rev, h.prev_sum,
      CASE WHEN h.prev_mod_rev > :after THEN h.prev_value END, c.value, c.sum
    FROM history h LEFT JOIN current c ON c.key = h.key AND c.mod_rev = ${revisionOfSeq} WHERE ${between} ORDER BY seq`,
  );
  const behind = prepareRows(
    db,
    `SELECT key, prev_value, prev_create_rev, prev_mod_rev, prev_sum FROM history
    WHERE seq >= ${firstAfter(':upTo')} AND prev_mod_rev > :after AND prev_mod_rev <= :upTo`,
  );

  return (after, upTo) => {
    const range = { ':after': after, ':upTo': upTo };
    const changes: Change[] = [];
    /** The newest change of each key, until its value is found. */
    const open = new Map<string, Change>();
    const settle = (row: readonly unknown[]): void => {
      const entry = decodeEntry(row);
      const change = open.get(entry.key);
      if (change?.revision !== entry.modRevision) throw missing(entry.modRevision, entry.key);
      change.entry = entry;
      open.delete(entry.key);
    };
    for (const row of inRange.iterate(range)) {
      const { change, before, now } = decodeChange(cellsOf(row), after);
      if (before !== undefined) settle(before);
      // The change that replaced what this one's predecessor wrote says that it replaced something else.
      if (open.has(change.key)) throw missing(change.revision, change.key);
      changes.push(change);
      if (!change.isDeletion) open.set(change.key, change);
      if (now !== undefined) settle(now);
    }
    if (open.size > 0) {
      for (const row of behind.iterate(range)) {
        settle(cellsOf(row));
        if (open.size === 0) break;
      }
    }
    for (const { revision, key } of open.values()) throw missing(revision, key);
    return toBatches(changes);
  };
}

function missing(revision: number, key: string): DamageError {
  return new DamageError(`revision ${revision} of key ${key} is not where it should be`);
}

/** A change, and as rows of `current` what it replaced, where that is of the range, and what is there now, where that is what it wrote. */
function decodeChange(
  cells: readonly unknown[],
  after: number,
): { readonly change: Change; readonly before?: readonly unknown[]; readonly now?: readonly unknown[] } {
  const [revision, key, createRevision, sum, ...rest] = cells;
  const [prevCreateRevision, prevModRevision, prevSum, prevValue, value, valueSum] = rest;
  if (
    typeof revision !== 'number' ||
    typeof key !== 'string' ||
    typeof createRevision !== 'number' ||
    changeSum(keySum(key, createRevision, revision), prevSum === null ? null : Number(prevSum)) !== sum
  )
    throw new DamageError(`revision ${String(revision)} of key ${String(key)} fails its checksum`);
  return {
    change: { revision, key, isDeletion: createRevision === 0 },
    ...(prevModRevision !== null && Number(prevModRevision) > after
      ? { before: [key, prevValue, prevCreateRevision, prevModRevision, prevSum] }
      : {}),
    ...(value === null ? {} : { now: [key, value, createRevision, revision, valueSum] }),
  };
}

function toBatches(changes: readonly Change[]): KvChangeBatch[] {
  const batches: { revision: number; changes: KvChange[] }[] = [];
  for (const { revision, key, entry } of changes) {
    const change = entry === undefined ? { key, revision } : { key, revision, entry };
    const last = batches.at(-1);
    if (last?.revision === revision) last.changes.push(change);
    else batches.push({ revision, changes: [change] });
  }
  return batches;
}

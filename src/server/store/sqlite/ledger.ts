import type { DatabaseSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';
import { isErased, isHot } from '../keys.ts';
import { DamageError } from './fault.ts';
import { createLeases, type Leases } from './leases.ts';
import { answers, type WriterOperation, type FlatList } from './protocol.ts';
import { cellsOf, prepareRows } from './rows.ts';
import {
  changeSum,
  decodeMeta,
  decodeRow,
  firstAfter,
  keySum,
  type Meta,
  metaRow,
  mostChanges,
  placeOfSeq,
  replaceMeta,
  revisionOfSeq,
  type Row,
  selectMeta,
  seqAbove,
  seqOf,
} from './schema.ts';
import type { HotSeal } from './verify.ts';

interface OldChange {
  readonly revision: number;
  /** Within the revision. */
  readonly place: number;
  readonly sum: number;
  readonly bytes: number;
}

type CommitOperation = Extract<WriterOperation, { kind: 'commit' }>;

/** Applies operations inside the transaction that its caller opens and ends. */
export interface Ledger {
  readonly meta: Readonly<Meta>;
  readonly leases: Leases;
  /** True when the running transaction has changed anything. */
  readonly changed: boolean;
  /** Appends the operation's answer. */
  apply(operation: WriterOperation, into: FlatList): void;
  /** Ends every lease that is due, one revision each. */
  expire(into: FlatList): void;
  /** Whether a commit gives back space or takes next to none. */
  frees(operation: CommitOperation): boolean;
  /**
   * Moves the floor up to what must be kept, and removes at most `rows` rows at or below it, oldest first. True when
   * more are left. Does nothing until enough has gathered to be worth the pages it touches.
   */
  sweep(keep: Retention, rows: number): boolean;
  /** Values that must leave no trace are still in the history, in free pages or in the write-ahead log. */
  readonly erasing: boolean;
  /** To be called when nothing of them is left there. */
  erased(): void;
  /** Makes the transaction write, though nothing has changed. */
  touch(): void;
  /** What the hot rows were proved to be, before anything is written. */
  proved(hot: HotSeal): void;
  /** To be called before COMMIT. */
  seal(): void;
  /** To be called after COMMIT, or after ROLLBACK. */
  settle(committed: boolean): void;
}

export interface Retention {
  readonly revisions: number;
  readonly bytes: number;
}

/** Revisions beyond the kept ones that may gather before they are swept. */
const sweepFromRevisions = 128;

/** A store with fewer rows, history included, is verified as a whole before it is served: that takes no time. */
export const wholeBelowRows = 20_000;

export function rowsOf({ currentCount, logCount }: Meta): number {
  return currentCount + logCount;
}

/** Growth allowed to a commit on a full disk that overwrites a key without growing it: its event, its audit line. */
const smallGrowthBytes = 4096;

export function createLedger(db: DatabaseSync): Ledger {
  const statements = {
    meta: prepareRows(db, selectMeta),
    seal: db.prepare(replaceMeta),
    row: prepareRows(db, 'SELECT key, value, create_rev, mod_rev, sum FROM current WHERE key = ?'),
    insert: db.prepare('INSERT INTO current VALUES (?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING'),
    update: db.prepare('UPDATE current SET value = ?, mod_rev = ?, sum = ? WHERE key = ?'),
    remove: db.prepare('DELETE FROM current WHERE key = ?'),
    log: db.prepare(`INSERT INTO history VALUES (${seqAbove('?', '?')}, ?, ?, ?, ?, ?, ?, ?)`),
    oldest: prepareRows(
      db,
      `SELECT ${revisionOfSeq}, ${placeOfSeq}, sum, octet_length(key) + coalesce(octet_length(prev_value), 0)
      FROM history WHERE seq < ${firstAfter('?')} ORDER BY seq LIMIT ?`,
    ),
    sweep: db.prepare(`DELETE FROM history WHERE seq <= ${seqOf('?', '?')}`),
  };
  const leases = createLeases(db);
  let committed = decodeMeta(statements.meta.get());
  let meta = { ...committed };
  let changed = false;
  /** Changes that the newest revision has so far. */
  let place = 0;
  /** Rows at or below the floor may be left from before. */
  let backlog = true;
  /** A process before this one may have ended in the middle of it. */
  let erasing = true;
  leases.load();

  function row(key: string): Row | undefined {
    const found = statements.row.get(key);
    return found && decodeRow(found);
  }

  function begin(): void {
    meta.head++;
    place = 0;
    changed = true;
  }

  /** `written`: the sum of the key and its revisions, without the value. */
  function log(key: string, createRev: number, written: number, before: Row | undefined): void {
    if (place === mostChanges) throw new RangeError(`a revision has more than ${mostChanges} changes`);
    const prev = before ?? NONE;
    const sum = changeSum(written, prev.sum);
    statements.log.run(
      meta.head - meta.base,
      place++,
      key,
      createRev,
      sum,
      prev.createRevision,
      prev.modRevision,
      prev.sum,
      prev.value,
    );
    meta.logCount++;
    meta.logBytes += byteLength(key) + byteLength(prev.value);
    meta.logMix = (meta.logMix ^ sum) >>> 0;
  }

  /** What a row with one sum becomes in the seals: one with another; 0: none. */
  function reseal(key: string, before: number, after: number, rows: 1 | 0 | -1): void {
    meta.currentCount += rows;
    meta.currentMix = (meta.currentMix ^ before ^ after) >>> 0;
    if (!isHot(key)) return;
    meta.hotCount += rows;
    meta.hotMix = (meta.hotMix ^ before ^ after) >>> 0;
  }

  /** False: the key is there already, and was left as it is. */
  function insert(key: string, value: string): boolean {
    const written = keySum(key, meta.head, meta.head);
    const sum = crc32(value, written);
    if (statements.insert.run(key, value, meta.head, meta.head, sum).changes === 0) return false;
    reseal(key, 0, sum, 1);
    log(key, meta.head, written, undefined);
    return true;
  }

  /** History up to now is forgotten: it holds the value that was just deleted or replaced. */
  function erase(): void {
    meta.floor = meta.head;
    backlog = true;
    erasing = true;
  }

  function update(key: string, value: string, before: Row): number {
    const createRev = before.createRevision;
    const written = keySum(key, createRev, meta.head);
    const sum = crc32(value, written);
    statements.update.run(value, meta.head, sum, key);
    reseal(key, before.sum, sum, 0);
    log(key, createRev, written, before);
    if (isErased(key, 'replaced')) erase();
    return createRev;
  }

  /** Most keys that no guard has looked up are new: they are inserted unseen, and looked up only if they are not. */
  function put(key: string, value: string, before: Row | undefined): number {
    if (before !== undefined) return update(key, value, before);
    if (insert(key, value)) return meta.head;
    const found = row(key);
    if (found === undefined) throw new DamageError(`key ${key} is there and cannot be found`);
    return update(key, value, found);
  }

  function remove(key: string, before: Row): void {
    statements.remove.run(key);
    reseal(key, before.sum, 0, -1);
    log(key, 0, keySum(key, 0, meta.head), before);
    if (isErased(key, 'deleted')) erase();
  }

  function commit({ guards, puts, deletes }: CommitOperation, into: FlatList): void {
    for (const { lease } of puts) {
      if (lease !== undefined && !leases.has(Number(lease))) {
        into.push(answers.leaseGone, lease);
        return;
      }
    }
    // Guarded keys are most often written too: one lookup serves both.
    const rows = new Map<string, Row | undefined>();
    const failed: number[] = [];
    for (const [i, { key, modRevision }] of guards.entries()) {
      const before = row(key);
      rows.set(key, before);
      if ((before?.modRevision ?? 0) !== modRevision) failed.push(i);
    }
    if (failed.length > 0) {
      into.push(answers.conflict, failed.length, ...failed);
      return;
    }
    const before = (key: string): Row | undefined => (rows.has(key) ? rows.get(key) : row(key));
    const removals = deletes.map((key) => before(key));
    if (puts.length > 0 || removals.some((found) => found !== undefined)) begin();
    into.push(answers.applied, meta.head);
    for (const { key, value, lease } of puts) {
      into.push(put(key, value, rows.get(key)));
      leases.bind(key, lease === undefined ? undefined : Number(lease));
    }
    for (const [i, key] of deletes.entries()) {
      const found = removals[i];
      into.push(found === undefined ? 0 : 1);
      if (found === undefined) continue;
      remove(key, found);
      leases.bind(key, undefined);
    }
  }

  function endLease(id: number, into: FlatList): void {
    changed = true;
    const keys = leases.end(id);
    if (keys.length > 0) begin();
    for (const key of keys) {
      const before = row(key);
      if (before === undefined) throw new DamageError(`leased key ${key} is missing`);
      remove(key, before);
    }
    into.push(meta.head, keys.length, ...keys);
  }

  return {
    get meta() {
      return meta;
    },
    leases,
    get changed() {
      return changed;
    },

    apply(operation, into) {
      switch (operation.kind) {
        case 'commit':
          commit(operation, into);
          return;
        case 'grant':
          meta.lastLease++;
          changed = true;
          leases.grant(meta.lastLease, operation.ttlMs);
          into.push(answers.number, meta.lastLease);
          return;
        case 'keepAlive':
          into.push(answers.number, leases.keepAlive(operation.lease) ? 1 : 0);
          return;
        case 'revoke':
          into.push(answers.revoked);
          if (leases.has(operation.lease)) endLease(operation.lease, into);
          else into.push(meta.head, 0);
          return;
        case 'compact':
          if (operation.revision > meta.floor) {
            meta.floor = Math.min(operation.revision, meta.head);
            changed = true;
            backlog = true;
          }
          into.push(answers.done);
      }
    },

    expire(into) {
      for (const id of leases.expired()) {
        into.push(answers.expired);
        endLease(id, into);
      }
    },

    frees({ puts, deletes }) {
      if (deletes.length > 0) return true;
      let growth = 0;
      let overwrites = false;
      for (const { key, value } of puts) {
        const before = row(key)?.value;
        growth += value.length - (before?.length ?? -key.length);
        overwrites ||= before !== undefined && value.length <= before.length;
      }
      return overwrites && growth <= smallGrowthBytes;
    },

    sweep(keep, rows) {
      const tooLarge = meta.logBytes > keep.bytes;
      const target = Math.max(meta.floor, meta.head - keep.revisions);
      if (!backlog && !tooLarge && target - meta.floor < sweepFromRevisions) return false;
      const oldest = statements.oldest.all(tooLarge ? meta.head : target, rows).map(decodeOldChange);
      const swept = tooLarge ? oldest.slice(0, 1 + countAbove(oldest, meta.logBytes - keep.bytes)) : oldest;
      const last = swept.at(-1);
      backlog = swept.length === rows;
      if (last === undefined) return false;
      statements.sweep.run(last.revision, last.place);
      meta.floor = Math.max(target, last.revision);
      meta.logCount -= swept.length;
      for (const { sum, bytes } of swept) {
        meta.logMix = (meta.logMix ^ sum) >>> 0;
        meta.logBytes -= bytes;
      }
      changed = true;
      // A revision may be cut in two: it is below the floor now, and its rest goes with the next step.
      backlog ||= tooLarge;
      return backlog;
    },

    get erasing() {
      return erasing;
    },

    erased() {
      erasing = false;
    },

    touch() {
      changed = true;
    },

    proved({ count, mix }) {
      committed = { ...committed, hotCount: count, hotMix: mix };
      meta = { ...committed };
    },

    seal() {
      if (changed) statements.seal.run(...metaRow(meta));
    },

    settle(isCommitted) {
      changed = false;
      if (isCommitted) committed = { ...meta };
      else {
        meta = { ...committed };
        backlog = true;
        leases.load();
      }
    },
  };
}

/** Of a key that was not there. */
const NONE = { value: null, createRevision: null, modRevision: null, sum: null };

function decodeOldChange(row: object): OldChange {
  const [revision, place, sum, bytes] = cellsOf(row);
  return { revision: Number(revision), place: Number(place), sum: Number(sum), bytes: Number(bytes) };
}

function byteLength(text: string | null): number {
  return text === null ? 0 : Buffer.byteLength(text);
}

/** How many of the oldest rows it takes to give back `excessBytes`, less one. */
function countAbove(rows: readonly OldChange[], excessBytes: number): number {
  let freed = 0;
  const last = rows.findIndex(({ bytes }) => (freed += bytes) >= excessBytes);
  return last === -1 ? rows.length : last;
}

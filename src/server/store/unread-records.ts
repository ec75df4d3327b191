import { setImmediate as turn } from 'node:timers/promises';
import type { Stored } from './collection.ts';
import { type KeptText, KeptTexts } from './kept-texts.ts';
import type { HotKey } from './keys.ts';
import type { KvEntry } from './kv.ts';
import type { LargeRecords } from './large-records.ts';
import type { PackedRow } from './packed-row.ts';
import type { TenantRecords } from './records.ts';
import { SharedStrings } from './shared-strings.ts';
import { hashInText, UnreadDeployment } from './unread-deployment.ts';
import { type UnreadBytes, UnreadRecord } from './unread-record.ts';

/** Of what one unread text may hold: as it lies among others, or in a piece of such texts. */
const LONGEST_PIECE = 2 * 1024 * 1024;
/** Kinds that nobody reads before the view is loaded. */
const READ_LATER: ReadonlySet<string> = new Set<keyof TenantRecords>([
  'deployment-status',
  'rollouts',
  'specs',
]);
/** Read in one turn of the event loop, in bytes of text: about a millisecond. A record that is looked at and not read counts as so many. */
const READ_BYTES = 32 * 1024;
const LOOKED_AT_BYTES = 16;
/** Strings that are met in many records; those of one deployment alone are not worth remembering then. */
const COMMON_STRINGS = 4096;

/** What is left as text until somebody asks for it: what a first reading brings, and deployments that were planned when they were created. */
export class UnreadRecords {
  readonly #large: LargeRecords;
  readonly #common = new SharedStrings(COMMON_STRINGS);
  readonly #texts = new KeptTexts();
  readonly #lent: UnreadRecord<unknown>[] = [];
  readonly #unread: UnreadBytes = { bytes: 0 };
  #reading: Promise<void> | undefined;
  /** False: what a first reading brings is read at once. */
  keeps = true;
  /** Whose status may come next, in the same commit. */
  #newest: { readonly tenantId: string | undefined; readonly record: UnreadRecord<unknown> } | undefined;

  constructor(large: LargeRecords) {
    this.#large = large;
  }

  /** Of texts that take several times as much of the heap once they are read. */
  get bytes(): number {
    return this.#unread.bytes;
  }

  /**
   * Of a record that this process wrote. A deployment that comes with its status was planned with it, and nobody looks at it soon: until `settled` it is what
   * was written, and then its text. Undefined: somebody will.
   */
  written({ tenantId, kind, id }: HotKey, entry: KvEntry, bytes: number): Stored<unknown> | undefined {
    const { value, record, modRevision, createRevision } = entry;
    const newest = this.#newest;
    const isOfNewest =
      kind === 'deployment-status' && newest?.tenantId === tenantId && newest?.record.id === id;
    if (record === undefined || !(kind === 'deployments' || isOfNewest)) return undefined;
    const about = { id, modRevision, createRevision, bytes };
    const unread = new UnreadRecord(about, value, this.#common, this.#unread);
    unread.lend(record);
    if (isOfNewest) this.#lent.push(newest.record, unread);
    else newest?.record.leave();
    this.#newest = isOfNewest ? undefined : { tenantId, record: unread };
    return unread;
  }

  /** Everybody was told of what was written. */
  settled(): void {
    this.#newest?.record.leave();
    this.#newest = undefined;
    for (const record of this.#lent) record.takeBack();
    this.#lent.length = 0;
  }

  /** Reads what is text among these records, some of it in each turn of the event loop. */
  read(records: Iterator<Stored<unknown>>): Promise<void> {
    if (this.bytes === 0) return Promise.resolve();
    this.#reading ??= this.#read(records).finally(() => (this.#reading = undefined));
    return this.#reading;
  }

  async #read(records: Iterator<Stored<unknown>>): Promise<void> {
    for (let bytes = 0; ; ) {
      const { value, done } = records.next();
      if (done === true) return;
      bytes += readText(value);
      if (bytes < READ_BYTES) continue;
      await turn();
      bytes = 0;
    }
  }

  /** Undefined: what it says is needed at once. */
  entry({ kind, id }: HotKey, entry: KvEntry, bytes: number): Stored<unknown> | undefined {
    const { value, modRevision, createRevision } = entry;
    if (!this.keeps) return undefined;
    const about = { id, modRevision, createRevision, bytes };
    const isLater = READ_LATER.has(kind);
    const hashAt = kind === 'deployments' ? hashInText(value) : undefined;
    if (!isLater && hashAt === undefined) return undefined;
    const rest = [about, this.#texts.keep(value, bytes), this.#common, this.#unread] as const;
    return hashAt === undefined ? new UnreadRecord(...rest) : new UnreadDeployment(hashAt, ...rest);
  }

  /** Undefined: what it says is needed at once, or it is of another format, or something may be held in its place. */
  row(kind: string, row: PackedRow): Stored<unknown> | undefined {
    if (!this.keeps || this.#large.isLarge(row.bytes)) return undefined;
    if (kind === 'deployments') {
      const hashAt = row.isCurrent ? row.hashAt() : undefined;
      return hashAt === undefined
        ? undefined
        : new UnreadDeployment(hashAt, row, this.#textOf(row), this.#common, this.#unread);
    }
    if (kind === 'specs' || !READ_LATER.has(kind) || !row.isCurrent) return undefined;
    return new UnreadRecord(row, this.#textOf(row), this.#common, this.#unread);
  }

  /** Where it lies, unless it would hold much more than itself. */
  #textOf(row: PackedRow): KeptText {
    return row.piece.length > LONGEST_PIECE ? this.#texts.copy(row, row.bytes) : row;
  }
}

/** How much that was. */
function readText(stored: Stored<unknown>): number {
  if (!(stored instanceof UnreadRecord) || !stored.isUnread) return LOOKED_AT_BYTES;
  try {
    stored.read();
  } catch {
    // Whoever needs it is told why.
  }
  return stored.bytes;
}

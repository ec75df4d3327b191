import { parsedRecord } from '../../core/model/values.ts';
import { globalKey, parseKey } from './keys.ts';
import type { Commit, Kv, KvEntry, Put, RangeResult } from './kv.ts';
import { type RecordCodec, StoreFormatError } from './record-codec.ts';
import { CODEC, type StoreFormatRecord } from './records.ts';

/** Written by every process that joins. */
export const FORMAT_KEY = globalKey('store-format', 'format');
const PAGE_BYTES = 1024 * 1024;
/** Held by leases, which writing them again would take from them. They go with the process that wrote them. */
const LEASED: ReadonlySet<string> = new Set(['control-planes', 'shards', 'node-sessions']);

/** By hand, always as the first release wrote it: every release has to read this record. */
function encoded({ format, release, rewritten }: StoreFormatRecord): string {
  return JSON.stringify({ v: 1, format, release, rewritten });
}

function decoded(text: string): StoreFormatRecord {
  const { format, release, rewritten } = parsedRecord(text);
  return { format: Number(format), release: String(release), rewritten: Number(rewritten) };
}

interface Found {
  readonly record: StoreFormatRecord;
  readonly modRevision: number;
}

/** What of the other control planes counts for a raise. */
export interface FormatReader {
  /** The newest format that it reads. */
  readonly format: number;
}

/**
 * The format of the store: what its records may look like, for all control planes together. It is raised when all of them can read the next
 * one, and never lowered. Until then this process writes what the others read.
 */
export class StoreFormat {
  readonly #codec: RecordCodec;
  readonly #release: string;
  #active: number;

  constructor(release: string, codec: RecordCodec = CODEC) {
    this.#codec = codec;
    this.#release = release;
    this.#active = codec.newest;
  }

  /** What is written now. */
  get active(): number {
    return this.#active;
  }

  get newest(): number {
    return this.#codec.newest;
  }

  /** The store through which everything is written. */
  writing(kv: Kv): Kv {
    return { ...kv, commit: (commit) => kv.commit(this.#asWritten(commit)) };
  }

  #asWritten(commit: Commit): Commit {
    const format = this.#active;
    if (format === this.#codec.newest || commit.puts === undefined) return commit;
    const older = (put: Put): Put =>
      put.key === FORMAT_KEY ? put : { ...put, value: this.#codec.downgraded(put.key, put.value, format) };
    return { ...commit, puts: commit.puts.map(older) };
  }

  /** Before anything is read or written. Throws when this release cannot work with the store. */
  async open(kv: Kv): Promise<void> {
    await this.#found(kv);
  }

  /**
   * Stores a record that counts when the format is raised, e.g. of a process that reads no later one. It writes the format again, unchanged:
   * of a process that joins and another that raises the format at the same moment, one has to look again.
   */
  async join(kv: Kv, put: Put, check: () => Promise<void>): Promise<number> {
    for (;;) {
      const { record, modRevision } = await this.#found(kv);
      await check();
      const result = await kv.commit({
        guards: [{ key: FORMAT_KEY, modRevision }],
        puts: [put, { key: FORMAT_KEY, value: encoded(record) }],
      });
      if (result.ok) return result.revision;
    }
  }

  /** To the newest that every process reads; true: it was raised. `others`: asked after the format was read. */
  async raise(kv: Kv, others: () => Promise<readonly FormatReader[]>): Promise<boolean> {
    const { record, modRevision } = await this.#found(kv);
    const format = Math.min(this.#codec.newest, ...(await others()).map((one) => one.format));
    if (format <= record.format) return false;
    const raised = { ...record, format, release: this.#release };
    const result = await kv.commit({
      guards: [{ key: FORMAT_KEY, modRevision }],
      puts: [{ key: FORMAT_KEY, value: encoded(raised) }],
    });
    if (result.ok) this.#active = format;
    return result.ok;
  }

  /** Of a watch: another process raised it. */
  take(record: StoreFormatRecord): void {
    this.#require(record);
    this.#active = record.format;
  }

  /** Writes records of earlier formats again, so that a later release need not read those. It goes on where another one stopped. */
  async rewrite(kv: Kv, signal: AbortSignal): Promise<number> {
    const { record } = await this.#found(kv);
    if (record.rewritten >= record.format || record.format < this.#codec.newest) return 0;
    let count = 0;
    if (!this.#codec.isAnyOutdated(record.rewritten)) {
      await this.#noteRewritten(kv, record.format);
      return count;
    }
    // A pass that found nothing is the last: a process that had not heard of the raise yet wrote the earlier format once more.
    for (let found = -1; found !== 0; ) {
      found = 0;
      for (let page: RangeResult | undefined; page === undefined || page.more === true; ) {
        const after: string | undefined = page?.entries.at(-1)?.key;
        page = await kv.range('', { bytes: PAGE_BYTES, ...(after !== undefined && { after }) });
        for (const entry of page.entries) {
          if (signal.aborted) return count;
          if (await this.#rewritten(kv, entry)) found += 1;
        }
      }
      count += found;
    }
    await this.#noteRewritten(kv, record.format);
    return count;
  }

  async #rewritten(kv: Kv, { key, value, modRevision }: KvEntry): Promise<boolean> {
    if (LEASED.has(parseKey(key)?.kind ?? '') || !this.#codec.isOutdated(key, value)) return false;
    const put = { key, value: this.#codec.encode(this.#codec.migrated(key, value)) };
    // Also after a conflict, when somebody has written it since: the next pass looks whether that is right.
    await kv.commit({ guards: [{ key, modRevision }], puts: [put] });
    return true;
  }

  async #noteRewritten(kv: Kv, format: number): Promise<void> {
    for (;;) {
      const { record, modRevision } = await this.#found(kv);
      if (record.format !== format) return;
      const value = encoded({ ...record, rewritten: format });
      if (
        (await kv.commit({ guards: [{ key: FORMAT_KEY, modRevision }], puts: [{ key: FORMAT_KEY, value }] }))
          .ok
      )
        return;
    }
  }

  /** A new store begins with the newest format. One without this record was written before there was any. */
  async #found(kv: Kv): Promise<Found> {
    for (;;) {
      const entry = await kv.get(FORMAT_KEY);
      if (entry !== undefined) {
        const record = decoded(entry.value);
        this.#require(record);
        this.#active = record.format;
        return { record, modRevision: entry.modRevision };
      }
      const { entries } = await kv.range('', { limit: 1 });
      const format = entries.length === 0 ? this.#codec.newest : 1;
      const value = encoded({ format, release: this.#release, rewritten: format });
      await kv.commit({ guards: [{ key: FORMAT_KEY, modRevision: 0 }], puts: [{ key: FORMAT_KEY, value }] });
    }
  }

  #require({ format, release, rewritten }: StoreFormatRecord): void {
    const { oldest, newest } = this.#codec;
    const reads = oldest === newest ? `format ${newest}` : `formats ${oldest} to ${newest}`;
    if (format > newest)
      throw new StoreFormatError(
        `store_format_newer: the store has format ${format}, written by Berth ${release}; this is Berth ${this.#release}, which reads ${reads}. Nothing was changed. Start Berth ${release} or a later release, or restore a backup of before the upgrade (berth server restore).`,
      );
    if (!(Math.min(format, rewritten) >= oldest))
      throw new StoreFormatError(
        `store_format_older: the store has ${rewritten < format ? `records of format ${rewritten}` : `format ${format}`}; this is Berth ${this.#release}, which reads ${reads}. Nothing was changed. Upgrade one release at a time: start the release before this one first${rewritten < format ? ', and leave it until it has rewritten them' : ''}.`,
      );
  }
}

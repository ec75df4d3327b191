import type { Stored } from './collection.ts';
import { type KeptText, KeptTexts } from './kept-texts.ts';
import type { HotKey } from './keys.ts';
import type { KvEntry } from './kv.ts';
import type { LargeRecords } from './large-records.ts';
import type { PackedRow } from './packed-row.ts';
import type { TenantRecords } from './records.ts';
import { SharedStrings } from './shared-strings.ts';
import { hashInText, UnreadDeployment } from './unread-deployment.ts';
import { UnreadRecord } from './unread-record.ts';

/** Of what one unread text may hold: as it lies among others, or in a piece of such texts. */
const LONGEST_PIECE = 2 * 1024 * 1024;
/** Kinds that nobody reads before the view is loaded. */
const READ_LATER: ReadonlySet<string> = new Set<keyof TenantRecords>([
  'deployment-status',
  'rollouts',
  'specs',
]);
/** Strings that are met in many records; those of one deployment alone are not worth remembering then. */
const COMMON_STRINGS = 4096;

/** What a first reading leaves as text until somebody asks for it. */
export class UnreadRecords {
  readonly #large: LargeRecords;
  readonly #common = new SharedStrings(COMMON_STRINGS);
  readonly #texts = new KeptTexts();

  constructor(large: LargeRecords) {
    this.#large = large;
  }

  /** That are kept as text. */
  get bytes(): number {
    return this.#texts.bytes;
  }

  /** Undefined: what it says is needed at once. */
  entry({ kind, id }: HotKey, entry: KvEntry, bytes: number): Stored<unknown> | undefined {
    const { value, modRevision, createRevision } = entry;
    const about = { id, modRevision, createRevision, bytes };
    if (READ_LATER.has(kind)) return new UnreadRecord(about, this.#texts.keep(value, bytes), this.#common);
    const hashAt = kind === 'deployments' ? hashInText(value) : undefined;
    if (hashAt === undefined) return undefined;
    return new UnreadDeployment(hashAt, about, this.#texts.keep(value, bytes), this.#common);
  }

  /** Undefined: what it says is needed at once, or it is of another format, or something may be held in its place. */
  row(kind: string, row: PackedRow): Stored<unknown> | undefined {
    if (this.#large.isLarge(row.bytes)) return undefined;
    if (kind === 'deployments') {
      const hashAt = row.isCurrent ? row.hashAt() : undefined;
      return hashAt === undefined
        ? undefined
        : new UnreadDeployment(hashAt, row, this.#textOf(row), this.#common);
    }
    if (kind === 'specs' || !READ_LATER.has(kind) || !row.isCurrent) return undefined;
    return new UnreadRecord(row, this.#textOf(row), this.#common);
  }

  /** Where it lies, unless it would hold much more than itself. */
  #textOf(row: PackedRow): KeptText {
    if (row.piece.length > LONGEST_PIECE) return this.#texts.copy(row, row.bytes);
    this.#texts.leave(row.bytes);
    return row;
  }
}

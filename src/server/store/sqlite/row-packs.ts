import { beforeId } from '../keys.ts';
import { KvUnavailableError, type RowPack } from '../kv.ts';
import { RecentPlaces } from '../recent-places.ts';
import type { JoinedRows } from './table-scan.ts';

/** Rows as they travel to another thread; the values go with them. */
export function packOf(rows: JoinedRows, revision: number): RowPack {
  const { keys, values, lengths, createRevisions, modRevisions } = rows;
  const beginnings: string[] = [];
  const recent = new RecentPlaces<number>();
  const places = new Uint16Array(keys.length);
  const ids: (string | null)[] = [];
  const ends = new Uint32Array(keys.length);
  let [end, last]: [number, string | undefined] = [0, undefined];
  for (const [at, key] of keys.entries()) {
    const known = recent.find(key);
    const beginning = known?.beginning ?? beforeId(key);
    places[at] = known?.value ?? beginnings.length;
    if (known === undefined) beginnings.push(beginning ?? key);
    if (known === undefined && beginning !== undefined) recent.note(beginning, beginnings.length - 1);
    const id = beginning === undefined ? '' : key.slice(beginning.length);
    // Records of one deployment often come one after another.
    ids.push(id === last ? null : id);
    last = id;
    end += lengths[at] ?? 0;
    ends[at] = end;
  }
  return {
    revision,
    beginnings,
    places,
    ids,
    createRevisions: Float64Array.from(createRevisions),
    modRevisions: Float64Array.from(modRevisions),
    values,
    ends,
  };
}

/** Without a row: what the snapshot was of. */
export function emptyPack(revision: number): RowPack {
  const none = {
    keys: [],
    values: new Uint8Array(),
    lengths: [],
    createRevisions: [],
    modRevisions: [],
    sums: [],
  };
  return packOf(none, revision);
}

/** Of what was sent and not taken in yet. */
const MAX_AHEAD_BYTES = 64 * 1024 * 1024;
/** Whoever takes nothing for so long is not waited for again: it may wait for the thread that sends. */
const LONGEST_WAIT_MS = 2000;

/** Bytes that were taken in, modulo 2^32, as both threads see them. */
export const newTaken = (): Int32Array => new Int32Array(new SharedArrayBuffer(4));

/** Has the thread that reads wait while it is far ahead. */
export class Brake {
  readonly #taken: Int32Array;
  #sent = 0;
  #isOff = false;

  constructor(taken: Int32Array) {
    this.#taken = taken;
  }

  add(bytes: number): void {
    this.#sent += bytes;
    while (!this.#isOff) {
      const taken = Atomics.load(this.#taken, 0);
      if ((this.#sent - taken) >>> 0 <= MAX_AHEAD_BYTES) return;
      this.#isOff = Atomics.wait(this.#taken, 0, taken, LONGEST_WAIT_MS) === 'timed-out';
    }
  }
}

/** Packs that arrive before, or while, somebody takes them. */
export class ReadAhead {
  readonly #taken: Int32Array;
  readonly #packs: RowPack[] = [];
  /** Undefined: more may come. */
  #isWhole: boolean | undefined;
  #isTaken = false;
  #isLeft = false;
  #wake: () => void = () => undefined;

  constructor(taken: Int32Array) {
    this.#taken = taken;
  }

  add(pack: RowPack): void {
    if (this.#isLeft) this.#note(pack);
    else this.#packs.push(pack);
    this.#wake();
  }

  end(isWhole: boolean): void {
    this.#isWhole ??= isWhole;
    this.#wake();
  }

  /** Undefined: somebody did. */
  take(): AsyncIterable<RowPack> | undefined {
    if (this.#isTaken) return undefined;
    this.#isTaken = true;
    return this.#each();
  }

  async *#each(): AsyncGenerator<RowPack> {
    try {
      for (;;) {
        const pack = this.#packs.shift();
        if (pack !== undefined) {
          yield pack;
          this.#note(pack);
        } else if (this.#isWhole === undefined) await new Promise<void>((wake) => (this.#wake = wake));
        else if (this.#isWhole) return;
        else throw new KvUnavailableError('the live records are read again', true);
      }
    } finally {
      // Nobody takes what is left.
      this.#isLeft = true;
      for (const pack of this.#packs.splice(0)) this.#note(pack);
    }
  }

  #note({ ends }: RowPack): void {
    Atomics.add(this.#taken, 0, ends.at(-1) ?? 0);
    Atomics.notify(this.#taken, 0);
  }
}

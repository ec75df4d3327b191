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

/** Packs that arrive before, or while, somebody takes them. */
export class ReadAhead {
  readonly #packs: RowPack[] = [];
  /** Undefined: more may come. */
  #isWhole: boolean | undefined;
  #isTaken = false;
  #wake: () => void = () => undefined;

  add(pack: RowPack): void {
    this.#packs.push(pack);
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
    return this.#taken();
  }

  async *#taken(): AsyncGenerator<RowPack> {
    for (;;) {
      const pack = this.#packs.shift();
      if (pack !== undefined) yield pack;
      else if (this.#isWhole === undefined) await new Promise<void>((wake) => (this.#wake = wake));
      else if (this.#isWhole) return;
      else throw new KvUnavailableError('the live records are read again', true);
    }
  }
}

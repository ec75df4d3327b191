import { LARGE_PARTS, SMALL_PARTS, partsOfTenant } from '../keys.ts';
import type { RowPack } from '../kv.ts';
import type { EtcdCluster } from './cluster.ts';
import type { KeySpace } from './key-space.ts';
import { loadMethod } from './messages.ts';
import { BOUNDED_PAGE, type Bounds, boundsAfter } from './range.ts';
import type { PackedAnswer } from './range-pack.ts';

/**
 * Of one answer: about as much as is taken in while the next one is made. Mostly as many records of each kind, so that parts that are read beside one another
 * end at about the same time.
 */
const PAGE = { entries: 2_000, bytes: 1536 * 1024 } as const;
/** How much larger a page may be than the one before it: records that follow may be larger than those that were seen. */
const LARGER_BY = 8;
/** Pages that are asked for at a time: a tenant has three large folders. */
const TOGETHER = 4;
/** Pages that share a link: over a slow one each takes as much longer. The first page, which finds a member that answers, has the usual time. */
const TIMEOUTS = TOGETHER;
/** Pages that have arrived and were not taken in yet, beside which no more are asked for. */
const MOST_ARRIVED = 4;

/** What is read page by page, beside other parts. */
interface Part extends Bounds {
  /** Of its next page. */
  readonly limit: number;
}

/** The folder of which the second half of an answer is; undefined: it is of several. */
function folderAtEnd({ beginnings, places }: PackedAnswer['rows']): string | undefined {
  const folder = beginnings.at(-1);
  return folder?.endsWith('/') && places[places.length >> 1] === places.at(-1) ? folder : undefined;
}

/** The first key after a folder: `0` is what follows a slash. */
function keyBehind(folder: string): string {
  return `${folder.slice(0, -1)}0`;
}

/** Everything under a prefix as one snapshot, in no order. */
class Load {
  readonly #cluster: EtcdCluster;
  readonly #keys: KeySpace;
  readonly #method: ReturnType<typeof loadMethod>;
  readonly #parts: Part[] = [];
  readonly #arrived: RowPack[] = [];
  #underWay = 0;
  #failure: unknown;
  #revision: number | undefined;
  #isEnded = false;
  #wake: () => void = () => undefined;

  constructor(cluster: EtcdCluster, keys: KeySpace, prefix: string) {
    this.#cluster = cluster;
    this.#keys = keys;
    this.#method = loadMethod(keys.prefixBytes);
    const { first, end } = keys.bounds(prefix);
    this.#split(first, end, LARGE_PARTS);
  }

  async *pages(): AsyncGenerator<RowPack> {
    try {
      for (;;) {
        this.#ask();
        const page = this.#arrived.shift();
        if (page !== undefined) yield page;
        else if (this.#failure !== undefined) throw this.#failure;
        else if (this.#underWay === 0) return;
        else await new Promise<void>((wake) => (this.#wake = wake));
      }
    } finally {
      this.#isEnded = true;
    }
  }

  #add(first: string, end: Buffer, limit: number = BOUNDED_PAGE.first): void {
    this.#parts.push({ first, end, limit });
  }

  /** `cuts`: where parts begin, in order. `limit`: of the first page of the first one; records of the others may be of another size. */
  #split(first: string, end: Buffer, cuts: readonly string[], limit?: number): void {
    const etcd = cuts.map((cut) => this.#keys.toEtcd(cut));
    const firsts = etcd.filter((cut) => Buffer.from(cut).compare(end) < 0 && cut > first);
    for (const [at, from] of [first, ...firsts].entries()) {
      const next = firsts[at];
      this.#add(from, next === undefined ? end : Buffer.from(next), at === 0 ? limit : undefined);
    }
  }

  /** The first page fixes the revision, and the others are read at it: together they are one snapshot. */
  #ask(): void {
    const most = this.#revision === undefined ? 1 : TOGETHER;
    while (this.#underWay < most && this.#arrived.length < MOST_ARRIVED && !this.#isEnded) {
      const part = this.#parts.shift();
      if (part === undefined) return;
      this.#underWay += 1;
      void this.#read(part)
        .catch((error: unknown) => {
          this.#failure ??= error;
          this.#isEnded = true;
        })
        .finally(() => {
          this.#underWay -= 1;
          // At once, not when what arrived is taken in: etcd has something to do meanwhile.
          this.#ask();
          this.#wake();
        });
    }
  }

  async #read(part: Part): Promise<void> {
    const revision = this.#revision;
    const answer = await this.#cluster.call(
      this.#method,
      {
        key: part.first,
        rangeEnd: part.end,
        limit: part.limit,
        ...(revision === undefined ? {} : { revision }),
      },
      {
        repeatable: true,
        ...(revision === undefined ? {} : { timeoutMs: this.#cluster.timeoutMs * TIMEOUTS }),
      },
    );
    this.#revision ??= answer.revision;
    this.#goOn(part, answer);
    const { rows, bytes } = answer;
    this.#arrived.push({ ...rows, revision: this.#revision, bytes });
  }

  #goOn(part: Part, { rows, more, last, bytes }: PackedAnswer): void {
    if (!more || last === undefined) return;
    const read = rows.ids.length;
    const whole = Math.max(1, Math.min(PAGE.entries, Math.floor((PAGE.bytes * read) / (bytes + 1))));
    const limit = Math.min(whole, read * LARGER_BY);
    const { first, end } = boundsAfter(part, last, false);
    // What comes after a large folder is read beside it, and within it etcd does not count the rest for each page. A folder that others keep waiting shows
    // that it is large by a whole page.
    const isWorthIt = this.#parts.length + this.#underWay <= TOGETHER || read >= whole;
    const folder = isWorthIt ? folderAtEnd(rows) : undefined;
    if (folder === undefined) return this.#split(first, end, SMALL_PARTS, limit);
    const next = this.#keys.toEtcd(keyBehind(folder));
    if (Buffer.from(next).compare(end) >= 0) return this.#add(first, end, limit);
    this.#add(first, Buffer.from(next), limit);
    this.#split(next, end, partsOfTenant(folder));
  }
}

/** Everything under a prefix as one snapshot, in no order. Pages are on their way while others are taken in. */
export function loadPages(cluster: EtcdCluster, keys: KeySpace, prefix: string): AsyncGenerator<RowPack> {
  return new Load(cluster, keys, prefix).pages();
}

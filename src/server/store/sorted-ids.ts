/** Beyond this length a run is split in two. */
const MAX_RUN = 512;

/** Distinct strings in order, in runs of bounded length: an insertion moves at most one run, however many there are. */
export class SortedIds {
  /** No run is empty; every id of a run is before every id of the next. */
  readonly #runs: string[][] = [];

  /** In order already. */
  constructor(ids: readonly string[] = []) {
    for (let from = 0; from < ids.length; from += MAX_RUN) this.#runs.push(ids.slice(from, from + MAX_RUN));
  }

  insert(id: string): void {
    const last = this.#runs.at(-1);
    const greatest = last?.at(-1);
    if (last === undefined || greatest === undefined) {
      this.#runs.push([id]);
    } else if (greatest < id) {
      // A bulk load comes in order: full runs are left full.
      if (last.length < MAX_RUN) last.push(id);
      else this.#runs.push([id]);
    } else {
      const at = this.#runOf(id);
      const run = this.#runs[at] ?? [];
      run.splice(lowerBound(run, id), 0, id);
      if (run.length > MAX_RUN) this.#runs.splice(at + 1, 0, run.splice(MAX_RUN / 2));
    }
  }

  delete(id: string): void {
    const at = this.#runOf(id);
    const run = this.#runs[at];
    if (run === undefined) return;
    const index = lowerBound(run, id);
    if (run[index] !== id) return;
    run.splice(index, 1);
    if (run.length === 0) this.#runs.splice(at, 1);
  }

  /** Hands out ids at or after `from`, in order, until `take` says that it has enough. */
  scan(from: string, take: (id: string) => boolean): void {
    let at = this.#runOf(from);
    let index = lowerBound(this.#runs[at] ?? [], from);
    for (let run = this.#runs[at]; run !== undefined; run = this.#runs[++at]) {
      for (let id = run[index]; id !== undefined; id = run[++index]) if (!take(id)) return;
      index = 0;
    }
  }

  all(): readonly string[] {
    return this.#runs.flat();
  }

  /** The run that holds the id or would: the last one that starts at or before it. */
  #runOf(id: string): number {
    let low = 0;
    let high = this.#runs.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#runs[middle]?.[0] ?? '') <= id) low = middle + 1;
      else high = middle;
    }
    return Math.max(0, low - 1);
  }
}

function lowerBound(ids: readonly string[], id: string): number {
  let low = 0;
  let high = ids.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((ids[middle] ?? '') < id) low = middle + 1;
    else high = middle;
  }
  return low;
}

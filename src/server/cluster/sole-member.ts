import { FORMAT_KEY } from '../store/format.ts';
import type { Guard } from '../store/kv.ts';
import type { ReadBarrier } from '../store/read-barrier.ts';
import type { Store } from '../store/store.ts';

/** The last requests of a process that leaves are answered after its record is gone, for less than this. */
const LAST_REQUESTS_MS = 30_000;

/**
 * Whether this control plane is the only one of its store. Then whatever was acknowledged is in its view, and what a commit is judged by need not be
 * asked for: the commit itself proves that no other has joined.
 */
export class SoleMember {
  readonly #store: Store;
  readonly #self: string;
  readonly #barrier: ReadBarrier;
  readonly #nowMs: () => number;
  #othersUntilMs = Number.NEGATIVE_INFINITY;

  constructor(store: Store, self: string, barrier: ReadBarrier, nowMs: () => number) {
    this.#store = store;
    this.#self = self;
    this.#barrier = barrier;
    this.#nowMs = nowMs;
    store.view.onChange(({ kind, id }) => {
      if (kind === 'control-planes' && id !== self) this.#othersUntilMs = nowMs() + LAST_REQUESTS_MS;
    });
  }

  /**
   * Every process that joins writes the format again (`StoreFormat.join`) before it answers anybody: a commit with this guard comes before all that another
   * one has acknowledged. Undefined: the store has to be asked first.
   */
  guard(): Guard | undefined {
    // Requests that come together share one question, and go on together: their commits then share a transaction.
    if (this.#store.isBusy) return undefined;
    if (this.#barrier.isAway || !this.#store.isCurrent || this.#nowMs() < this.#othersUntilMs)
      return undefined;
    const members = this.#store.view.global('control-planes');
    const format = this.#store.getGlobal('store-format', 'format');
    if (format === undefined || members.size !== 1 || members.get(this.#self) === undefined) return undefined;
    return { key: FORMAT_KEY, modRevision: format.modRevision };
  }
}

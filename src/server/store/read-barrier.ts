import type { Kv } from './kv.ts';
import type { StoreView } from './view.ts';

/** A view that does not follow for so long is treated as a store that is away. */
const FOLLOW_MS = 2000;
/** How often a store that is away is asked again. */
const PROBE_MS = 250;

/**
 * Where several processes share the store: a read that starts after a write was acknowledged, by whichever process, sees it.
 * The newest revision is asked for (requests that come together share one question) and the view is waited for.
 */
export class ReadBarrier {
  readonly #kv: Kv;
  readonly #view: StoreView;
  #away = false;
  #notBeforeMs = 0;

  constructor(kv: Kv, view: StoreView) {
    this.#kv = kv;
    this.#view = view;
  }

  /** The store did not answer when it was last asked. */
  get isAway(): boolean {
    return this.#away;
  }

  /** False: the store cannot be asked now, and what the view holds may be old. While that lasts no request waits for it. */
  async pass(): Promise<boolean> {
    if (this.#away && performance.now() < this.#notBeforeMs) return false;
    this.#notBeforeMs = performance.now() + PROBE_MS;
    const asked = this.#ask();
    if (!this.#away) return asked;
    void asked;
    return false;
  }

  async #ask(): Promise<boolean> {
    let fresh = false;
    try {
      fresh = await this.#view.reached(await this.#kv.head(), FOLLOW_MS);
    } catch {
      // Unreachable: the answer below says so, and health says why.
    }
    this.#away = !fresh;
    return fresh;
  }
}

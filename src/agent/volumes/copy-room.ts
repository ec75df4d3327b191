import { setTimeout as pause } from 'node:timers/promises';

/** In the words of programs and of Node. */
export function isShortOfRoom(message: string): boolean {
  return /no space left/i.test(message);
}

/**
 * Room of what was dropped, which comes back later. On the node of a copy, one that does not fit is refused until it has, and comes again; only when
 * one does not fit then either is there no more to be had.
 */
export class CopyRoom {
  #epoch: number | undefined;
  #isReclaimed = false;
  #reclaiming: Promise<void> | undefined;

  /** False: what was dropped has not given its room back within this time. */
  async settled(withinMs: number): Promise<boolean> {
    if (this.#reclaiming === undefined) return true;
    const stop = new AbortController();
    const late = pause(withinMs, false, { signal: stop.signal }).catch(() => false);
    const isBack = await Promise.race([this.#reclaiming.then(() => true), late]);
    stop.abort();
    return isBack;
  }

  /** A copy came in, or failed and left something: what is dropped from now on has not been waited for. */
  reset(): void {
    this.#isReclaimed = false;
  }

  /** A copy of this epoch did not fit. True: although all room was back that there is. */
  isExhausted(epoch: number): boolean {
    if (this.#epoch !== epoch) this.reset();
    this.#epoch = epoch;
    return this.#isReclaimed;
  }

  /** Goes on while nobody waits for it; `onProblem`: it is not back. */
  reclaim(work: Promise<void>, onProblem: (error: unknown) => void): void {
    this.#isReclaimed = false;
    this.#reclaiming = work
      .then(() => {
        this.#isReclaimed = true;
      }, onProblem)
      .finally(() => {
        this.#reclaiming = undefined;
      });
  }
}

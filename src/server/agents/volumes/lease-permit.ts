/** Shared by the two threads: until when leases may be repeated, and when the last one was. Nanoseconds of the process's clock. */
const UNTIL = 0;
const GIVEN = 1;

export function newPermit(): SharedArrayBuffer {
  return new SharedArrayBuffer(2 * BigInt64Array.BYTES_PER_ELEMENT);
}

/**
 * Both sides write first and read then, so that of a lease and an order to stop that meet, at least one is seen by the other:
 * the thread records a lease before it checks the permit, the stopper revokes the permit before it reads the last lease.
 */
export class LeasePermit {
  readonly #slots: BigInt64Array;

  constructor(shared: SharedArrayBuffer) {
    this.#slots = new BigInt64Array(shared);
  }

  allowUntil(ns: bigint): void {
    Atomics.store(this.#slots, UNTIL, ns);
  }

  /** Answers when the last one was noted; 0: never. */
  stop(): bigint {
    Atomics.store(this.#slots, UNTIL, 0n);
    return this.given;
  }

  get given(): bigint {
    return Atomics.load(this.#slots, GIVEN);
  }

  /** For the thread: whether the lease may go out. A note of one that did not only makes a promotion wait longer. */
  give(nowNs: bigint): boolean {
    if (Atomics.load(this.#slots, UNTIL) <= nowNs) return false;
    Atomics.store(this.#slots, GIVEN, nowNs);
    return Atomics.load(this.#slots, UNTIL) > nowNs;
  }
}

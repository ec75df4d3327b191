import { setTimeout as sleep } from 'node:timers/promises';

const RETRY_MS = 500;

export interface BatchWriterOptions {
  /** Whether there is something to store. */
  readonly waiting: () => boolean;
  /** Stores some of it; what it could not store stays waiting. */
  readonly commit: () => Promise<void>;
  readonly onFault: (error: unknown) => void;
  /** Defaults to setTimeout, unreferenced. */
  readonly pause?: (ms: number) => Promise<void>;
}

/** One commit at a time; while one is under way the next one gathers. A commit that fails is tried again after a while. */
export class BatchWriter {
  readonly #options: BatchWriterOptions;
  #writing = false;
  #closed = false;

  constructor(options: BatchWriterOptions) {
    this.#options = options;
  }

  write(): void {
    if (this.#writing || this.#closed || !this.#options.waiting()) return;
    this.#writing = true;
    // In a turn of its own: what arrived together is stored together.
    setImmediate(() => {
      this.#options.commit().then(
        () => this.#written(),
        (error: unknown) => {
          this.#options.onFault(error);
          const pause = this.#options.pause ?? ((ms) => sleep(ms, undefined, { ref: false }));
          void pause(RETRY_MS).then(() => this.#written());
        },
      );
    });
  }

  close(): void {
    this.#closed = true;
  }

  #written(): void {
    this.#writing = false;
    this.write();
  }
}

import { extname } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { Logger } from 'pino';
import { ownFiles } from '../../own-files.ts';
import { threadHeap } from '../../thread-heaps.ts';
import type { FromReader, ToReader } from './large-message-thread.ts';
import { slicesIn } from './message-slices.ts';

/** For a message of 4 MiB in its worst shape many times over; a thread that needs more ends, and the session whose message it was. */
const MAX_HEAP_MB = 512;

/** A thread that reads what is too large to be read between two turns of the loop; started with the first of them. */
export class LargeMessages {
  readonly #log: Logger;
  readonly #waiting = new Map<number, (slices: readonly string[] | undefined) => void>();
  #worker: Worker | undefined;
  #count = 0;

  constructor(log: Logger) {
    this.#log = log;
  }

  /** JSON texts of messages, to be taken one after the other; undefined: it is malformed. */
  read(frame: Buffer): Promise<readonly string[] | undefined> {
    // Of another release by now: read here, for a moment longer than a turn should take.
    if (this.#worker === undefined && ownFiles.replaced) return Promise.resolve(slicesIn(frame));
    this.#worker ??= this.#start();
    this.#count += 1;
    const id = this.#count;
    const { promise, resolve } = Promise.withResolvers<readonly string[] | undefined>();
    this.#waiting.set(id, resolve);
    const { buffer } = frame;
    const isWhole = buffer instanceof ArrayBuffer && frame.length === buffer.byteLength;
    this.#worker.postMessage({ id, frame } satisfies ToReader, isWhole ? [buffer] : []);
    return promise;
  }

  #start(): Worker {
    const thread = `./large-message-thread${extname(import.meta.url)}`;
    const worker = new Worker(new URL(thread, import.meta.url), {
      execArgv: [],
      resourceLimits: threadHeap({ maxOldGenerationSizeMb: MAX_HEAP_MB }),
    });
    worker.unref();
    worker.on('message', ({ id, slices }: FromReader) => this.#answer(id, slices));
    worker.on('error', (error) => this.#log.warn({ err: error }, 'the reader of large messages ended'));
    worker.once('exit', () => {
      this.#worker = undefined;
      for (const id of this.#waiting.keys()) this.#answer(id, undefined);
    });
    return worker;
  }

  #answer(id: number, slices: readonly string[] | undefined): void {
    const resolve = this.#waiting.get(id);
    this.#waiting.delete(id);
    resolve?.(slices);
  }

  close(): void {
    void this.#worker?.terminate();
  }
}

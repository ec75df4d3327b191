import type { IncomingMessage, ServerResponse } from 'node:http';
import { formatBytes } from '../../core/model/quantity.ts';
import { reject } from '../../core/rejections/reject.ts';
import type { Rejection } from '../../core/rejections/rejection.ts';

/** Smaller ones are always taken: a few large bodies at a time must not keep everybody else waiting. */
const SMALL_BYTES = 16 * 1024;
const SHARE_OF_HEAP = 32;
const LEAST_BYTES = 4 * 1024 * 1024;
const MOST_BYTES = 64 * 1024 * 1024;

/** A body that is read and worked on takes about ten times its size of the heap. */
export function bodyBudget(heapBytes: number): number {
  return Math.min(MOST_BYTES, Math.max(LEAST_BYTES, Math.floor(heapBytes / SHARE_OF_HEAP)));
}

/** Bounds the bytes of the request bodies that are read or worked on at one time. */
export class BodyBudget {
  readonly #budget: number;
  readonly #mostBytes: number;
  #inFlight = 0;

  constructor(budget: number, mostBytes: number) {
    this.#budget = Math.max(budget, mostBytes);
    this.#mostBytes = mostBytes;
  }

  get inFlight(): number {
    return this.#inFlight;
  }

  /** Takes what the body may need, until the answer has been sent or the connection is gone. */
  admit(
    { headers }: Pick<IncomingMessage, 'headers'>,
    answer: Pick<ServerResponse, 'once'>,
  ): Rejection | undefined {
    const bytes = this.#bytesOf(headers);
    if (bytes <= SMALL_BYTES) return undefined;
    if (this.#inFlight + bytes > this.#budget) return this.#refusal(bytes);
    this.#inFlight += bytes;
    answer.once('close', () => {
      this.#inFlight -= bytes;
    });
    return undefined;
  }

  /** Without a length it may be as long as any. */
  #bytesOf(headers: IncomingMessage['headers']): number {
    if (headers['transfer-encoding'] !== undefined) return this.#mostBytes;
    const length = Number(headers['content-length'] ?? 0);
    return length > 0 ? Math.min(length, this.#mostBytes) : 0;
  }

  #refusal(bytes: number): Rejection {
    return {
      ...reject('memory_low', {
        field: 'server',
        received: `(a body of ${bytes} bytes beside ${this.#inFlight} that are being read)`,
        expected: `at most ${formatBytes(this.#budget)} of bodies at a time; bodies up to ${formatBytes(SMALL_BYTES)} are always taken`,
        why: 'The control plane reads as many large bodies at a time as it has memory for; send it again in a moment.',
      }),
      retryAfterSeconds: 1,
    };
  }
}

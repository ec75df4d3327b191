import { parentPort } from 'node:worker_threads';
import { slicesIn } from './message-slices.ts';

export interface ToReader {
  readonly id: number;
  readonly frame: Uint8Array;
}

export interface FromReader {
  readonly id: number;
  /** JSON texts of decoded messages; undefined: malformed. Texts, since objects take longer to pass between threads than to read. */
  readonly slices: readonly string[] | undefined;
}

parentPort?.on('message', ({ id, frame }: ToReader) => {
  const slices = slicesIn(Buffer.from(frame.buffer, frame.byteOffset, frame.length));
  parentPort?.postMessage({ id, slices } satisfies FromReader, []);
});

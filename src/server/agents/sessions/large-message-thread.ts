import { parentPort } from 'node:worker_threads';
import { decodeAgentMessage } from './agent-message.ts';
import { messageSlices } from './message-slices.ts';

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
  const message = decodeAgentMessage(
    Buffer.from(frame.buffer, frame.byteOffset, frame.length).toString('utf8'),
  );
  const slices = message && messageSlices(message).map((slice) => JSON.stringify(slice));
  parentPort?.postMessage({ id, slices } satisfies FromReader, []);
});

import { createWebSocketStream, type WebSocket } from 'ws';
import { CHANNEL_OUTPUT, CHANNEL_PIECE_BYTES } from '../../core/contract/channel-messages.ts';
import type { OutputStream } from '../engine/engine.ts';

const CLOSE_MS = 5000;

/** One connection to the control plane, for the bytes of one question in both directions, no faster than they are taken. */
export class Channel {
  readonly #socket: WebSocket;
  /** What the client sends: bytes are input, text is a `ChannelControl`. To be read once. */
  readonly incoming: AsyncIterable<Buffer | string>;

  constructor(socket: WebSocket) {
    this.#socket = socket;
    const stream = createWebSocketStream(socket, { readableObjectMode: true });
    stream.on('error', () => undefined);
    this.incoming = stream;
  }

  /** Resolves when it has left for the network. */
  async send(bytes: Buffer, stream: OutputStream): Promise<void> {
    for (let from = 0; from < bytes.length; from += CHANNEL_PIECE_BYTES) {
      const piece = bytes.subarray(from, from + CHANNEL_PIECE_BYTES);
      await this.#send(Buffer.concat([Buffer.of(CHANNEL_OUTPUT[stream]), piece]));
    }
  }

  /** Nothing more comes from here. */
  async sendEnd(): Promise<void> {
    await this.#send(JSON.stringify({ type: 'eof' }));
  }

  #send(frame: Buffer | string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#socket.send(frame, { binary: typeof frame !== 'string' }, (error) =>
        error == null ? resolve() : reject(error),
      );
    });
  }

  /** After everything that was sent has arrived; the answer says that it did. */
  async close(): Promise<void> {
    const socket = this.#socket;
    if (socket.readyState === socket.CLOSED) return;
    await new Promise<void>((resolve) => {
      const late = setTimeout(() => socket.terminate(), CLOSE_MS);
      socket.once('close', () => {
        clearTimeout(late);
        resolve();
      });
      socket.close(1000);
    });
  }
}

/** At the place where the control plane that asked waits for it. */
export async function openChannel(
  dial: (path: string) => WebSocket,
  channelId: string,
  signal: AbortSignal,
): Promise<Channel> {
  signal.throwIfAborted();
  const socket = dial(`/agent/v1/relay/${encodeURIComponent(channelId)}`);
  // Before it is open: nothing may be missed.
  const channel = new Channel(socket);
  const abort = (): void => socket.terminate();
  signal.addEventListener('abort', abort, { once: true });
  socket.once('close', () => signal.removeEventListener('abort', abort));
  await new Promise<void>((resolve, reject) => {
    socket.once('open', resolve);
    socket.once('error', reject);
    socket.once('close', () => reject(new Error('the control plane did not wait for the connection')));
  });
  return channel;
}

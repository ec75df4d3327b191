import { createWebSocketStream, type WebSocket } from 'ws';
import type { ChannelNews } from '../../../core/contract/channel-messages.ts';

const CLOSE_MS = 5000;

/** The client's end of a channel: read no faster than what it says is taken. */
export class ClientChannel {
  readonly #connection: WebSocket;
  readonly #items: AsyncIterator<Buffer | string>;

  constructor(connection: WebSocket) {
    this.#connection = connection;
    const stream = createWebSocketStream(connection, { readableObjectMode: true });
    stream.on('error', () => undefined);
    this.#items = stream.iterator({ destroyOnReturn: false });
  }

  /** Undefined: none in time, or it is no text. */
  async first(withinMs: number): Promise<string | undefined> {
    const late = setTimeout(() => this.#connection.terminate(), withinMs);
    try {
      const item = await this.next();
      return typeof item === 'string' ? item : undefined;
    } finally {
      clearTimeout(late);
    }
  }

  /** Undefined: it has left. */
  async next(): Promise<Buffer | string | undefined> {
    try {
      const { done, value } = await this.#items.next();
      return done === true ? undefined : value;
    } catch {
      return undefined;
    }
  }

  /** Resolves when it has left for the network: no faster than the client reads. */
  async send(frame: Buffer | string): Promise<void> {
    await sendFrame(this.#connection, frame);
  }

  async news(news: ChannelNews): Promise<void> {
    await this.send(JSON.stringify(news)).catch(() => undefined);
  }

  async end(news: ChannelNews): Promise<void> {
    await this.news(news);
    this.#connection.close(1000);
    setTimeout(() => this.#connection.terminate(), CLOSE_MS).unref();
    // Nothing that still comes is kept.
    while ((await this.next()) !== undefined);
  }
}

export async function sendFrame(socket: WebSocket, frame: Buffer | string): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    socket.send(frame, { binary: typeof frame !== 'string' }, (error) =>
      error == null ? resolve() : reject(error),
    );
  });
}

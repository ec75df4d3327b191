import type { IncomingMessage, Server } from 'node:http';
import type { Socket } from 'node:net';

interface Extended {
  readonly timer: NodeJS.Timeout;
  /** Its head was read meanwhile. */
  request?: IncomingMessage;
}

/**
 * Connections whose request did not arrive in time. Node counts before it reads: of a process that was stopped, or starved of its
 * processor, requests would be called late that have been waiting for it. So what has come is read first; a connection that brought
 * something has the same time once more, and no third time.
 */
export class LateRequests {
  readonly #server: () => Server;
  readonly #termMs: number;
  readonly #extended = new Map<Socket, Extended>();
  readonly #onRequest = (request: IncomingMessage): void => {
    const extended = this.#extended.get(request.socket);
    if (extended !== undefined) extended.request = request;
  };
  /** From here on it is a session. */
  readonly #onUpgrade = ({ socket }: IncomingMessage): void => this.#forget(socket);

  constructor(server: () => Server, termMs: number) {
    this.#server = server;
    this.#termMs = termMs;
  }

  judge(socket: Socket, refuse: () => void): void {
    const { bytesRead } = socket;
    // After what can be read now was read.
    setImmediate(() => {
      if (socket.destroyed) return;
      if (socket.bytesRead === bytesRead || this.#extended.has(socket)) refuse();
      else this.#extend(socket, refuse);
    });
  }

  #extend(socket: Socket, refuse: () => void): void {
    if (this.#extended.size === 0)
      this.#server().prependListener('request', this.#onRequest).prependListener('upgrade', this.#onUpgrade);
    const timer = setTimeout(() => {
      const { request } = this.#extended.get(socket) ?? {};
      this.#forget(socket);
      if (request === undefined) refuse();
      // Somebody waits for its body, and may have begun to answer.
      else if (!request.complete) socket.destroy();
    }, this.#termMs).unref();
    this.#extended.set(socket, { timer });
    socket.once('close', () => this.#forget(socket));
  }

  #forget(socket: Socket): void {
    const extended = this.#extended.get(socket);
    if (extended === undefined) return;
    clearTimeout(extended.timer);
    this.#extended.delete(socket);
    if (this.#extended.size === 0)
      this.#server().off('request', this.#onRequest).off('upgrade', this.#onUpgrade);
  }
}

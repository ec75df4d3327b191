import type { Duplex } from 'node:stream';

const MOST = 1000;
const LONGEST_MS = 5_000;
const LOOK_MS = 20;
const REFUSAL = 'HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\n\r\n';

interface Arrival {
  readonly letIn: () => void;
  readonly untilMs: number;
}

/**
 * Agents that dial while the control plane reads its store. They are let in once it is read, for a few seconds at most: told to come back
 * later they would be a second or two late, and with them every container that was to be started meanwhile.
 */
export class Arrivals {
  readonly #ready: () => boolean;
  /** By connection: its listeners live as long as it does, and must not hold what it asked for. */
  readonly #waiting = new Map<Duplex, Arrival>();
  #timer: NodeJS.Timeout | undefined;

  constructor(ready: () => boolean) {
    this.#ready = ready;
  }

  arrive(socket: Duplex, letIn: () => void): void {
    if (this.#ready()) return letIn();
    if (this.#waiting.size >= MOST) return void socket.end(REFUSAL);
    this.#waiting.set(socket, { letIn, untilMs: performance.now() + LONGEST_MS });
    socket.on('error', () => socket.destroy());
    socket.once('close', () => this.#waiting.delete(socket));
    this.#timer ??= setInterval(() => this.#look(), LOOK_MS).unref();
  }

  #look(): void {
    const isReady = this.#ready();
    for (const [socket, { letIn, untilMs }] of this.#waiting) {
      if (!isReady && performance.now() < untilMs) continue;
      this.#waiting.delete(socket);
      if (isReady) letIn();
      else socket.end(REFUSAL);
    }
    if (this.#waiting.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }
}

import { get, type IncomingMessage } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { Dice } from '../openapi-fuzz.ts';

export interface EventReaderOptions {
  /** Control planes that any connection may go to. */
  readonly urls: readonly string[];
  readonly token: string;
  /** The last event that it has: what comes after it is what it must get. */
  readonly after: string;
  readonly dice: Dice;
}

const MOST_EVENTS = 300;
const LONGEST_MS = 3000;
const REFUSED_PAUSE_MS = 20;

/** A reader of the public stream of events that hangs up at random and goes on where it was, at whichever control plane. */
export class EventReader {
  /** Ids, in the order they came in. */
  readonly received: string[] = [];
  /** Frames whose id and record did not agree. */
  readonly damaged: string[] = [];
  connections = 0;
  refused = 0;
  readonly #options: EventReaderOptions;
  readonly #reading: Promise<void>;
  #hangUp: () => void = () => undefined;
  #stopped = false;

  constructor(options: EventReaderOptions) {
    this.#options = options;
    this.#reading = this.#read();
  }

  get last(): string {
    return this.received.at(-1) ?? this.#options.after;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    this.#hangUp();
    await this.#reading;
  }

  async #read(): Promise<void> {
    while (!this.#stopped) {
      const connected = await this.#connect();
      if (!connected) {
        this.refused += 1;
        await delay(REFUSED_PAUSE_MS);
      }
    }
  }

  /** One connection, until it is hung up on by either side; false: nobody answered as wanted. */
  #connect(): Promise<boolean> {
    const { urls, token, dice } = this.#options;
    const events = 1 + dice.below(MOST_EVENTS);
    const patienceMs = dice.below(LONGEST_MS);
    return new Promise((resolve) => {
      const request = get(`${dice.pick(urls)}/api/v1/events`, {
        agent: false,
        headers: {
          authorization: `Bearer ${token}`,
          accept: 'text/event-stream',
          'last-event-id': this.last,
        },
      });
      const timer = setTimeout(() => request.destroy(), patienceMs);
      let answered = false;
      this.#hangUp = () => request.destroy();
      request.on('error', () => undefined);
      request.on('close', () => {
        clearTimeout(timer);
        resolve(answered);
      });
      request.on('response', (response) => {
        answered = response.statusCode === 200;
        if (answered) this.connections += 1;
        this.#take(response, events, () => request.destroy());
      });
    });
  }

  #take(response: IncomingMessage, most: number, hangUp: () => void): void {
    let left = most;
    let rest = '';
    response.setEncoding('utf8');
    response.on('error', () => undefined);
    response.on('data', (text: string) => {
      const frames = `${rest}${text}`.split('\n\n');
      rest = frames.pop() ?? '';
      for (const frame of frames) {
        const id = /^id: (.*)$/m.exec(frame)?.[1];
        if (id === undefined || left === 0) continue;
        const data = /^data: (.*)$/m.exec(frame)?.[1] ?? '{}';
        if ((JSON.parse(data) as { id?: string }).id !== id) this.damaged.push(frame);
        this.received.push(id);
        left -= 1;
        if (left === 0) hangUp();
      }
    });
  }
}

import { setImmediate as turn } from 'node:timers/promises';
import type { AgentMessage } from '../../../core/protocol/agent-protocol.ts';
import { decodeAgentMessage } from './agent-message.ts';
import type { Inflow } from './inflow.ts';
import type { LargeMessages } from './large-messages.ts';

/** Read between two turns of the loop; what is longer is read by another thread. */
export const SMALL_BYTES = 64 * 1024;

/** Messages of one session in their order: after a large one nothing more is read until all of it was taken. */
export class Inbox {
  readonly #inflow: Inflow;
  readonly #large: LargeMessages;
  readonly #onMessage: (message: AgentMessage | undefined) => void;
  /** What had been read from the socket already: at most one chunk. */
  readonly #behind: Buffer[] = [];
  #busy = false;

  /** `onMessage` gets undefined for one that is malformed. */
  constructor(inflow: Inflow, large: LargeMessages, onMessage: (message: AgentMessage | undefined) => void) {
    this.#inflow = inflow;
    this.#large = large;
    this.#onMessage = onMessage;
  }

  take(frame: Buffer): void {
    if (this.#busy) this.#behind.push(frame);
    else if (frame.length <= SMALL_BYTES) this.#takeSmall(frame);
    else void this.#takeInTurn(frame);
  }

  #takeSmall(frame: Buffer): void {
    const message = decodeAgentMessage(frame.toString('utf8'));
    this.#charge(message, frame.length);
    this.#onMessage(message);
  }

  async #takeInTurn(first: Buffer): Promise<void> {
    this.#busy = true;
    const release = this.#inflow.hold();
    for (let frame: Buffer | undefined = first; frame !== undefined; frame = this.#behind.shift()) {
      if (frame.length <= SMALL_BYTES) this.#takeSmall(frame);
      else await this.#takeLarge(frame);
    }
    this.#busy = false;
    release();
  }

  async #takeLarge(frame: Buffer): Promise<void> {
    const { length } = frame;
    const slices = await this.#large.read(frame);
    if (slices === undefined) this.#onMessage(undefined);
    for (const [at, slice] of (slices ?? []).entries()) {
      // Decoded by the thread: it has known fields only.
      const message = JSON.parse(slice) as AgentMessage;
      if (at === 0) this.#charge(message, length);
      this.#onMessage(message);
      await turn();
    }
  }

  /** Text is read at once; all else by its parts. */
  #charge(message: AgentMessage | undefined, length: number): void {
    if (message?.type !== 'data' || message.value !== undefined) this.#inflow.parts(length);
  }
}

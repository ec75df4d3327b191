import type { AgentMessage, ImagesNeeded } from '../../core/protocol/agent-protocol.ts';

const ANSWER_DEADLINE_MS = 10_000;
/** What a control plane takes at once. */
const MOST = 500;

type Needed = ReadonlyMap<string, string>;

/** Asks the control plane which images it needs. Without an answer nothing is known, and nothing may go. */
export class ImageQuestions {
  readonly #send: (message: AgentMessage) => boolean;
  readonly #pending = new Map<string, (needed: Needed | undefined) => void>();
  #epoch: number | undefined;
  #count = 0;

  constructor(send: (message: AgentMessage) => boolean) {
    this.#send = send;
  }

  /** Undefined: this control plane is of a release that does not answer. */
  begin(epoch: number | undefined): void {
    this.#epoch = epoch;
  }

  /** Undefined: there is no session, or no answer. Of very many, those beyond a bound count as needed. */
  async ask(images: readonly string[]): Promise<Needed | undefined> {
    if (this.#epoch === undefined) return undefined;
    const [asked, rest] = [images.slice(0, MOST), images.slice(MOST)];
    const answer = await this.#answerTo(this.#epoch, asked);
    if (answer === undefined) return undefined;
    return new Map([...answer, ...rest.map((image) => [image, 'it is left to the next round'] as const)]);
  }

  answer({ requestId, needed }: ImagesNeeded): void {
    this.#settle(requestId, new Map(needed.map(({ image, why }) => [image, why])));
  }

  lost(): void {
    this.#epoch = undefined;
    for (const requestId of this.#pending.keys()) this.#settle(requestId, undefined);
  }

  #answerTo(epoch: number, images: readonly string[]): Promise<Needed | undefined> {
    this.#count += 1;
    const requestId = String(this.#count);
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#settle(requestId, undefined), ANSWER_DEADLINE_MS);
      this.#pending.set(requestId, (needed) => {
        clearTimeout(timer);
        resolve(needed);
      });
      if (!this.#send({ type: 'ask-images', epoch, requestId, images })) this.#settle(requestId, undefined);
    });
  }

  #settle(requestId: string, needed: Needed | undefined): void {
    const settle = this.#pending.get(requestId);
    this.#pending.delete(requestId);
    settle?.(needed);
  }
}

import type { AgentMessage, IngressMaterial } from '../../core/protocol/agent-protocol.ts';

const ANSWER_MS = 10_000;
/** The control plane answers no more of a node at once. */
const MAX_UNDER_WAY = 4;
const AGAIN = 'ask again';

/** No session, or no answer: asked again later, and nothing is concluded from it. */
export class UnansweredError extends Error {
  override readonly name = 'UnansweredError';
}

export interface Stored {
  readonly value?: string;
  readonly version?: number;
}

interface Pending {
  readonly timer: NodeJS.Timeout;
  readonly resolve: (stored: Stored) => void;
  readonly reject: (error: Error) => void;
}

/** Asks the control plane for certificates and files of ACME, and matches its answers to the questions. */
export class MaterialQuestions {
  readonly #send: (message: AgentMessage) => boolean;
  readonly #pending = new Map<string, Pending>();
  #count = 0;
  readonly #waiting: (() => void)[] = [];
  #underWay = 0;

  constructor(send: (message: AgentMessage) => boolean) {
    this.#send = send;
  }

  async get(key: string): Promise<Stored> {
    return await this.#ask((id) => ({ type: 'ingressGet', id, key }));
  }

  async put(key: string, value: string): Promise<Stored> {
    return await this.#ask((id) => ({ type: 'ingressPut', id, key, value }));
  }

  answer({ id, value, version, problem }: IngressMaterial): void {
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    this.#pending.delete(id);
    clearTimeout(pending.timer);
    if (problem?.endsWith(AGAIN) === true) pending.reject(new UnansweredError(problem));
    else if (problem !== undefined) pending.reject(new Error(problem.slice(0, 500)));
    else
      pending.resolve({ ...(value !== undefined && { value }), ...(version !== undefined && { version }) });
  }

  lost(): void {
    for (const { timer, reject } of this.#pending.values()) {
      clearTimeout(timer);
      reject(new UnansweredError('the session ended'));
    }
    this.#pending.clear();
  }

  async #ask(question: (id: string) => AgentMessage): Promise<Stored> {
    if (this.#underWay >= MAX_UNDER_WAY) await new Promise<void>((go) => this.#waiting.push(go));
    this.#underWay += 1;
    try {
      return await this.#askNow(question);
    } finally {
      this.#underWay -= 1;
      this.#waiting.shift()?.();
    }
  }

  #askNow(question: (id: string) => AgentMessage): Promise<Stored> {
    this.#count += 1;
    const id = String(this.#count);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#pending.delete(id);
        reject(new UnansweredError(`the control plane did not answer in ${ANSWER_MS} ms`));
      }, ANSWER_MS);
      this.#pending.set(id, { timer, resolve, reject });
      if (this.#send(question(id))) return;
      this.#pending.delete(id);
      clearTimeout(timer);
      reject(new UnansweredError('no session with the control plane'));
    });
  }
}

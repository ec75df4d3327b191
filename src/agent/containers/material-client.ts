import type { AgentMessage, AssignedInstance, Resolved } from '../../core/protocol/agent-protocol.ts';
import { optional } from '../../core/model/values.ts';
import { SECRETS_BACK_OFF, StepError } from './failures.ts';

const ANSWER_DEADLINE_MS = 10_000;

/** The session ended while an answer was awaited: no failure of anything, the next session asks again. */
export class SessionLostError extends Error {
  override readonly name = 'SessionLostError';
}

/** Values of secrets, for the one container that is about to be made. In memory only. */
export type Material = Pick<Extract<Resolved, { readonly ok: true }>, 'environment' | 'registry' | 'files'>;

interface Pending {
  readonly timer: NodeJS.Timeout;
  readonly resolve: (material: Material) => void;
  readonly reject: (error: Error) => void;
}

/** Asks the control plane for secrets and matches its answers to the questions. */
export class MaterialClient {
  readonly #send: (message: AgentMessage) => boolean;
  readonly #pending = new Map<string, Pending>();
  #count = 0;

  constructor(send: (message: AgentMessage) => boolean) {
    this.#send = send;
  }

  resolve({ id, specHash, secretsVersion }: AssignedInstance): Promise<Material> {
    return this.#ask((requestId) => ({
      type: 'resolve',
      requestId,
      instanceId: id,
      specHash,
      secretsVersion,
    }));
  }

  /** For an image that is fetched before the volume comes: a credential of its registry, if there is one. */
  resolveImage(volumeId: string, image: string): Promise<Material> {
    return this.#ask((requestId) => ({ type: 'resolve-image', requestId, volumeId, image }));
  }

  #ask(question: (requestId: string) => AgentMessage): Promise<Material> {
    this.#count += 1;
    const requestId = String(this.#count);
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        this.#pending.delete(requestId);
        reject(unresolved(`the control plane did not answer in ${ANSWER_DEADLINE_MS} ms`));
      }, ANSWER_DEADLINE_MS);
      this.#pending.set(requestId, { timer, resolve, reject });
      if (!this.#send(question(requestId))) {
        this.#pending.delete(requestId);
        clearTimeout(timer);
        reject(new SessionLostError('no session'));
      }
    });
  }

  answer(answer: Resolved): void {
    const pending = this.#pending.get(answer.requestId);
    if (pending === undefined) return;
    this.#pending.delete(answer.requestId);
    clearTimeout(pending.timer);
    if (!answer.ok) return pending.reject(unresolved(answer.message));
    const { environment, registry, files } = answer;
    pending.resolve({ environment, ...optional('registry', registry), ...optional('files', files) });
  }

  lost(): void {
    for (const { timer, reject } of this.#pending.values()) {
      clearTimeout(timer);
      reject(new SessionLostError('the session ended'));
    }
    this.#pending.clear();
  }
}

function unresolved(message: string): StepError {
  return new StepError('secret_unresolved', message, SECRETS_BACK_OFF);
}

import { join } from 'node:path';
import { messageOf } from '../../core/model/values.ts';
import type { Log } from '../log.ts';
import type { Engine } from './engine.ts';
import { creationProblem } from './errors.ts';

const DEADLINE_MS = 5_000;
/** How soon a package that was installed is noticed. */
const AGAIN_MS = 5_000;

export interface CreationCheckOptions {
  readonly engine: Pick<Engine, 'creationProblem'>;
  readonly node: string;
  readonly dataDir: string;
  readonly onChange: () => void;
  readonly log: Log;
  readonly againMs?: number;
}

/**
 * Whether the engine can create containers at all. Tried at the start of each session; after that a creation that fails says so, and
 * only while it cannot is it tried again.
 */
export class CreationCheck {
  readonly #options: CreationCheckOptions;
  #problem: string | undefined;
  #again: NodeJS.Timeout | undefined;
  #ended = false;

  constructor(options: CreationCheckOptions) {
    this.#options = options;
  }

  get problem(): string | undefined {
    return this.#problem;
  }

  /** An engine that does not answer says nothing about what it can. */
  async look(): Promise<void> {
    const { engine, node, dataDir, log } = this.#options;
    try {
      const trial = { name: `berth-trial-${node}`, folder: join(dataDir, 'trial') };
      this.#set(await engine.creationProblem(trial, { deadlineMs: DEADLINE_MS }));
    } catch (error) {
      log.debug('whether the engine creates containers could not be tried', { problem: messageOf(error) });
      this.#tryAgain();
    }
  }

  /** A container was not created. */
  failed(error: unknown): void {
    const problem = creationProblem(error);
    if (problem !== undefined) this.#set(problem);
  }

  end(): void {
    this.#ended = true;
    clearTimeout(this.#again);
  }

  #set(problem: string | undefined): void {
    const changed = problem !== this.#problem;
    this.#problem = problem;
    this.#tryAgain();
    if (!changed) return;
    const { log, onChange } = this.#options;
    if (problem === undefined) log.info('the engine creates containers again');
    else log.error('this node is not ready', { problem });
    onChange();
  }

  #tryAgain(): void {
    clearTimeout(this.#again);
    if (this.#problem === undefined || this.#ended) return;
    this.#again = setTimeout(() => void this.look(), this.#options.againMs ?? AGAIN_MS);
    this.#again.unref();
  }
}

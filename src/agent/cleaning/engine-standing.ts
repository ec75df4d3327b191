import { access, constants } from 'node:fs/promises';
import { errorCode } from '../log.ts';

const LOOK_MS = 15_000;
/** For so long an engine may be away, as over its own restart, without keeping work from the machine. */
const AWAY_MS = 30_000;

export interface EngineStandingOptions {
  /** Why it does not answer at present. */
  readonly problem: () => string | undefined;
  /** A folder on the engine's disk. */
  readonly rootDir: () => string;
  readonly onChange: () => void;
}

/** Whether the engine can be given work: it answers, in a version that is known, and its disk can be written. */
export class EngineStanding {
  readonly #options: EngineStandingOptions;
  #awaySinceMs: number | undefined;
  #isReadOnly = false;
  #isLooking = false;

  constructor(options: EngineStandingOptions) {
    this.#options = options;
  }

  run(signal: AbortSignal): void {
    const timer = setInterval(() => void this.look(), LOOK_MS).unref();
    signal.addEventListener('abort', () => clearInterval(timer), { once: true });
  }

  /** One at a time: a disk that hangs holds one thread of the process, not one more with every look. */
  async look(): Promise<void> {
    if (this.#isLooking) return;
    this.#isLooking = true;
    const before = this.#isReadOnly;
    this.#isReadOnly = await isReadOnly(this.#options.rootDir());
    this.#isLooking = false;
    if (this.#isReadOnly !== before) this.#options.onChange();
  }

  /** For a person; undefined: nothing is known against it. */
  fault(nowMs = performance.now()): string | undefined {
    const problem = this.#options.problem();
    this.#awaySinceMs = problem === undefined ? undefined : (this.#awaySinceMs ?? nowMs);
    const [folder, until] = [this.#options.rootDir(), 'nothing new is placed here until it does'];
    if (this.#isReadOnly)
      return `the engine's folder ${folder} is read-only, as file systems become after errors of their disk: look at dmesg; nothing new is placed here until it can be written`;
    if (problem === undefined || nowMs - (this.#awaySinceMs ?? nowMs) < AWAY_MS) return undefined;
    return `the container engine does not work, and ${until}: ${problem}`;
  }
}

/** What another machine or user has says nothing. */
async function isReadOnly(folder: string): Promise<boolean> {
  try {
    await access(folder, constants.W_OK);
    return false;
  } catch (error) {
    return errorCode(error) === 'EROFS';
  }
}

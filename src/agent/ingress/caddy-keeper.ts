import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { messageOf } from '../../core/model/values.ts';
import { backOffMs } from '../back-off.ts';
import { type Log } from '../log.ts';
import { findProgram, PROGRAMS } from '../volumes/program.ts';
import { Caddy, versionIn } from './caddy.ts';
import type { CaddyPlace } from './caddy-config.ts';

const AGAIN = { baseMs: 500, capMs: 30_000 };
/** After this long without an end, earlier ends do not count. */
const STEADY_MS = 30_000;
const VERSION_MS = 5_000;
const MISSING = `Caddy is not installed on this node; it is in the package ${PROGRAMS.caddy}`;
const ENDED = 'Caddy has ended and is started again';

/** Keeps one Caddy running with what it is to serve; tried again with pauses that grow. */
export class CaddyKeeper {
  readonly #folder: string;
  readonly #log: Log;
  readonly #onEnded: () => Promise<void>;
  #loaded: string | undefined;
  #taken = false;
  #failures = 0;
  /** Since it was last steady. */
  #ends = 0;
  #againMs = 0;
  #upSinceMs = -Infinity;
  #problem: string | undefined;

  constructor(folder: string, log: Log, onEnded: () => Promise<void>) {
    this.#folder = folder;
    this.#log = log;
    this.#onEnded = onEnded;
  }

  /** Why nothing is served now. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** It has the newest configuration. */
  get loaded(): boolean {
    return this.#loaded !== undefined;
  }

  /** It serves what an earlier agent gave it, as far as anybody knows. */
  get taken(): boolean {
    return this.#taken && !this.loaded && this.#problem === undefined;
  }

  async version(): Promise<{ readonly caddy: string } | { readonly problem: string }> {
    const program = await findProgram('caddy');
    if (program === undefined) return { problem: MISSING };
    try {
      const { stdout } = await promisify(execFile)(program, ['version'], {
        timeout: VERSION_MS,
        env: { HOME: '/' },
      });
      const caddy = versionIn(stdout) ?? stdout.trim().slice(0, 64);
      return isTooOld(caddy) ? { problem: tooOld(program, caddy) } : { caddy };
    } catch (error) {
      return { problem: `${program} does not work: ${messageOf(error)}` };
    }
  }

  /** It is to be looked after before the next round. */
  async isDue(place: CaddyPlace): Promise<boolean> {
    if (performance.now() < this.#againMs) return false;
    return this.#problem !== undefined || (this.loaded && !(await new Caddy('', '', place).isUp()));
  }

  /**
   * `configure` makes what it is to serve, undefined: not known yet. `taken`: it was started by an earlier agent and serves what that
   * one gave it. Nothing is started to serve nothing.
   */
  async ensure(
    place: CaddyPlace,
    isWanted: boolean,
    configure: (taken: boolean) => Promise<string | undefined>,
  ): Promise<void> {
    if (performance.now() < this.#againMs) return;
    try {
      const program = await findProgram('caddy');
      if (program === undefined) throw new Error(MISSING);
      const caddy = new Caddy(program, this.#folder, place);
      const wasUp = await caddy.isUp();
      if (!wasUp && !isWanted) return;
      if (!wasUp && this.loaded && (await this.#hasEndedAgain())) return;
      this.#taken = wasUp && !this.loaded;
      const config = await configure(this.#taken);
      if (!wasUp) await this.#start(caddy);
      if (config !== undefined && config !== this.#loaded) {
        await caddy.load(config);
        this.#log.info('Caddy was given hosts, paths and certificates');
        this.#loaded = config;
      }
      this.#problem = undefined;
      if (performance.now() - this.#upSinceMs > STEADY_MS) this.#failures = 0;
    } catch (error) {
      this.#fail(messageOf(error));
    }
  }

  /** Once it is started again at once; what goes on ending waits longer each time, and says so. */
  async #hasEndedAgain(): Promise<boolean> {
    this.#loaded = undefined;
    if (performance.now() - this.#upSinceMs > STEADY_MS) [this.#failures, this.#ends] = [0, 0];
    this.#ends += 1;
    const isSoon = this.#ends > 1;
    if (!isSoon) {
      this.#log.warn(ENDED);
      this.#problem = ENDED;
    } else this.#fail(endedAgain(this.#folder));
    await this.#onEnded();
    return isSoon;
  }

  async #start(caddy: Caddy): Promise<void> {
    await caddy.start();
    this.#failures += 1;
    this.#upSinceMs = performance.now();
  }

  #fail(words: string): void {
    this.#failures += 1;
    this.#againMs = performance.now() + backOffMs(this.#failures, AGAIN);
    const problem = takenPort(words) ?? words.slice(0, 500);
    if (problem !== this.#problem) this.#log.warn('Caddy does not serve what it should', { reason: problem });
    this.#problem = problem;
  }
}

function endedAgain(folder: string): string {
  return `Caddy ends again and again on this node; what it said is in ${folder}/start.log and ${folder}/logs/caddy.log, and the kernel's log says whether it was killed for memory`;
}

const OLDEST = [2, 6] as const;

/** What is no version is left to Caddy itself. */
export function isTooOld(version: string): boolean {
  const [major = Number.NaN, minor = Number.NaN] = version.split('.').map(Number);
  return major < OLDEST[0] || (major === OLDEST[0] && minor < OLDEST[1]);
}

function tooOld(program: string, version: string): string {
  return `${program} is Caddy ${version}; ${OLDEST.join('.')} or newer is needed`;
}

/** `… listen tcp :80: bind: address already in use`. */
export function takenPort(words: string): string | undefined {
  const port = /:([0-9]{1,5}): bind: address already in use/.exec(words)?.[1];
  return port === undefined
    ? undefined
    : `tcp port ${port} is in use on this node: end what listens there, or choose other ports with --ingress`;
}

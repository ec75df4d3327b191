import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { messageOf } from '../../core/model/values.ts';
import type { ProgramConfinement } from './confinement.ts';
import { feed, findProgram, type Program, PROGRAMS } from './program.ts';

const CONFINING: readonly Program[] = ['unshare', 'pivot_root', 'setpriv'];
const TRIAL_MS = 20_000;
/** A program that reads nothing for this long waits for input that never comes, or was made to. */
const HELD_MS = 600_000;

/** A copy is not taken in: the program that reads it cannot be held to the folder of the copy. */
export class ReceiveUnsafeError extends Error {
  override readonly name = 'ReceiveUnsafeError';
}

export interface ReceivingOptions {
  readonly program: Program;
  /** Anything that it does and that changes nothing. */
  readonly trial: readonly string[];
  readonly capabilities?: ProgramConfinement['capabilities'];
  /** A further reason not to use it. */
  readonly unfit?: () => Promise<string | undefined>;
  readonly heldMs?: number | undefined;
}

/** Runs the program that reads copies, confined, or says why that cannot be done here. */
export class Receiving {
  readonly #options: ReceivingOptions;
  #works = false;

  constructor(options: ReceivingOptions) {
    this.#options = options;
  }

  /** What is wrong and what to do; undefined: copies can be received. Tried until it works once. */
  async problem(): Promise<string | undefined> {
    if (this.#works) return undefined;
    for (const program of CONFINING) {
      if ((await findProgram(program)) === undefined)
        return `${program} is not installed (package ${PROGRAMS[program]})`;
    }
    const unfit = await this.#options.unfit?.();
    if (unfit !== undefined) return unfit;
    const { program, trial } = this.#options;
    const base = await mkdtemp(join(tmpdir(), 'berth-jail-'));
    try {
      await this.#feed(trial, [], base, base, TRIAL_MS);
      this.#works = true;
      return undefined;
    } catch (error) {
      return `${program} cannot be confined to the folder of a copy, which needs CAP_SYS_ADMIN, CAP_SETPCAP and namespaces (the unit that comes with this version gives them): ${messageOf(error)}`;
    } finally {
      await rm(base, { recursive: true, force: true });
    }
  }

  /** `folder` is all that it sees and writes; `place` is the volume's own folder on the host. */
  async run(
    args: readonly string[],
    source: AsyncIterable<Uint8Array>,
    folder: string,
    place: string,
    signal?: AbortSignal,
  ): Promise<void> {
    const problem = await this.problem();
    if (problem !== undefined) throw new ReceiveUnsafeError(problem);
    await this.#feed(args, source, folder, place, this.#options.heldMs ?? HELD_MS, signal);
  }

  async #feed(
    args: readonly string[],
    source: AsyncIterable<Uint8Array> | readonly Uint8Array[],
    folder: string,
    place: string,
    heldMs: number,
    signal?: AbortSignal,
  ): Promise<void> {
    const { program, capabilities = [] } = this.#options;
    const jail = join(place, 'jail');
    await mkdir(jail, { recursive: true, mode: 0o700 });
    const confinement: ProgramConfinement = { folder, jail, capabilities };
    await feed(program, args, asStream(source), {
      confinement,
      heldMs,
      ...(signal === undefined ? {} : { signal }),
    });
  }
}

async function* asStream(
  source: AsyncIterable<Uint8Array> | readonly Uint8Array[],
): AsyncGenerator<Uint8Array> {
  yield* source;
}

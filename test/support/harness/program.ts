import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';

export const BERTH = join(import.meta.dirname, '../../../bin/berth');

const KEPT_CHARACTERS = 5_000_000;
const POLL_MS = 10;

/** A program as a process of its own: what it said, and how it is ended. */
export class Program {
  readonly #child: ChildProcess;
  readonly #said: string[] = [];
  #length = 0;

  /** `line`: the program with its words. */
  constructor(line: readonly string[], env: NodeJS.ProcessEnv) {
    const [program = BERTH, ...words] = line;
    this.#child = spawn(program, words, { env, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.setEncoding('utf8').on('data', (text: string) => this.#keep(text));
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  get running(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null;
  }

  /** The last part of it, if it was much. */
  get said(): string {
    return this.#said.join('');
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Polled until there is something; throws when the program ends first, or does not come to it. */
  async until<T>(
    what: string,
    limitMs: number,
    find: () => Promise<T | undefined> | T | undefined,
  ): Promise<T> {
    const deadline = performance.now() + limitMs;
    for (;;) {
      const found = await find();
      if (found !== undefined) return found;
      if (!this.running || performance.now() > deadline) {
        const { exitCode, signalCode } = this.#child;
        const ended = exitCode ?? signalCode ?? 'no';
        throw new Error(`${what} is not ready (ended: ${ended}):\n${this.said.slice(-4000)}`);
      }
      await delay(POLL_MS);
    }
  }

  /** Resolves with the exit code, null after a signal; without a signal it is waited for. */
  async end(signal?: NodeJS.Signals): Promise<number | null> {
    const gone = this.running ? once(this.#child, 'exit') : undefined;
    if (signal !== undefined && this.running) {
      this.#child.kill(signal);
      // One that a test left stopped could not end in order.
      this.#child.kill('SIGCONT');
    }
    await gone;
    return this.#child.exitCode;
  }

  #keep(text: string): void {
    this.#said.push(text);
    this.#length += text.length;
    while (this.#length > KEPT_CHARACTERS) this.#length -= this.#said.shift()?.length ?? 0;
  }
}

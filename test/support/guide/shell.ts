import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { eventually } from '../eventually.ts';

export interface Result {
  readonly status: number;
  readonly output: string;
}

const COMMAND_MS = 90_000;

/** One shell for a page, so that variables and the folder carry over from command to command, as in a terminal. */
export class PageShell {
  readonly #child: ChildProcess;
  readonly #folder: string;
  readonly #background: number[] = [];
  #output = '';
  #count = 0;
  #isBusy = false;

  constructor(line: readonly string[], folder: string, environment: Readonly<Record<string, string>>) {
    this.#folder = folder;
    const [command, ...args] = [...line, '/bin/bash', '--norc'];
    this.#child = spawn(command, args, {
      cwd: folder,
      env: environment,
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
    });
    for (const stream of [this.#child.stdout, this.#child.stderr])
      stream?.on('data', (chunk: Buffer) => {
        this.#output += chunk.toString();
      });
    // Any failing command of a block counts, not the last one alone.
    this.#child.stdin?.write("exec 2>&1\ntrap 'failed=$?' ERR\n");
  }

  async run(text: string): Promise<Result> {
    this.#count += 1;
    const mark = `guide-mark-${this.#count}`;
    const from = this.#output.length;
    this.#child.stdin?.write(`failed=0\n{ ${text}\n} < /dev/null\nprintf '\\n${mark} %d\\n' "$failed"\n`);
    this.#isBusy = true;
    const end = new RegExp(`\\n${mark} (\\d+)\\n`);
    const output = await eventually(
      `end of: ${text}`,
      () => this.#output.slice(from),
      (seen) => end.test(seen) || this.#child.exitCode !== null,
      COMMAND_MS,
    );
    this.#isBusy = false;
    const found = end.exec(output);
    if (found === null) throw new Error(`the shell ended in: ${text}\n${output}`);
    return { status: Number(found[1]), output: output.slice(0, found.index).trimEnd() };
  }

  /** Starts it in a process group of its own and waits until it has said `until`. */
  async start(text: string, until: string): Promise<Result> {
    const log = join(this.#folder, `.background-${this.#count}`);
    writeFileSync(log, '');
    const line = `setsid /bin/bash -c ${quoted(text)} > ${log} 2>&1 & echo "pid $!"`;
    const { output } = await this.run(line);
    this.#background.push(Number(/pid (\d+)/.exec(output)?.[1]));
    const said = await eventually(
      `"${until}" from: ${text}`,
      () => readFileSync(log, 'utf8'),
      (seen) => seen.includes(until),
      COMMAND_MS,
    );
    return { status: 0, output: said.trimEnd() };
  }

  /** Ends what was started, last first, and the shell, with the command that was given up if there is one. */
  async end(): Promise<void> {
    const { pid: own } = this.#child;
    if (this.#isBusy && own !== undefined && this.#child.exitCode === null) {
      const gone = once(this.#child, 'exit');
      for (const pid of [...this.#background.toReversed(), own]) process.kill(-pid, 'SIGKILL');
      await gone;
      return;
    }
    for (const pid of this.#background.toReversed())
      await this.run(
        `kill -TERM -- -${pid}; while kill -0 -- -${pid} 2> /dev/null; do sleep 0.1; done; true`,
      ).catch(() => undefined);
    if (this.#child.exitCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.stdin?.end();
    await ended;
  }
}

function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

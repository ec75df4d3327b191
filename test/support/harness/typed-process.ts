import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';

const BERTH = join(import.meta.dirname, '../../../bin/berth');

export interface Ended {
  readonly code: number | null;
  readonly out: Buffer;
  readonly err: string;
}

/** The program `berth` as a process of its own, with pipes, or in a terminal of `script`. */
export class TypedProcess {
  readonly child: ChildProcess;
  readonly #out: Buffer[] = [];
  #err = '';

  constructor(
    words: readonly string[],
    options: {
      readonly url: string;
      readonly token: string;
      readonly home: string;
      /** Typed in a terminal of this size: a line of a shell, with `berth` as a program of it. */
      readonly line?: string;
    },
  ) {
    const { line } = options;
    const [program, args] =
      line === undefined
        ? [BERTH, words]
        : ['script', ['-qefc', line.replaceAll('berth ', `${BERTH} `), '/dev/null']];
    this.child = spawn(program, args, {
      cwd: options.home,
      env: {
        PATH: process.env['PATH'] ?? '',
        HOME: options.home,
        SHELL: '/bin/sh',
        TERM: 'xterm',
        BERTH_CLI_SERVER: options.url,
        BERTH_CLI_TOKEN: options.token,
      },
    });
    this.child.stdin?.on('error', () => undefined);
    this.child.stdout?.on('data', (bytes: Buffer) => this.#out.push(bytes));
    this.child.stderr?.on('data', (bytes: Buffer) => {
      this.#err += bytes.toString();
    });
  }

  get printed(): string {
    return Buffer.concat(this.#out).toString();
  }

  /** On standard error. */
  get told(): string {
    return this.#err;
  }

  type(input: string | Buffer): void {
    this.child.stdin?.write(input);
  }

  /** Its input is over. */
  async end(input: string | Buffer = ''): Promise<Ended> {
    const closed = once(this.child, 'close');
    this.child.stdin?.end(input);
    const [code] = (await closed) as [number | null];
    return { code, out: Buffer.concat(this.#out), err: this.#err };
  }

  /** Until it has ended by itself. */
  async ended(): Promise<Ended> {
    const [code] = (await once(this.child, 'close')) as [number | null];
    return { code, out: Buffer.concat(this.#out), err: this.#err };
  }
}

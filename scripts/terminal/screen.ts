import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import type { GuideHouse } from '../../test/support/guide/house.ts';
import { colouredLines, plainText, type Span } from './colours.ts';

const COMMAND_MS = 90_000;
const POLL_MS = 50;

export interface Typed {
  readonly command: string;
  /** Typed when the screen ends with this. */
  readonly answer?: readonly [question: string, text: string];
}

export interface Recorded {
  readonly spans: readonly Span[];
  readonly atMs: number;
}

/** A real terminal: what is captured is what a person would see, moving lines and all. */
export class Screen {
  readonly #socket = `berth-capture-${process.pid}`;
  #shell: readonly string[] = [];
  #folder = '';
  /** tmux gives a window the path of the client that asked for it. */
  #environment: Readonly<Record<string, string>> = {};
  readonly #size: readonly string[];

  constructor(columns: number, rows: number) {
    this.#size = ['-x', String(columns), '-y', String(rows)];
  }

  tmux(...args: readonly string[]): string {
    return execFileSync('tmux', ['-L', this.#socket, ...args], { encoding: 'utf8', env: this.#environment });
  }

  async open(house: GuideHouse): Promise<void> {
    this.#environment = { ...house.environment(), PS1: '$ ', TERM: 'screen-256color' };
    this.#folder = join(house.home, 'berth');
    const shell = [...house.entry(), '/bin/bash', '--norc', '--noprofile'];
    const server = spawn(
      'tmux',
      ['-L', this.#socket, '-f', '/dev/null', 'new-session', '-d', ...this.#size, ...shell],
      {
        cwd: this.#folder,
        env: this.#environment,
      },
    );
    await once(server, 'exit');
    this.#shell = shell;
    this.tmux('set-option', '-g', 'history-limit', '5000');
    await this.#until((text) => text.endsWith('$'));
  }

  /** Another window, and all that follows goes there. */
  async another(): Promise<void> {
    this.tmux('new-window', '-c', this.#folder, ...this.#shell);
    await this.#until((text) => text.endsWith('$'));
  }

  /** Types a command that stays, and answers with what it has said by then. */
  async start(command: string, until: string): Promise<string> {
    this.tmux('send-keys', '-l', command);
    this.tmux('send-keys', 'Enter');
    return this.#until((text) => text.includes(until));
  }

  /** Ctrl-C in the first window, and what it says then. */
  async stop(): Promise<string> {
    this.tmux('select-window', '-t', '0');
    this.tmux('send-keys', 'C-c');
    return this.#until((text) => text.endsWith('\n$'));
  }

  async #until(fits: (text: string) => boolean): Promise<string> {
    for (const deadline = Date.now() + COMMAND_MS; ; await pause(POLL_MS)) {
      const text = this.tmux('capture-pane', '-p', '-J', '-S', '-').trimEnd();
      if (fits(text)) return text;
      if (Date.now() > deadline) throw new Error(`the screen stays at:\n${text}`);
    }
  }

  async #clear(): Promise<void> {
    this.tmux('send-keys', '-l', 'clear');
    this.tmux('send-keys', 'Enter');
    await this.#until((text) => text === '$');
    this.tmux('clear-history');
  }

  async type({ command, answer }: Typed): Promise<string> {
    await this.#clear();
    this.tmux('send-keys', '-l', command);
    this.tmux('send-keys', 'Enter');
    if (answer !== undefined) {
      const [question, text] = answer;
      await this.#until((screen) => screen.endsWith(question));
      this.tmux('send-keys', '-l', text);
      this.tmux('send-keys', 'Enter');
    }
    const whole = await this.#until((text) => text.length > command.length + 2 && text.endsWith('\n$'));
    return whole.replace(/\n\$$/, '').trimEnd();
  }

  /** Types a command and answers with the lines that stand there at its end, in colour, each with the time since when it does. */
  async record(command: string, end: string): Promise<readonly Recorded[]> {
    await this.#clear();
    const beganMs = performance.now();
    this.tmux('send-keys', '-l', command);
    this.tmux('send-keys', 'Enter');
    let seen: readonly Recorded[] = [];
    await this.#until((text) => {
      const atMs = performance.now() - beganMs;
      const lines = colouredLines(this.tmux('capture-pane', '-p', '-e', '-S', '-').trimEnd());
      const before = seen;
      seen = lines.map((spans, at) => {
        const same = before[at];
        return same !== undefined && plainText(same.spans) === plainText(spans) ? same : { spans, atMs };
      });
      return text.length > command.length + 2 && text.endsWith(end);
    });
    return seen;
  }

  close(): void {
    this.tmux('kill-server');
  }
}

import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { errnoOf } from '../../core/model/values.ts';
import { Failure } from '../failure.ts';
import type { Order } from './orders.ts';
import { commandLine } from './orders.ts';
import { sshFailure } from './ssh-failure.ts';

/** ssh itself failed, not what it ran. */
const SSH_FAILED = 255;
const CONNECT_S = 10;
/** A password or a question about the host key takes a person's time. */
const ASKING_MS = 180_000;
const MAX_SAID = 64 * 1024;
/** What was written just before the end is still on its way. */
const DRAIN_MS = 200;
/** A connection that nobody uses any more, also because this program was killed. */
const IDLE_S = 120;

export interface Destination {
  /** As ssh takes it: `user@host`, or a name of its configuration. */
  readonly name: string;
  /** Further arguments of ssh. */
  readonly args: readonly string[];
  /** Somebody can be asked for a password or about the host key. */
  readonly interactive: boolean;
}

export interface Ended {
  readonly status: number;
  readonly out: string;
  readonly err: string;
}

export interface RunOptions {
  readonly timeoutMs: number;
  /** Run by root: by sudo where the user is another. */
  readonly sudo?: boolean;
  /** Standard input of what runs there: tokens and files go this way, since arguments are seen by every user of both machines. */
  readonly input?: string | AsyncIterable<Uint8Array>;
}

/** The system's ssh, with one connection for all that is done on a machine: who is asked, is asked once. */
export class Ssh {
  readonly #destination: Destination;
  readonly #environment: Readonly<Record<string, string | undefined>>;
  readonly #signal: AbortSignal;
  /** Below /tmp: the path of a socket is short. */
  readonly #folder = mkdtempSync('/tmp/berth-ssh-');

  constructor(
    destination: Destination,
    environment: Readonly<Record<string, string | undefined>>,
    signal: AbortSignal,
  ) {
    this.#destination = destination;
    this.#environment = environment;
    this.#signal = signal;
  }

  get name(): string {
    return this.#destination.name;
  }

  async connect(): Promise<void> {
    const { interactive } = this.#destination;
    const options = [
      `BatchMode=${interactive ? 'no' : 'yes'}`,
      'ControlMaster=yes',
      `ControlPersist=${IDLE_S}`,
    ];
    const { status, err } = await this.#ssh(options, 'true', {
      timeoutMs: interactive ? ASKING_MS : 3 * CONNECT_S * 1000,
    });
    if (status !== 0) throw sshFailure(this.name, err || `exit status ${status}`);
  }

  async run(order: Pick<Order, 'script' | 'args'>, options: RunOptions): Promise<Ended> {
    const line = commandLine(order);
    const ended = await this.#ssh(
      ['BatchMode=yes', 'ControlMaster=no'],
      options.sudo === true ? `sudo -n ${line}` : line,
      options,
    );
    if (ended.status === SSH_FAILED) throw sshFailure(this.name, ended.err);
    return ended;
  }

  async close(): Promise<void> {
    const args = [...this.#args([]), '-O', 'exit', '--', this.name];
    const child = spawn('ssh', args, { stdio: 'ignore', env: this.#environment });
    await new Promise((resolve) => child.once('error', resolve).once('exit', resolve));
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #args(options: readonly string[]): readonly string[] {
    const own = [
      `ConnectTimeout=${CONNECT_S}`,
      'ServerAliveInterval=5',
      'ServerAliveCountMax=4',
      `ControlPath=${join(this.#folder, 'c')}`,
      ...options,
    ];
    // The first of several values counts for ssh: what the user says comes before what is said here.
    return [...this.#destination.args, ...own.flatMap((option) => ['-o', option]), '-T'];
  }

  async #ssh(options: readonly string[], line: string, { timeoutMs, input }: RunOptions): Promise<Ended> {
    this.#signal.throwIfAborted();
    const child = spawn('ssh', [...this.#args(options), '--', this.name, line], {
      stdio: [input === undefined ? 'ignore' : 'pipe', 'pipe', 'pipe'],
      env: { ...this.#environment, LC_ALL: 'C' },
    });
    const out = said(child.stdout);
    const err = said(child.stderr);
    // What runs there may end before it has read everything; its status tells why.
    const sent =
      input === undefined || child.stdin === null
        ? undefined
        : pipeline(
            typeof input === 'string' ? Readable.from([input]) : Readable.from(input),
            child.stdin,
          ).catch((error: unknown) => error);
    const status = await this.#end(child, timeoutMs, line);
    await Promise.race([Promise.all([out.ended, err.ended]), pause(DRAIN_MS)]);
    const failed = await sent;
    this.#signal.throwIfAborted();
    if (status === 0 && failed instanceof Error) throw failed;
    return { status, out: out.text(), err: err.text() };
  }

  #end(child: ChildProcess, timeoutMs: number, line: string): Promise<number> {
    return new Promise((resolve, reject) => {
      const stop = (): void => void child.kill();
      const timer = setTimeout(() => {
        stop();
        reject(
          new Failure(`${this.name} did not answer within ${Math.round(timeoutMs / 1000)} s`, {
            advice: [`It was to run: ${line.slice(0, 200)}`, `Does this work? ssh ${this.name} true`],
          }),
        );
      }, timeoutMs);
      this.#signal.addEventListener('abort', stop, { once: true });
      const over = (): void => {
        clearTimeout(timer);
        this.#signal.removeEventListener('abort', stop);
      };
      child.once('error', (error) => {
        over();
        reject(errnoOf(error) === 'ENOENT' ? noSsh() : error);
      });
      child.once('exit', (status) => {
        over();
        resolve(status ?? SSH_FAILED);
      });
    });
  }
}

function noSsh(): Failure {
  return new Failure('ssh is not installed on this machine', {
    advice: [
      'Install it: apt-get install openssh-client',
      'Without it: install the package on the machine, and paste there the line of: berth node token',
    ],
  });
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

function said(stream: Readable | null): { text(): string; readonly ended: Promise<void> } {
  let text = '';
  if (stream === null) return { text: () => '', ended: Promise.resolve() };
  stream.setEncoding('utf8').on('data', (chunk: string) => {
    text = (text + chunk).slice(-MAX_SAID);
  });
  return { text: () => text, ended: new Promise((resolve) => stream.once('close', resolve)) };
}

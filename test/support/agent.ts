import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { JOIN_TOKEN } from './fake-control-plane.ts';

const PROGRAM = new URL('../../bin/berth', import.meta.url).pathname;

/** The agent as a process of its own, with a data folder that outlives it. */
export class AgentProcess implements AsyncDisposable {
  readonly dataDir = mkdtempSync(join(tmpdir(), 'berth-agent-'));
  readonly #arguments: readonly string[];
  #child: ChildProcess | undefined;
  #output = '';

  constructor(options: {
    readonly server: string;
    readonly socketPath: string;
    readonly more?: readonly string[];
  }) {
    this.#arguments = [
      'agent',
      `--server=${options.server}`,
      `--data-dir=${this.dataDir}`,
      `--engine=${options.socketPath}`,
      ...(options.more ?? []),
    ];
  }

  start(joinToken = JOIN_TOKEN): void {
    const environment = { ...process.env, BERTH_AGENT_JOIN: joinToken, BERTH_AGENT_LOG_LEVEL: 'debug' };
    this.#child = spawn(PROGRAM, this.#arguments, { env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
    const keep = (bytes: Buffer): void => void (this.#output += bytes.toString('utf8'));
    this.#child.stdout?.on('data', keep);
    this.#child.stderr?.on('data', keep);
  }

  get output(): string {
    return this.#output;
  }

  get rssBytes(): number {
    const status = readFileSync(`/proc/${this.#child?.pid}/status`, 'utf8');
    return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
  }

  /** Resolves with the exit code; null after a signal. */
  async end(signal: NodeJS.Signals | undefined): Promise<number | null> {
    const child = this.#child;
    if (child === undefined) return null;
    const ended = child.exitCode === null && child.signalCode === null ? once(child, 'exit') : undefined;
    if (signal !== undefined) child.kill(signal);
    await ended;
    return child.exitCode;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end('SIGKILL');
    rmSync(this.dataDir, { recursive: true, force: true });
  }
}

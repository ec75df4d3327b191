import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Answer, Caller } from './control-plane.ts';

const TOKEN = 'bootstrap-token-of-the-tests-0123456789';
const READY_MS = 60_000;
const LOG_LIMIT = 500_000;
const PROGRAM = join(import.meta.dirname, '../../../bin/berth');

/**
 * Short, but long enough for a machine with two busy cores, and for agents to find a control plane again that was away for a
 * second: their back-off is not scaled.
 */
const SPANS = {
  BERTH_TIMERS_HEARTBEAT: '500ms',
  BERTH_TIMERS_FAILED_AFTER: '3s',
  BERTH_TIMERS_REPLACE_AFTER: '7s',
  BERTH_TIMERS_START_GRACE: '5s',
  BERTH_TIMERS_SETTLE: '500ms',
  BERTH_SESSIONS_SIGN_INS_PER_MINUTE: '100000',
  BERTH_METRICS_OPEN: 'true',
  // Registries of tests listen on free ports.
  BERTH_REGISTRIES_ALLOW_PRIVATE: '127.0.0.1:*,localhost:*',
};

export interface Tenant {
  readonly id: string;
  readonly slug: string;
  readonly call: Caller;
}

/** The control plane as a process of its own that can be killed and started again on its data and port. */
export class PlaneProcess {
  readonly dataDir: string;
  readonly admin: Caller = this.as(TOKEN);
  readonly #environment: Readonly<Record<string, string>>;
  #child: ChildProcess | undefined;
  #log = '';
  #scheme = 'http';
  #port = 0;

  /** In a data folder of its own, unless told. */
  constructor(
    environment: Readonly<Record<string, string>> = {},
    dataDir = mkdtempSync(join(tmpdir(), 'berth-plane-')),
  ) {
    this.#environment = environment;
    this.dataDir = dataDir;
  }

  get port(): number {
    return this.#port;
  }

  get pid(): number {
    return this.#child?.pid ?? 0;
  }

  get url(): string {
    return `${this.#scheme}://127.0.0.1:${this.#port}`;
  }

  get running(): boolean {
    return this.#child !== undefined && this.#child.exitCode === null && this.#child.signalCode === null;
  }

  log(): string {
    return this.#log;
  }

  /** With more settings than the first time, which are for this start alone. */
  async start(environment: Readonly<Record<string, string>> = {}): Promise<this> {
    // Apart from the log, which is cut at its limit.
    let said = '';
    const listen = `0.0.0.0:${this.#port}`;
    const child = spawn(
      PROGRAM,
      [
        'server',
        '--data-dir',
        this.dataDir,
        '--listen',
        listen,
        '--insecure-listen',
        '--node-name',
        'control-plane',
      ],
      {
        env: { ...process.env, ...SPANS, BERTH_BOOTSTRAP_TOKEN: TOKEN, ...this.#environment, ...environment },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    this.#child = child;
    const take = (chunk: Buffer): void => {
      if (said.length < LOG_LIMIT) said += chunk.toString();
      if (this.#log.length < LOG_LIMIT) this.#log += chunk.toString();
    };
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    const deadline = performance.now() + READY_MS;
    for (;;) {
      const [, scheme, port] = /"url":"(https?):\/\/[^":]+:(\d+)"/.exec(said) ?? [];
      if (scheme !== undefined) {
        this.#scheme = scheme;
        this.#port = Number(port);
        return this;
      }
      if (!this.running || performance.now() > deadline)
        throw new Error(
          `the control plane is not ready (ended: ${child.exitCode ?? child.signalCode ?? 'no'}):\n${said.slice(-4000)}`,
        );
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }

  as(token: string): Caller {
    return (method, path, body, headers = {}) => this.#call(token, method, path, body, headers);
  }

  async #call(
    token: string,
    method: string,
    path: string,
    body: unknown,
    headers: Readonly<Record<string, string>>,
  ): Promise<Answer> {
    const response = await fetch(`${this.url}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(30_000),
    });
    const text = await response.text();
    const json = response.headers.get('content-type')?.startsWith('application/json') ?? false;
    return {
      status: response.status,
      body: json ? (JSON.parse(text) as unknown) : text,
      headers: response.headers,
    };
  }

  async tenant(slug: string): Promise<Tenant & { readonly token: string }> {
    const { body } = await this.admin('POST', '/api/v1/tenants', { slug });
    const token = await this.token(slug, 'tenant-admin');
    return { id: body.id as string, slug, call: this.as(token), token };
  }

  async token(slug: string, role: string): Promise<string> {
    const made = await this.admin('POST', '/api/v1/tokens', { name: role, role }, { 'x-tenant-id': slug });
    return made.body.token as string;
  }

  /** SIGSTOP and SIGCONT: connections stay, nothing answers. */
  pause(): void {
    this.#child?.kill('SIGSTOP');
  }

  resume(): void {
    this.#child?.kill('SIGCONT');
  }

  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const child = this.#child;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill(signal);
    // One that a test left stopped could not end in order.
    child.kill('SIGCONT');
    await gone;
  }

  async dispose(): Promise<void> {
    await this.end('SIGTERM');
    rmSync(this.dataDir, { recursive: true, force: true });
  }
}

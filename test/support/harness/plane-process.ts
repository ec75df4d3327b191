import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BOOTSTRAP, type Caller, callerTo } from './caller.ts';
import { BERTH, Program } from './program.ts';

const READY_MS = 60_000;

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
  /** Of which installation it is started next. */
  berth = BERTH;
  readonly admin: Caller = this.as(BOOTSTRAP);
  readonly #environment: Readonly<Record<string, string>>;
  #program: Program | undefined;
  #before = '';
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
    return this.#program?.pid ?? 0;
  }

  get url(): string {
    return `${this.#scheme}://127.0.0.1:${this.#port}`;
  }

  get running(): boolean {
    return this.#program?.running ?? false;
  }

  /** Of all its starts. */
  log(): string {
    return this.#before + (this.#program?.said ?? '');
  }

  /** With more settings than the first time, which are for this start alone. */
  async start(environment: Readonly<Record<string, string>> = {}): Promise<this> {
    this.#before = this.log();
    const words = ['--data-dir', this.dataDir, '--listen', `0.0.0.0:${this.#port}`, '--insecure-listen'];
    const program = new Program([this.berth, 'server', ...words, '--node-name', 'control-plane'], {
      ...process.env,
      ...SPANS,
      BERTH_BOOTSTRAP_TOKEN: BOOTSTRAP,
      ...this.#environment,
      ...environment,
    });
    this.#program = program;
    const [, scheme = '', port] = await program.until(
      'the control plane',
      READY_MS,
      () => /"url":"(https?):\/\/[^":]+:(\d+)"/.exec(program.said) ?? undefined,
    );
    this.#scheme = scheme;
    this.#port = Number(port);
    return this;
  }

  as(token: string): Caller {
    return callerTo(() => this.url, token);
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
    this.#program?.kill('SIGSTOP');
  }

  resume(): void {
    this.#program?.kill('SIGCONT');
  }

  async end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    await this.#program?.end(signal);
  }

  async dispose(): Promise<void> {
    await this.end('SIGTERM');
    rmSync(this.dataDir, { recursive: true, force: true });
  }
}

import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeWithMounts } from './mounts.ts';
import { BERTH, Program } from './program.ts';

export interface AgentOptions {
  /** The program of another installation. */
  readonly berth?: string;
  readonly server: string;
  readonly name: string;
  readonly socketPath: string;
  /** Needed on the first start of a data folder. */
  readonly joinToken?: string;
  readonly labels?: Readonly<Record<string, string>>;
  /** How it keeps replicated volumes; absent: the first way that works. */
  readonly volumeEngine?: 'btrfs' | 'rsync';
  /** What the certificate of the control plane must lead to. */
  readonly caDigest?: string;
  /** The network namespace to dial from; absent: the tests' own. */
  readonly namespace?: string;
  /** A process whose view of mounts it has, at each start. */
  readonly mountsOf?: () => number;
  /** Paths of programs that its machine does not have. */
  readonly hidden?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** Flags beside those. */
  readonly more?: readonly string[];
  /** Words that it is run by, for fewer capabilities than the tests have. */
  readonly under?: readonly string[];
}

const READY_MS = 30_000;

/** The real agent program as a process of its own, with a data folder that outlives it. */
export class AgentProcess implements AsyncDisposable {
  readonly dataDir = mkdtempSync(join(tmpdir(), 'berth-agent-'));
  /** Of which installation it is started next. */
  berth: string;
  readonly #options: AgentOptions;
  #program: Program | undefined;
  #before = '';

  constructor(options: AgentOptions) {
    this.#options = options;
    this.berth = options.berth ?? BERTH;
  }

  /** Starts it, again on the same identity after a kill or stop, and waits for its session. */
  async start(): Promise<void> {
    const program = this.launch();
    await program.until('the agent', READY_MS, () =>
      program.said.includes('session with the control plane') ? true : undefined,
    );
  }

  /** Whatever comes of it. */
  launch(joinToken = this.#options.joinToken): Program {
    return this.#launch(
      flagsOf(this.#options),
      joinToken === undefined ? {} : { BERTH_AGENT_JOIN: joinToken },
    );
  }

  /** As somebody would who relies on what the first start was given. */
  launchWithoutFlags(): Program {
    return this.#launch([], {});
  }

  get pid(): number {
    return this.#program?.pid ?? 0;
  }

  get running(): boolean {
    return this.#program?.running ?? false;
  }

  /** Of all its starts. */
  log(): string {
    return this.#before + (this.#program?.said ?? '');
  }

  get rssBytes(): number {
    const status = readFileSync(`/proc/${this.pid}/status`, 'utf8');
    return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) * 1024;
  }

  /** Resolves with the exit code, null after a signal; without a signal its own end is waited for. */
  async end(signal?: NodeJS.Signals): Promise<number | null> {
    return (await this.#program?.end(signal)) ?? null;
  }

  async kill9(): Promise<void> {
    await this.end('SIGKILL');
  }

  async stop(): Promise<void> {
    await this.end('SIGTERM');
  }

  /** Stops and removes the data folder. */
  async dispose(): Promise<void> {
    await this.end('SIGTERM');
    removeWithMounts(this.dataDir);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.end('SIGKILL');
    removeWithMounts(this.dataDir);
  }

  #launch(flags: readonly string[], variables: Readonly<Record<string, string>>): Program {
    const { namespace, mountsOf, hidden, under = [], environment } = this.#options;
    const views = [
      ...(namespace === undefined ? [] : [`--net=/run/netns/${namespace}`]),
      ...(mountsOf === undefined ? [] : [`--mount=/proc/${mountsOf()}/ns/mnt`]),
    ];
    const entered = views.length === 0 ? [] : ['nsenter', ...views];
    const line = [...under, ...entered, this.berth, 'agent', `--data-dir=${this.dataDir}`, ...flags];
    this.#before = this.log();
    this.#program = new Program(hidden === undefined ? line : withoutPrograms(hidden, line), {
      ...process.env,
      ...environment,
      ...variables,
    });
    return this.#program;
  }
}

function flagsOf(options: AgentOptions): readonly string[] {
  const { server, name, socketPath, labels = {}, volumeEngine, caDigest, more = [] } = options;
  return [
    `--server=${server}`,
    `--name=${name}`,
    `--engine=${socketPath}`,
    ...Object.entries(labels).map(([key, value]) => `--label=${key}=${value}`),
    ...(volumeEngine === undefined ? [] : [`--volume-engine=${volumeEngine}`]),
    ...(caDigest === undefined ? [] : [`--ca-digest=${caDigest}`]),
    ...more,
  ];
}

/** The real agent program, until it has a session. */
export async function startAgent(options: AgentOptions): Promise<AgentProcess> {
  const agent = new AgentProcess(options);
  await agent.start();
  return agent;
}

/** In a view of the file system of its own, where each is something that nobody can run. */
function withoutPrograms(paths: readonly string[], line: readonly string[]): readonly string[] {
  const hide = paths.map((path) => `mount --bind /dev/null ${path}`).join(' && ');
  return ['unshare', '--mount', 'sh', '-c', `${hide} && exec "$@"`, 'sh', ...line];
}

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DockerEngine } from '../../../src/agent/engine/docker-engine.ts';
import type { AssignedContainer, AssignedInstance } from '../../../src/core/protocol/agent-protocol.ts';
import type { TestEngine } from './engine.ts';
import { FakeControlPlane, JOIN_TOKEN } from './fake-control-plane.ts';
import { removeWithMounts } from './mounts.ts';

const PROGRAM = new URL('../../../bin/berth', import.meta.url).pathname;

/** The agent as a process of its own, with a data folder that outlives it. */
export class AgentProcess implements AsyncDisposable {
  readonly dataDir = mkdtempSync(join(tmpdir(), 'berth-agent-'));
  readonly #arguments: readonly string[];
  readonly #under: readonly string[];
  #child: ChildProcess | undefined;
  #output = '';

  constructor(options: {
    readonly server: string;
    readonly socketPath: string;
    readonly more?: readonly string[];
    /** Words that it is run by, for another network or fewer capabilities than the tests have. */
    readonly under?: readonly string[];
  }) {
    this.#under = options.under ?? [];
    this.#arguments = [
      'agent',
      `--server=${options.server}`,
      `--data-dir=${this.dataDir}`,
      `--engine=${options.socketPath}`,
      ...(options.more ?? []),
    ];
  }

  start(joinToken = JOIN_TOKEN): void {
    this.#start(this.#arguments, { BERTH_AGENT_JOIN: joinToken });
  }

  /** As somebody would who relies on what the first start was given. */
  startWithoutFlags(): void {
    this.#start(['agent', `--data-dir=${this.dataDir}`], {});
  }

  #start(words: readonly string[], variables: Readonly<Record<string, string>>): void {
    const environment = { ...process.env, ...variables, BERTH_AGENT_LOG_LEVEL: 'debug' };
    const [program = PROGRAM, ...args] = [...this.#under, PROGRAM, ...words];
    this.#child = spawn(program, args, { env: environment, stdio: ['ignore', 'pipe', 'pipe'] });
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
    removeWithMounts(this.dataDir);
  }
}

export const TEST_IMAGE = 'berth.test/box:1';

/** An engine, a scripted control plane and an agent between them. */
export class AgentBench implements AsyncDisposable {
  readonly daemon: TestEngine;
  readonly engine: DockerEngine;
  readonly plane: FakeControlPlane;
  readonly agent: AgentProcess;

  private constructor(
    daemon: TestEngine,
    plane: FakeControlPlane,
    more: readonly string[],
    socketPath: string,
    under: readonly string[] = [],
  ) {
    this.daemon = daemon;
    this.engine = new DockerEngine(daemon.socketPath);
    this.plane = plane;
    this.agent = new AgentProcess({ server: plane.url, socketPath, more: ['--name=n1', ...more], under });
  }

  /** `socketPath` is where the agent finds the engine, if not at the daemon's own. */
  static async start(
    daemon: TestEngine,
    more: readonly string[] = [],
    socketPath = daemon.socketPath,
    under: readonly string[] = [],
  ): Promise<AgentBench> {
    const bench = new AgentBench(daemon, await FakeControlPlane.start(), more, socketPath, under);
    bench.agent.start();
    return bench;
  }

  /** The agent shares the engine's network, as it does on a machine. */
  static async startInside(daemon: TestEngine, more: readonly string[] = []): Promise<AgentBench> {
    const { namespace, socketPath } = daemon;
    if (namespace === undefined) throw new Error('the engine has no network namespace of its own');
    const plane = await FakeControlPlane.start(namespace.hostAddress);
    const under = ['nsenter', `--net=/run/netns/${namespace.name}`];
    const bench = new AgentBench(daemon, plane, more, socketPath, under);
    bench.agent.start();
    return bench;
  }

  /** Process ids of the node's running containers by instance; none of them twice. */
  async pids(): Promise<ReadonlyMap<string, number>> {
    const pids = new Map<string, number>();
    for (const { id } of await this.engine.list({ labels: { 'berth.io/node': 'n1' }, all: true })) {
      const { labels, pid, status } = await this.engine.inspect(id);
      const instance = labels['berth.io/instance'] ?? '';
      if (pids.has(instance)) throw new Error(`two containers for ${instance}`);
      if (status !== 'running' || pid === undefined) throw new Error(`${instance} is ${status}`);
      pids.set(instance, pid);
    }
    return pids;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.agent[Symbol.asyncDispose]();
    await this.plane[Symbol.asyncDispose]();
    for (const { id } of await this.engine.list({ all: true })) await this.engine.remove(id, { force: true });
  }
}

export function instance(
  id: string,
  container: Partial<AssignedContainer> = {},
  more: Partial<Omit<AssignedInstance, 'wanted' | 'container'>> = {},
): Extract<AssignedInstance, { readonly wanted: 'run' }> {
  const deployment = more.deployment ?? 'web';
  return {
    id,
    deployment,
    wanted: 'run',
    specHash: 'hash1',
    secretsVersion: 0,
    attempt: 0,
    container: {
      image: TEST_IMAGE,
      environment: {},
      needsSecrets: false,
      ports: [],
      labels: {},
      mounts: [],
      alias: deployment,
      ...container,
    },
    ...more,
  };
}

export function stopped(id: string): AssignedInstance {
  const { container: _none, once: _never, ...rest } = instance(id);
  return { ...rest, wanted: 'stop' };
}

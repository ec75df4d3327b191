import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { removeWithMounts } from './mounts.ts';

export interface AgentOptions {
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
  /** Paths of programs that its machine does not have. */
  readonly hidden?: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

export interface AgentProcess {
  readonly pid: number;
  readonly dataDir: string;
  readonly running: boolean;
  /** Its log so far, the last part of it. */
  log(): string;
  /** Starts again on the same identity after a kill or stop. */
  start(): Promise<void>;
  kill9(): Promise<void>;
  stop(): Promise<void>;
  /** Stops and removes the data folder. */
  dispose(): Promise<void>;
}

const READY_MS = 30_000;
const LOG_LIMIT = 200_000;

/** The real agent program, as a process of its own, until it has a session. */
export async function startAgent(options: AgentOptions): Promise<AgentProcess> {
  const dataDir = mkdtempSync(join(tmpdir(), 'berth-agent-'));
  let child: ChildProcess | undefined;
  let log = '';

  async function start(): Promise<void> {
    const berth = join(import.meta.dirname, '../../../bin/berth');
    const labels = Object.entries(options.labels ?? {}).flatMap(([key, value]) => [
      '--label',
      `${key}=${value}`,
    ]);
    const command = [
      berth,
      'agent',
      '--server',
      options.server,
      '--name',
      options.name,
      '--data-dir',
      dataDir,
      '--engine',
      options.socketPath,
      ...labels,
      ...(options.volumeEngine === undefined ? [] : ['--volume-engine', options.volumeEngine]),
      ...(options.caDigest === undefined ? [] : ['--ca-digest', options.caDigest]),
    ];
    const within =
      options.namespace === undefined
        ? command
        : ['nsenter', `--net=/run/netns/${options.namespace}`, ...command];
    const line = options.hidden === undefined ? within : withoutPrograms(options.hidden, within);
    const started = spawn(line[0] ?? berth, line.slice(1), {
      stdio: ['ignore', 'pipe', 'pipe'],
      env: {
        ...process.env,
        ...options.environment,
        ...(options.joinToken === undefined ? {} : { BERTH_AGENT_JOIN: options.joinToken }),
      },
    });
    child = started;
    const from = log.length;
    const take = (chunk: Buffer): void => {
      log = (log + chunk.toString()).slice(-LOG_LIMIT);
    };
    started.stdout?.on('data', take);
    started.stderr?.on('data', take);
    const deadline = performance.now() + READY_MS;
    while (!log.slice(Math.min(from, log.length)).includes('session with the control plane')) {
      if (started.exitCode !== null) throw new Error(`the agent ended:\n${log.slice(-4000)}`);
      if (performance.now() > deadline) throw new Error(`the agent is not ready:\n${log.slice(-4000)}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async function end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
    const ending = child;
    if (ending === undefined || ending.exitCode !== null || ending.signalCode !== null) return;
    const gone = once(ending, 'exit');
    ending.kill(signal);
    await gone;
  }

  await start();
  return {
    get pid() {
      return child?.pid ?? 0;
    },
    get running() {
      return child !== undefined && child.exitCode === null && child.signalCode === null;
    },
    dataDir,
    log: () => log,
    start,
    kill9: () => end('SIGKILL'),
    stop: () => end('SIGTERM'),
    dispose: async () => {
      await end('SIGTERM');
      removeWithMounts(dataDir);
    },
  };
}

/** In a view of the file system of its own, where each is something that nobody can run. */
function withoutPrograms(paths: readonly string[], line: readonly string[]): readonly string[] {
  const hide = paths.map((path) => `mount --bind /dev/null ${path}`).join(' && ');
  return ['unshare', '--mount', 'sh', '-c', `${hide} && exec "$@"`, 'sh', ...line];
}

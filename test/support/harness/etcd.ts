import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

export interface RestartOptions {
  /** False: do not wait for health; a quorum may be missing. */
  readonly wait?: boolean;
  /** Forget everything, as after the loss of the disk. */
  readonly wipe?: boolean;
}

export interface EtcdMember {
  /** `http(s)://127.0.0.1:port`, the same over restarts. */
  readonly endpoint: string;
  readonly pid: number | undefined;
  /** Its own figures, in the format of Prometheus. */
  metrics(): Promise<string>;
  /** kill -9, and waits until it is gone. */
  kill(): Promise<void>;
  /** SIGSTOP: connections stay open, nothing answers. */
  pause(): void;
  resume(): void;
  /** Starts it again on the same data and ports. */
  restart(options?: RestartOptions): Promise<void>;
  /** As after the loss of its disk: it is taken out of the cluster through another member and comes back as a new, empty one. */
  replace(through: EtcdMember): Promise<void>;
}

export interface Etcd {
  readonly members: readonly EtcdMember[];
  readonly endpoints: readonly string[];
  /** Kills every member and removes the data. */
  stop(): Promise<void>;
}

export interface EtcdTestOptions {
  readonly members?: 1 | 3;
  /** Further arguments of every member, such as `--quota-backend-bytes=16777216`. */
  readonly args?: readonly string[];
  /** With these, members ask for a client certificate of the same authority. */
  readonly tls?: { readonly certFile: string; readonly keyFile: string; readonly caFile: string };
}

const HEALTH_TIMEOUT_MS = 30_000;

async function freePorts(count: number): Promise<readonly number[]> {
  // All are held at once, so that no port is given twice.
  const servers = await Promise.all(
    Array.from({ length: count }, async () => {
      const server = createServer();
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      return server;
    }),
  );
  const ports = servers.map((server) => {
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    return address.port;
  });
  await Promise.all(servers.map((server) => new Promise((resolve) => server.close(resolve))));
  return ports;
}

/** Of a request that was carried out although its answer was lost. */
const ALREADY = /member not found|Peer URLs already exists/;

/**
 * Through etcd's own gateway, as `etcdctl member` does it. Refused while the cluster is not well, or never answered when its leader
 * changes meanwhile: asked again.
 */
async function askCluster<T>(
  { endpoint }: EtcdMember,
  what: 'list' | 'remove' | 'add',
  body: object,
): Promise<T> {
  const end = performance.now() + HEALTH_TIMEOUT_MS;
  for (;;) {
    const { ok, text } = await fetch(`${endpoint}/v3/cluster/member/${what}`, {
      method: 'POST',
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(3_000),
    }).then(
      async (answer) => ({ ok: answer.ok, text: await answer.text() }),
      (error: unknown) => ({ ok: false, text: String(error) }),
    );
    if (ok || ALREADY.test(text)) return JSON.parse(text) as T;
    if (performance.now() > end) throw new Error(`member ${what}: ${text}`);
    await sleep(200);
  }
}

class Member implements EtcdMember {
  readonly endpoint: string;
  readonly #metrics: string;
  readonly #dataFolder: string;
  readonly #peer: string;
  #args: readonly string[];
  #process: ChildProcess | undefined;
  #output = '';

  constructor(
    {
      endpoint,
      metrics,
      peer,
    }: { readonly endpoint: string; readonly metrics: string; readonly peer: string },
    dataFolder: string,
    args: readonly string[],
  ) {
    this.endpoint = endpoint;
    this.#metrics = metrics;
    this.#peer = peer;
    this.#dataFolder = dataFolder;
    this.#args = args;
  }

  get pid(): number | undefined {
    return this.#process?.pid;
  }

  async metrics(): Promise<string> {
    return (await fetch(`${this.#metrics}/metrics`)).text();
  }

  start(): void {
    const child = spawn('/usr/bin/etcd', [`--data-dir=${this.#dataFolder}`, ...this.#args], {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: {
        PATH: process.env['PATH'],
        ...(process.arch === 'arm64' ? { ETCD_UNSUPPORTED_ARCH: 'arm64' } : {}),
      },
    });
    child.stderr?.on('data', (text: Buffer) => {
      this.#output = (this.#output + text.toString()).slice(-4_000);
    });
    this.#process = child;
  }

  async waitForHealth(): Promise<void> {
    const end = performance.now() + HEALTH_TIMEOUT_MS;
    while (performance.now() < end) {
      if (this.#process?.exitCode !== null) throw new Error(`etcd ended: ${this.#output}`);
      const healthy = await fetch(`${this.#metrics}/health`, { signal: AbortSignal.timeout(1_000) }).then(
        async (answer) => (await answer.text()).includes('"true"'),
        () => false,
      );
      if (healthy) return;
      await sleep(50);
    }
    throw new Error(`etcd at ${this.endpoint} is not healthy: ${this.#output}`);
  }

  async kill(): Promise<void> {
    const child = this.#process;
    if (!child || child.exitCode !== null || child.signalCode !== null) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  }

  pause(): void {
    this.#process?.kill('SIGSTOP');
  }

  resume(): void {
    this.#process?.kill('SIGCONT');
  }

  async replace(through: EtcdMember): Promise<void> {
    await this.kill();
    await rm(this.#dataFolder, { recursive: true, force: true });
    const { members } = await askCluster<{ members: { ID: string; peerURLs: string[] }[] }>(
      through,
      'list',
      {},
    );
    const own = members.find(({ peerURLs }) => peerURLs.includes(this.#peer));
    if (own === undefined) throw new Error(`${this.#peer} is not a member`);
    await askCluster(through, 'remove', { ID: own.ID });
    await askCluster(through, 'add', { peerURLs: [this.#peer] });
    this.#args = this.#args.map((arg) =>
      arg.startsWith('--initial-cluster-state=') ? '--initial-cluster-state=existing' : arg,
    );
    this.start();
    await this.waitForHealth();
  }

  async restart({ wait = true, wipe = false }: RestartOptions = {}): Promise<void> {
    await this.kill();
    if (wipe) await rm(this.#dataFolder, { recursive: true, force: true });
    this.start();
    if (wait) await this.waitForHealth();
  }
}

export async function startEtcd(options: EtcdTestOptions = {}): Promise<Etcd> {
  const count = options.members ?? 1;
  const folder = await mkdtemp(join(tmpdir(), 'berth-etcd-'));
  const ports = await freePorts(count * 3);
  const scheme = options.tls ? 'https' : 'http';
  const peerOf = (index: number): string => `http://127.0.0.1:${ports[count + index]}`;
  const initialCluster = Array.from({ length: count }, (_, index) => `m${index}=${peerOf(index)}`).join(',');
  const members = Array.from({ length: count }, (_, index) => {
    const endpoint = `${scheme}://127.0.0.1:${ports[index]}`;
    const metrics = `http://127.0.0.1:${ports[2 * count + index]}`;
    return new Member({ endpoint, metrics, peer: peerOf(index) }, join(folder, `m${index}`), [
      `--name=m${index}`,
      `--listen-client-urls=${endpoint}`,
      `--advertise-client-urls=${endpoint}`,
      `--listen-peer-urls=${peerOf(index)}`,
      `--initial-advertise-peer-urls=${peerOf(index)}`,
      `--listen-metrics-urls=${metrics}`,
      `--initial-cluster=${initialCluster}`,
      '--initial-cluster-state=new',
      '--log-level=error',
      '--logger=zap',
      ...(options.tls
        ? [
            `--cert-file=${options.tls.certFile}`,
            `--key-file=${options.tls.keyFile}`,
            `--trusted-ca-file=${options.tls.caFile}`,
          ]
        : []),
      ...(options.args ?? []),
    ]);
  });
  const stop = async (): Promise<void> => {
    await Promise.all(members.map((member) => member.kill()));
    await rm(folder, { recursive: true, force: true });
  };
  try {
    for (const member of members) member.start();
    await Promise.all(members.map((member) => member.waitForHealth()));
  } catch (error) {
    await stop();
    throw error;
  }
  return { members, endpoints: members.map(({ endpoint }) => endpoint), stop };
}

/** The members' own metrics tell who leads. */
export async function leaderOf(etcd: Etcd): Promise<EtcdMember> {
  for (const member of etcd.members) {
    const answer = await fetch(`${member.endpoint}/metrics`, { signal: AbortSignal.timeout(2_000) });
    if (/^etcd_server_is_leader 1$/m.test(await answer.text())) return member;
  }
  throw new Error('no leader');
}

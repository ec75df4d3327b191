/**
 * Real container engines for system tests. Each call starts a daemon of its own: data, socket, addresses and, if asked for,
 * network namespace are its own, so that any number run side by side, also in several processes. Needs root.
 *
 *     const engine = await startEngine();            // some 0.5 s; `await using` works too
 *     await buildTestImage(engine, 'berth.test/box:1');
 *     …                                              // new DockerEngine(engine.socketPath)
 *     await engine.stop();                           // ends containers and daemons, removes everything
 *
 * What a killed test run leaves behind is removed by the first engine that a later run starts.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { EngineTransport, enginePath } from '../../../src/agent/engine/transport.ts';
import {
  addBridge,
  addNamespace,
  addressPool,
  bridgeAddress,
  isAlive,
  reserveSubnet,
  type TestNamespace,
} from './engine-network.ts';
import { makeEngineFolder, removeEngineRemains } from './engine-remains.ts';
import { ensurePackages } from './packages.ts';

export { buildTestImage, type TestImage } from './image.ts';
export type { TestNamespace } from './engine-network.ts';

/** A registry of the test on this port of `namespace.hostAddress` is used without TLS. On Docker, any port of it is. */
export const TEST_REGISTRY_PORT = 5000;

const START_DEADLINE_MS = 30_000;
const END_DEADLINE_MS = 20_000;

export interface EngineOptions {
  /** `bridge` (unless told): a default bridge with addresses of its own. `none`: no default bridge, made networks work. */
  readonly network?: 'bridge' | 'none';
  /**
   * Unless told, in a network namespace of its own, joined to the tests' one by a pair of interfaces: published ports answer
   * at `address`, and what the tests listen on at `namespace.hostAddress` is reached from inside. `false`: in the tests' own
   * namespace; there each daemon has a bridge of its own, but a daemon that starts flushes the port rules of the others.
   */
  readonly namespace?: boolean;
  /** Networks with room for more than 62 containers, and fewer of them. */
  readonly largeNetworks?: boolean;
  /** Containers survive the end of the daemon. */
  readonly liveRestore?: boolean;
  /**
   * The engine's own filter of system calls. Unless told, one that lets all of them pass: the own one is compiled anew for each container and
   * each command in one, a seventh of the processor time of a file with a cluster.
   */
  readonly ownFilter?: boolean;
  /** Further arguments of dockerd, e.g. `--insecure-registry=10.0.0.1:5000`. */
  readonly args?: readonly string[];
}

export interface TestEngine extends AsyncDisposable {
  readonly kind: 'docker' | 'podman';
  readonly socketPath: string;
  readonly folder: string;
  readonly namespace?: TestNamespace;
  /** Where published ports answer. */
  readonly address: string;
  /** Of the daemon that runs now. */
  readonly pid: number;
  /** The daemon's output so far. */
  log(): string;
  /** Graceful: without live restore the containers are stopped with it. */
  restart(): Promise<void>;
  /** The daemon is gone when it resolves; containers still run. */
  kill9(): Promise<void>;
  /** After `kill9`: on the same data and socket. */
  start(): Promise<void>;
  /** A daemon that hangs: SIGSTOP, until `resume`. */
  pause(): void;
  resume(): void;
  /** Ends all and removes every trace. May be called twice. */
  stop(): Promise<void>;
}

interface Daemon {
  readonly kind: TestEngine['kind'];
  readonly folder: string;
  readonly socketPath: string;
  readonly namespace: TestNamespace | undefined;
  readonly argv: () => Promise<readonly string[]>;
  readonly env: Readonly<Record<string, string>>;
}

export async function startEngine(options: EngineOptions = {}): Promise<TestEngine> {
  ensurePackages(['docker.io', 'iproute2', 'iptables', 'busybox-static']);
  const subnet = reserveSubnet();
  const name = `be${randomBytes(5).toString('hex')}`;
  const ownNamespace = options.namespace !== false;
  const ownBridge = !ownNamespace && options.network !== 'none';
  const folder = await makeEngineFolder({
    subnet,
    ...(ownNamespace ? { namespace: name } : {}),
    ...(ownBridge ? { bridge: name } : {}),
  });
  try {
    const namespace = ownNamespace ? addNamespace(name, subnet) : undefined;
    if (ownBridge) addBridge(name, subnet);
    const socketPath = join(folder, 'd.sock');
    // Empty: the machine's own configuration must not leak into a test.
    writeFileSync(join(folder, 'daemon.json'), '{}');
    const filter = options.ownFilter === true ? [] : [`--seccomp-profile=${openFilter(folder)}`];
    const bridge =
      options.network === 'none'
        ? ['--bridge=none']
        : ownBridge
          ? [`--bridge=${name}`]
          : [`--bip=${bridgeAddress(subnet)}`];
    const argv = [
      '/usr/sbin/dockerd',
      `--config-file=${join(folder, 'daemon.json')}`,
      `--host=unix://${socketPath}`,
      `--data-root=${join(folder, 'data')}`,
      `--exec-root=${join(folder, 'exec')}`,
      `--pidfile=${join(folder, 'd.pid')}`,
      `--default-address-pool=${addressPool(subnet, options.largeNetworks)}`,
      '--log-level=warn',
      '--shutdown-timeout=5',
      ...(namespace === undefined ? [] : [`--insecure-registry=${namespace.hostAddress}/32`]),
      ...bridge,
      ...filter,
      ...(options.liveRestore === true ? ['--live-restore'] : []),
      ...(options.args ?? []),
    ];
    const command = () => Promise.resolve(argv);
    return await launch({ kind: 'docker', folder, socketPath, namespace, argv: command, env: {} });
  } catch (error) {
    await removeEngineRemains(folder);
    throw error;
  }
}

/** A filter of system calls that lets all of them pass. */
function openFilter(folder: string): string {
  const path = join(folder, 'seccomp.json');
  writeFileSync(path, '{"defaultAction":"SCMP_ACT_ALLOW"}');
  return path;
}

export interface PodmanOptions extends Pick<EngineOptions, 'ownFilter'> {
  /** Its init process is a file of its folder that is not there yet, as on a machine without the package of it. */
  readonly lacksInit?: boolean;
  /** Where it keeps images and containers, instead of in its folder. */
  readonly root?: string;
}

/** Where a Podman that lacks it looks for its init process. */
export function podmanInit({ folder }: Pick<TestEngine, 'folder'>): string {
  return join(folder, 'catatonit');
}

/** Debian's package of Docker has one too. */
export const DOCKER_INIT = '/usr/bin/docker-init';

/** Podman's service, always in a namespace of its own, since its bridges are named alike in every instance. */
export async function startPodman({
  lacksInit = false,
  root,
  ownFilter = false,
}: PodmanOptions = {}): Promise<TestEngine> {
  ensurePackages(['podman', 'runc', 'iproute2', 'iptables', 'busybox-static', 'docker.io']);
  const subnet = reserveSubnet();
  const name = `be${randomBytes(5).toString('hex')}`;
  const folder = await makeEngineFolder({ subnet, namespace: name });
  try {
    const namespace = addNamespace(name, subnet);
    for (const part of ['root', 'run', 'tmp', 'net']) mkdirSync(join(folder, part));
    writeFileSync(
      join(folder, 'containers.conf'),
      podmanConfiguration(folder, lacksInit ? podmanInit({ folder }) : DOCKER_INIT, ownFilter),
    );
    // On any port of this machine.
    writeFileSync(
      join(folder, 'registries.conf'),
      `[[registry]]\nlocation = "${namespace.hostAddress}"\ninsecure = true\n`,
    );
    const socketPath = join(folder, 'p.sock');
    let keeper = 0;
    // It ends with the power of its machine.
    const mounts = async (): Promise<number> => {
      if (!isAlive(keeper)) keeper = await keepMountNamespace(folder);
      return keeper;
    };
    const argv = async () => [
      '/usr/bin/nsenter',
      `--mount=/proc/${await mounts()}/ns/mnt`,
      '--',
      '/usr/bin/podman',
      `--root=${root ?? join(folder, 'root')}`,
      `--runroot=${join(folder, 'run')}`,
      `--tmpdir=${join(folder, 'tmp')}`,
      '--runtime=/usr/sbin/runc',
      '--cgroup-manager=cgroupfs',
      '--log-level=warn',
      'system',
      'service',
      '--time=0',
      `unix://${socketPath}`,
    ];
    const env = {
      CONTAINERS_CONF: join(folder, 'containers.conf'),
      CONTAINERS_REGISTRIES_CONF: join(folder, 'registries.conf'),
    };
    return await launch({ kind: 'podman', folder, socketPath, namespace, argv, env });
  } catch (error) {
    await removeEngineRemains(folder);
    throw error;
  }
}

/**
 * Podman keeps records of addresses and network namespaces in fixed places, where each instance must see its own. The
 * namespace belongs to a process that outlives the service, or a restarted one would no longer see its containers' mounts.
 */
async function keepMountNamespace(folder: string): Promise<number> {
  const ready = join(folder, 'mounted');
  rmSync(ready, { force: true });
  const places = [
    [join(folder, 'cni'), '/var/lib/cni'],
    [join(folder, 'netns'), '/run/netns'],
  ] as const;
  for (const place of places.flat()) mkdirSync(place, { recursive: true });
  const mounts = places.map(([source, target]) => `mount --bind ${source} ${target}`);
  const script = [...mounts, `touch ${ready}`, `exec tail -f ${ready}`].join(' && ');
  const keeper = spawn('/usr/bin/unshare', ['--mount', '/bin/sh', '-c', script], {
    detached: true,
    stdio: 'ignore',
  });
  keeper.unref();
  for (const deadline = Date.now() + START_DEADLINE_MS; !existsSync(ready); await pause(5)) {
    if (keeper.exitCode !== null || Date.now() > deadline) throw new Error('no mount namespace for Podman');
  }
  return keeper.pid ?? 0;
}

/** Soft and hard limits are equal because Podman 4.3's compatible API swaps them. Locks in files: those in memory are shared by all. */
function podmanConfiguration(folder: string, init: string, ownFilter: boolean): string {
  const filter = ownFilter ? '' : `seccomp_profile = "${openFilter(folder)}"\n`;
  return `[containers]
${filter}default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]
init_path = "${init}"
[engine]
init_path = "${init}"
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
lock_type = "file"
[network]
network_config_dir = "${folder}/net"
`;
}

async function launch(daemon: Daemon): Promise<TestEngine> {
  const transport = new EngineTransport(daemon.socketPath);
  let child = await begun(daemon, transport);
  let stopped = false;

  const begin = async (): Promise<void> => {
    child = await begun(daemon, transport);
  };
  const stop = async (): Promise<void> => {
    if (stopped) return;
    stopped = true;
    if (child.exitCode === null && child.signalCode === null) {
      signal(child, 'SIGCONT');
      await removeContainers(transport);
      await end(child, 'SIGKILL');
    }
    await removeEngineRemains(daemon.folder);
  };
  return {
    kind: daemon.kind,
    socketPath: daemon.socketPath,
    folder: daemon.folder,
    ...(daemon.namespace === undefined ? {} : { namespace: daemon.namespace }),
    address: daemon.namespace?.address ?? '127.0.0.1',
    get pid() {
      return child.pid ?? 0;
    },
    log: () => readFileSync(join(daemon.folder, 'log'), 'utf8'),
    async restart() {
      await end(child, 'SIGTERM');
      await begin();
    },
    async kill9() {
      await end(child, 'SIGKILL');
      await clearAfterKill(daemon);
    },
    start: begin,
    pause: () => signal(child, 'SIGSTOP'),
    resume: () => signal(child, 'SIGCONT'),
    stop,
    [Symbol.asyncDispose]: stop,
  };
}

/** Two daemons that start in one namespace at the same moment trip over each other's filter chains: the loser tries again. */
async function begun(daemon: Daemon, transport: EngineTransport): Promise<ChildProcess> {
  for (let attempt = 1; ; attempt += 1) {
    const child = spawnDaemon(daemon, await daemon.argv());
    try {
      await untilReady(daemon, child, transport);
      return child;
    } catch (error) {
      await end(child, 'SIGKILL');
      await clearAfterKill(daemon);
      if (attempt === 4 || !String(error).includes('iptables failed')) throw error;
    }
  }
}

function spawnDaemon(daemon: Daemon, argv: readonly string[]): ChildProcess {
  const output = openSync(join(daemon.folder, 'log'), 'a');
  const [program = '', ...args] = argv;
  const [command, commandArgs] = daemon.namespace?.command(argv) ?? [program, args];
  const child = spawn(command, [...commandArgs], {
    detached: true,
    stdio: ['ignore', output, output],
    env: { ...process.env, ...daemon.env },
  });
  closeSync(output);
  child.unref();
  return child;
}

async function untilReady(daemon: Daemon, child: ChildProcess, transport: EngineTransport): Promise<void> {
  const deadline = Date.now() + START_DEADLINE_MS;
  while (Date.now() < deadline && child.exitCode === null && child.signalCode === null) {
    try {
      await transport.call({ method: 'GET', path: '/_ping', deadlineMs: 1000 });
      return;
    } catch {
      await pause(20);
    }
  }
  const log = readFileSync(join(daemon.folder, 'log'), 'utf8').slice(-2000);
  throw new Error(`${daemon.kind} did not start; the end of its output:\n${log}`);
}

function signal(child: ChildProcess, name: NodeJS.Signals): void {
  if (child.exitCode === null && child.signalCode === null) child.kill(name);
}

async function end(child: ChildProcess, name: NodeJS.Signals): Promise<void> {
  const deadline = Date.now() + END_DEADLINE_MS;
  signal(child, name);
  while (child.exitCode === null && child.signalCode === null) {
    if (Date.now() > deadline) signal(child, 'SIGKILL');
    await pause(10);
  }
}

/** The daemon's containerd goes with it, and so does its pid file: a later process of that pid would be taken for it. */
async function clearAfterKill(daemon: Daemon): Promise<void> {
  const file = join(daemon.folder, 'exec/containerd/containerd.pid');
  const pid = Number(readIfThere(file));
  if (isAlive(pid)) process.kill(pid, 'SIGKILL');
  for (let round = 0; isAlive(pid) && round < 500; round += 1) await pause(10);
  rmSync(file, { force: true });
  rmSync(join(daemon.folder, 'd.pid'), { force: true });
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

async function removeContainers(transport: EngineTransport): Promise<void> {
  try {
    const answer = await transport.call({
      method: 'GET',
      path: '/v1.41/containers/json?all=true',
      deadlineMs: 5000,
    });
    const ids = (answer.body as readonly { readonly Id: string }[]).map(({ Id }) => Id);
    await Promise.allSettled(
      ids.map((id) =>
        transport.call({
          method: 'DELETE',
          path: `${enginePath(['v1.41', 'containers', id])}?force=true&v=true`,
          deadlineMs: 10_000,
        }),
      ),
    );
  } catch {
    // A daemon that no longer answers: its processes are ended one by one.
  }
}

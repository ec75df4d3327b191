import { posix } from 'node:path';
import { capabilityName, EVERY_CAPABILITY, isContainerUser } from '../../core/model/confinement.ts';
import { STOP_SIGNALS } from '../../core/model/stop.ts';
import type { ContainerSpec, HealthCheckSpec, MountSpec, PortSpec } from './container.ts';
import type { EngineKind } from './engine.ts';
import { UnsafeSpecError } from './errors.ts';

/**
 * Docker's default set without what a workload has no business with: raw sockets (NET_RAW), device nodes (MKNOD), the audit
 * log (AUDIT_WRITE), and file and process capabilities (SETFCAP, SETPCAP), which no-new-privileges makes useless anyway.
 */
const CAPABILITIES = [
  'CAP_CHOWN',
  'CAP_DAC_OVERRIDE',
  'CAP_FOWNER',
  'CAP_FSETID',
  'CAP_KILL',
  'CAP_NET_BIND_SERVICE',
  'CAP_SETGID',
  'CAP_SETUID',
  'CAP_SYS_CHROOT',
] as const;

const DEFAULT_PIDS_LIMIT = 4096;
const DEFAULT_LOG_BYTES = 30e6;
const LOG_FILES = 3;
const DEFAULT_STOP_TIMEOUT_S = 10;
/** Shares of the engine's interface that a weight of 100 stands for: the engine's default. */
const EQUAL_SHARES = 1024;
const NAME = /^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,127}$/;
/** Words that engines take as a network mode, not as the name of a network. */
const NETWORK_MODES: ReadonlySet<string> = new Set([
  'host',
  'none',
  'default',
  'private',
  'slirp4netns',
  'pasta',
]);

/** The engine's body for a container, from typed fields only. Pure, and the only place that spells a HostConfig. */
export function containerBody(
  spec: ContainerSpec,
  kind: EngineKind,
  imageUser?: string,
): Readonly<Record<string, unknown>> {
  if (!NAME.test(spec.name)) throw new UnsafeSpecError('container name');
  const network = spec.network;
  if (network !== undefined && (!NAME.test(network.name) || NETWORK_MODES.has(network.name))) {
    throw new UnsafeSpecError(`network ${network.name} is not the name of a network`);
  }
  return {
    Image: spec.image,
    ...(spec.command === undefined ? {} : { Cmd: spec.command }),
    ...(spec.user === undefined ? {} : { User: containerUser(spec.user) }),
    Env: spec.env.map(environmentEntry),
    Labels: { ...spec.labels, ...spec.ownLabels },
    ExposedPorts: Object.fromEntries(spec.ports.map((port) => [portKey(port), {}])),
    ...(spec.healthCheck === undefined ? {} : { Healthcheck: healthCheckBody(spec.healthCheck) }),
    ...(spec.stopSignal === undefined ? {} : { StopSignal: stopSignal(spec.stopSignal) }),
    StopTimeout: spec.stopTimeoutS ?? DEFAULT_STOP_TIMEOUT_S,
    AttachStdin: false,
    AttachStdout: false,
    AttachStderr: false,
    OpenStdin: false,
    Tty: false,
    HostConfig: hostConfig(spec, kind, imageUser),
    ...(network === undefined
      ? {}
      : { NetworkingConfig: { EndpointsConfig: { [network.name]: { Aliases: network.aliases } } } }),
  };
}

/** Security options are spelled out even where they are the engine's default: a daemon's configuration can change defaults. */
function hostConfig(
  spec: ContainerSpec,
  kind: EngineKind,
  imageUser: string | undefined,
): Readonly<Record<string, unknown>> {
  return {
    Privileged: false,
    CapDrop: ['ALL'],
    CapAdd: keptCapabilities(spec.dropCapabilities ?? [], spec.user ?? imageUser ?? '0'),
    ReadonlyRootfs: spec.readOnlyRoot === true,
    SecurityOpt: ['no-new-privileges'],
    PidsLimit: spec.pidsLimit ?? DEFAULT_PIDS_LIMIT,
    PidMode: '',
    IpcMode: 'private',
    UTSMode: '',
    CgroupnsMode: 'private',
    Devices: [],
    PublishAllPorts: false,
    AutoRemove: false,
    Init: true,
    NetworkMode: spec.network?.name ?? 'none',
    RestartPolicy: {
      Name: spec.restart.name,
      MaximumRetryCount: spec.restart.name === 'on-failure' ? spec.restart.maxRetries : 0,
    },
    ...(spec.cpu === undefined ? {} : { NanoCpus: Math.round(spec.cpu * 1e9) }),
    ...(spec.cpuWeight === undefined
      ? {}
      : { CpuShares: Math.max(2, Math.round((spec.cpuWeight * EQUAL_SHARES) / 100)) }),
    // Equal limits leave no swap: a memory limit that spills to disk is none.
    ...(spec.memoryBytes === undefined ? {} : { Memory: spec.memoryBytes, MemorySwap: spec.memoryBytes }),
    Mounts: [...writableParts(spec), ...spec.mounts].map(mountBody),
    PortBindings: portBindings(spec.ports),
    LogConfig: LOG_CONFIG[kind](spec.logBytes ?? DEFAULT_LOG_BYTES),
    // As in Docker: inside a network of its own any user may listen on any port.
    ...(kind === 'podman' && { Sysctls: { 'net.ipv4.ip_unprivileged_port_start': '0' } }),
  };
}

function containerUser(user: string): string {
  if (!isContainerUser(user)) throw new UnsafeSpecError('user');
  return user;
}

/**
 * A process of a user other than root has no use for capabilities, and Docker gives it none; Podman would hand it every one
 * that is added. None is added for it, so that both do the same.
 */
function keptCapabilities(drop: readonly string[], user: string): readonly string[] {
  const dropped = new Set(drop.map(knownCapability));
  if (dropped.has(EVERY_CAPABILITY) || !isRoot(user)) return [];
  return CAPABILITIES.filter((one) => !dropped.has(one.slice('CAP_'.length)));
}

function isRoot(user: string): boolean {
  const [name = ''] = user.split(':');
  return name === 'root' || Number(name) === 0;
}

function knownCapability(text: string): string {
  const name = capabilityName(text);
  if (name === undefined) throw new UnsafeSpecError('capability');
  return name;
}

/** Where programs expect to write whatever else is read-only: in memory, and gone with the container. */
const WRITABLE = ['/tmp', '/run'];
const WRITABLE_BYTES = 64 * 2 ** 20;

function writableParts({ readOnlyRoot, mounts }: ContainerSpec): readonly MountSpec[] {
  if (readOnlyRoot !== true) return [];
  const taken = new Set(mounts.map(({ target }) => target));
  return WRITABLE.filter((target) => !taken.has(target)).map((target) => ({
    kind: 'tmpfs',
    target,
    sizeBytes: WRITABLE_BYTES,
  }));
}

/** Podman's file driver cuts by size and keeps no older files. */
const LOG_CONFIG = {
  docker: (bytes: number) => ({
    Type: 'json-file',
    Config: { 'max-size': String(Math.floor(bytes / LOG_FILES)), 'max-file': String(LOG_FILES) },
  }),
  podman: (bytes: number) => ({ Type: 'k8s-file', Config: { 'max-size': String(bytes) } }),
} as const;

function stopSignal(name: string): string {
  if (!STOP_SIGNALS.includes(name)) throw new UnsafeSpecError(`stop signal ${name}`);
  return name;
}

function environmentEntry([name, value]: readonly [string, string]): string {
  // A bad name would come back in the engine's error message together with the value.
  if (name === '' || name.includes('=') || name.includes('\0')) throw new UnsafeSpecError('environment name');
  if (value.includes('\0')) throw new UnsafeSpecError(`environment value of ${name}`);
  return `${name}=${value}`;
}

function healthCheckBody(check: HealthCheckSpec): Readonly<Record<string, unknown>> {
  const [form, ...rest] = check.test;
  if (rest.length === 0 || (form === 'CMD-SHELL' && rest.length !== 1))
    throw new UnsafeSpecError('health check test');
  return {
    Test: check.test,
    Interval: nanoseconds(check.intervalMs),
    Timeout: nanoseconds(check.timeoutMs),
    Retries: check.retries ?? 0,
    StartPeriod: nanoseconds(check.startPeriodMs),
  };
}

/** 0 means the engine's own default; less than 1 ms is refused by it. */
function nanoseconds(ms: number | undefined): number {
  return ms === undefined ? 0 : Math.max(1, Math.round(ms)) * 1_000_000;
}

function absolutePath(path: string, what: string): string {
  if (!path.startsWith('/') || path === '/' || path.includes('\0') || posix.normalize(path) !== path) {
    throw new UnsafeSpecError(`${what} must be an absolute, plain path below /: ${path}`);
  }
  return path;
}

function mountBody(mount: MountSpec): Readonly<Record<string, unknown>> {
  const Target = absolutePath(mount.target, 'mount target');
  switch (mount.kind) {
    case 'bind':
      return {
        Type: 'bind',
        Source: absolutePath(mount.source, 'bind source'),
        Target,
        ReadOnly: mount.readOnly,
        BindOptions: { Propagation: 'rprivate' },
      };
    case 'volume':
      // No driver options: `o=bind,device=/` turns a volume into a mount of the host (CVE-2026-44849).
      if (!NAME.test(mount.source))
        throw new UnsafeSpecError(`volume source must be a name: ${mount.source}`);
      return { Type: 'volume', Source: mount.source, Target, ReadOnly: mount.readOnly };
    case 'tmpfs':
      return { Type: 'tmpfs', Target, TmpfsOptions: { SizeBytes: mount.sizeBytes, Mode: 0o1777 } };
  }
}

function portKey(port: PortSpec): string {
  return `${port.container}/${port.protocol}`;
}

function portBindings(
  ports: readonly PortSpec[],
): Readonly<Record<string, readonly { readonly HostPort: string }[]>> {
  const bindings: Record<string, { readonly HostPort: string }[]> = {};
  for (const port of ports) (bindings[portKey(port)] ??= []).push({ HostPort: String(port.host) });
  return bindings;
}

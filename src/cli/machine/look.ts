import { Failure } from '../failure.ts';

/** A machine as it is before anything is done. */
export interface Look {
  readonly root: 'yes' | 'sudo' | 'password' | 'none';
  readonly system: string;
  readonly machine: string;
  readonly host: string;
  readonly musl: boolean;
  readonly systemd: boolean;
  readonly missing: readonly string[];
  readonly programs: readonly string[];
  readonly sockets: readonly string[];
  /** Seconds by which its clock is ahead of the one here. */
  readonly aheadS: number;
  readonly freeBytes: number | undefined;
  readonly berth: 'ours' | 'other' | 'none';
  /** The release that runs there, and those that are whole there. */
  readonly release: string | undefined;
  readonly unpacked: readonly string[];
  /** Registered as this node, with the control plane at this address. */
  readonly node: string | undefined;
  readonly server: string | undefined;
  readonly running: boolean;
}

const ROOTS = ['yes', 'sudo', 'password', 'none'] as const;

/** `key=value` lines; what else a login shell prints is passed over. */
export function readLook(text: string, nowMs: number): Look {
  const found = new Map<string, string[]>();
  for (const line of text.split('\n')) {
    const at = line.indexOf('=');
    if (at > 0)
      found.set(line.slice(0, at), [...(found.get(line.slice(0, at)) ?? []), line.slice(at + 1).trim()]);
  }
  const one = (key: string): string | undefined => found.get(key)?.at(-1) || undefined;
  const berth = one('berth');
  const now = Number(one('now'));
  return {
    root: ROOTS.find((root) => root === one('root')) ?? 'none',
    system: one('system') ?? '',
    machine: one('machine') ?? '',
    host: one('host') ?? '',
    musl: one('libc') === 'musl',
    systemd: one('systemd') === 'yes',
    missing: found.get('missing') ?? [],
    programs: found.get('program') ?? [],
    sockets: found.get('socket') ?? [],
    aheadS: Number.isFinite(now) ? Math.round(now - nowMs / 1000) : 0,
    freeBytes: freeOf(one('free') ?? ''),
    berth: berth === 'ours' || berth === 'other' ? berth : 'none',
    release: one('release'),
    unpacked: found.get('unpacked') ?? [],
    node: one('node'),
    server: one('server'),
    running: one('running') === 'yes',
  };
}

/** Of `df -P`: the fourth word of its last line, which here are all in one. */
function freeOf(text: string): number | undefined {
  const words = text.split(' ').filter((word) => word !== '');
  const percent = words.findLastIndex((word) => word.endsWith('%'));
  const free = Number(words[percent - 1]);
  return percent > 0 && Number.isFinite(free) ? free * 1024 : undefined;
}

export const ARCHITECTURES: Readonly<Record<string, string>> = {
  x86_64: 'x64',
  aarch64: 'arm64',
  arm64: 'arm64',
};

export interface Needs {
  readonly architecture: string;
  readonly bytes: number;
  readonly engine: string | undefined;
}

/** Why it cannot become a node as it is, with what to do there. */
export function obstacle(name: string, look: Look, needs: Needs): Failure | undefined {
  const stop = (why: string, ...advice: readonly string[]): Failure =>
    new Failure(`${name}: ${why}`, { advice });
  if (look.root === 'none' || look.root === 'password') {
    return stop(
      look.root === 'none' ? 'no root there, and no sudo' : 'sudo asks for a password there',
      'The agent is a service of root. Name root (berth node add root@HOST), or let the user become root without a password:',
      "  echo 'USER ALL=(ALL) NOPASSWD: ALL' > /etc/sudoers.d/berth   (as root, there; remove it afterwards)",
      'Or install the package there by hand, and paste the line of: berth node token',
    );
  }
  if (look.system !== 'Linux')
    return stop(`it runs ${look.system || 'an unknown system'}`, 'Nodes run Linux.');
  const architecture = ARCHITECTURES[look.machine];
  if (architecture === undefined)
    return stop(`its processor is ${look.machine}`, 'Berth runs on x86-64 and arm64.');
  if (look.musl)
    return stop('its C library is musl', "Berth's Node needs glibc: Debian, Ubuntu, Fedora and the like.");
  if (look.missing.length > 0)
    return stop(
      `not installed there: ${look.missing.join(', ')}`,
      `Install it: apt-get install ${look.missing.join(' ')}`,
    );
  if (architecture !== needs.architecture && look.release === undefined)
    return stop(
      `its processor is ${architecture}, and this installation of berth is for ${needs.architecture}`,
      `Make one for it here, and send that: npm install --global --cpu=${architecture} --os=linux --prefix /tmp/berth-${architecture} berth-VERSION.tgz`,
      `then add: --release /tmp/berth-${architecture}/lib/node_modules/berth`,
    );
  if (look.berth === 'other')
    return stop(
      'another berth is installed there, at /usr/local/bin/berth',
      'Remove it (npm uninstall --global berth), and run this line again: its node, containers and volumes stay.',
    );
  if (needs.engine === undefined && look.sockets.length === 0) return noEngine(stop, look);
  if (look.freeBytes !== undefined && look.freeBytes < needs.bytes)
    return stop(
      `${megabytes(look.freeBytes)} are free below /opt, and the release needs ${megabytes(needs.bytes)}`,
      'Make room there: df -h, docker system df',
    );
  return undefined;
}

function noEngine(stop: (why: string, ...advice: string[]) => Failure, { programs, systemd }: Look): Failure {
  if (programs.includes('docker'))
    return stop(
      'Docker is installed there and does not run',
      systemd ? 'Start it: systemctl enable --now docker' : 'Start dockerd there.',
    );
  if (programs.includes('podman'))
    return stop(
      'Podman is installed there, without its socket',
      systemd
        ? 'Start it: systemctl enable --now podman.socket'
        : 'Start it: podman system service --time=0 unix:///run/podman/podman.sock',
    );
  return stop(
    'no container engine there',
    'Install one: apt-get install docker.io   (or: apt-get install podman catatonit && systemctl enable --now podman.socket)',
    'At another socket: --engine SOCKET',
  );
}

export function megabytes(bytes: number): string {
  return `${Math.round(bytes / 1e6)} MB`;
}

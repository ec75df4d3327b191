import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { Failure } from '../failure.ts';
import { awaitChild, type Child, startChild } from './child.ts';
import { EngineSocket } from './engine-socket.ts';
import { type Workspace, readState, writeState } from './workspace.ts';
import { DOCKERD, find, IP, need, stderrOf } from './programs.ts';

const START_MS = 45_000;
const COMMAND_MS = 10_000;

export interface OwnEngine {
  readonly socket: EngineSocket;
  readonly child: Child;
}

type Subnet = readonly [number, number];

/** At most 15 characters; one per data folder, so that two of them do not meet. */
export function bridgeName(workspace: Workspace): string {
  return `berth${createHash('sha256').update(workspace.folder).digest('hex').slice(0, 8)}`;
}

/** A Docker daemon with data, socket and addresses of its own: it touches nothing of another one. */
export async function startOwnEngine(workspace: Workspace, signal: AbortSignal): Promise<OwnEngine> {
  const dockerd = need(DOCKERD, workspace);
  const ip = need(IP, workspace);
  const folder = join(workspace.folder, 'engine');
  const [x, y] = chooseSubnet(readState(workspace).subnet, workspace);
  writeState(workspace, { subnet: [x, y] });
  makeBridge(ip, bridgeName(workspace), `10.${x}.${y}.1/24`);
  mkdirSync(folder, { recursive: true });
  const configFile = join(folder, 'daemon.json');
  // Empty, so that the machine's own configuration does not apply to this daemon.
  writeFileSync(configFile, '{}\n');
  const socketPath = join(workspace.runFolder, 'docker.sock');
  const child = startChild(workspace, {
    name: 'engine',
    command: dockerd,
    args: [
      `--config-file=${configFile}`,
      `--host=unix://${socketPath}`,
      `--data-root=${join(folder, 'data')}`,
      `--exec-root=${join(workspace.runFolder, 'docker')}`,
      `--pidfile=${join(workspace.runFolder, 'docker.pid')}`,
      `--bridge=${bridgeName(workspace)}`,
      `--default-address-pool=base=10.${x}.${y + 8}.0/21,size=26`,
      '--shutdown-timeout=10',
      '--log-level=warn',
    ],
  });
  const socket = new EngineSocket(socketPath);
  try {
    await awaitChild(child, () => socket.answers(), {
      deadlineMs: START_MS,
      what: 'the container engine (dockerd)',
      signal,
    });
  } catch (error) {
    await child.stop();
    removeTraces(workspace);
    throw error;
  }
  return { socket, child };
}

/** 10.x.y.0/20 that no interface of this machine has an address in. */
function chooseSubnet(remembered: Subnet | undefined, workspace: Workspace): Subnet {
  const own = bridgeName(workspace);
  const taken = Object.entries(networkInterfaces()).flatMap(([name, addresses]) =>
    name === own ? [] : (addresses ?? []).map(({ address }) => address),
  );
  const routes = routedNetworks();
  const free = ([x, y]: Subnet): boolean =>
    ![...taken, ...routes].some((address) => {
      const [a, b, c = 0] = address.split('.').map(Number);
      return a === 10 && b === x && c >= y && c < y + 16;
    });
  if (remembered !== undefined && free(remembered)) return remembered;
  for (let x = 201; x < 255; x += 1) {
    for (let y = 0; y < 256; y += 16) if (free([x, y])) return [x, y];
  }
  throw new Failure('no free network 10.201.0.0 to 10.254.255.0 for the engine');
}

/** Destinations of /proc/net/route, little-endian hex; the default route is everywhere and says nothing. */
function routedNetworks(): readonly string[] {
  const table = existsSync('/proc/net/route') ? readFileSync('/proc/net/route', 'utf8') : '';
  return table
    .split('\n')
    .slice(1)
    .flatMap((line) => {
      const hex = line.split('\t')[1] ?? '';
      if (!/^[0-9A-F]{8}$/.test(hex) || hex === '00000000') return [];
      return [[6, 4, 2, 0].map((at) => Number.parseInt(hex.slice(at, at + 2), 16)).join('.')];
    });
}

function quietly(command: string, args: readonly string[]): string {
  try {
    return execFileSync(command, args, {
      encoding: 'utf8',
      timeout: COMMAND_MS,
      stdio: ['ignore', 'pipe', 'ignore'],
    });
  } catch {
    return '';
  }
}

function makeBridge(ip: string, name: string, address: string): void {
  quietly(ip, ['link', 'del', name]);
  try {
    for (const args of [
      ['link', 'add', 'name', name, 'type', 'bridge'],
      ['addr', 'add', address, 'dev', name],
      ['link', 'set', name, 'up'],
    ]) {
      execFileSync(ip, args, { timeout: COMMAND_MS, stdio: ['ignore', 'ignore', 'pipe'] });
    }
  } catch (error) {
    throw new Failure(`the engine's bridge ${name} could not be made`, {
      advice: [
        stderrOf(error),
        'Making network interfaces needs root and, inside a container, the right to do so (--privileged or CAP_NET_ADMIN).',
      ],
      cause: error,
    });
  }
}

/** Deepest first; a mount that is still there would keep the folder from being removed. */
function unmountBelow(folders: readonly string[]): void {
  const points = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '')
    .filter((point) => folders.some((folder) => point.startsWith(`${folder}/`)));
  const umount = ['/bin/umount', '/usr/bin/umount'].find((path) => existsSync(path));
  if (umount !== undefined) for (const point of points.toReversed()) quietly(umount, ['-l', point]);
}

/** A daemon leaves its bridges, its filter rules and at times a mount behind when it ends. */
export function removeTraces(workspace: Workspace): void {
  unmountBelow([workspace.folder, workspace.runFolder]);
  const ip = find(IP, workspace);
  const { subnet } = readState(workspace);
  if (ip === undefined || subnet === undefined) return;
  const [x, y] = subnet;
  const inSubnet = (text: string): boolean => {
    const match = new RegExp(`\\b10\\.${x}\\.(\\d+)\\.`).exec(text);
    return match !== null && Number(match[1]) >= y && Number(match[1]) < y + 16;
  };
  const devices = new Set([bridgeName(workspace)]);
  for (const line of quietly(ip, ['-4', '-o', 'addr']).split('\n')) {
    const device = line.split(/\s+/)[1];
    if (device !== undefined && inSubnet(line)) devices.add(device);
  }
  removeRules((rule) => inSubnet(rule) || rule.split(' ').some((word) => devices.has(word)));
  for (const device of devices) quietly(ip, ['link', 'del', device]);
}

function removeRules(ours: (rule: string) => boolean): void {
  const saved = ['/usr/sbin/iptables-save', '/sbin/iptables-save'].find((path) => existsSync(path));
  if (saved === undefined) return;
  let table = '';
  for (const line of quietly(saved, []).split('\n')) {
    if (line.startsWith('*')) table = line.slice(1);
    if (line.startsWith('-A ') && ours(line))
      quietly(saved.replace(/-save$/, ''), ['-w', '-t', table, ...line.replace(/^-A/, '-D').split(' ')]);
  }
}

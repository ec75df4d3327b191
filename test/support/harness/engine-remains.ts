import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import {
  isAlive,
  quietly,
  releaseSubnet,
  removeNamespace,
  removeTraces,
  type TestSubnet,
} from './engine-network.ts';

/** What a test engine holds outside its folder; kept in the folder, so that a later run can clean up after a killed one. */
export interface Holdings {
  readonly subnet: TestSubnet;
  readonly bridge?: string;
  readonly namespace?: string;
}

const PREFIX = 'berth-engine-';
const HOLDINGS = 'holdings.json';

/** Process ids mean nothing in another pid namespace that shares the folder of temporary files. */
function owner(): string {
  const namespace = /\d+/.exec(readlinkSync('/proc/self/ns/pid'))?.[0] ?? '0';
  return `${PREFIX}${namespace}-`;
}

let swept = false;

/** Short path: that of a unix socket is at most 107 bytes. */
export async function makeEngineFolder(holdings: Holdings): Promise<string> {
  if (!swept) {
    swept = true;
    await sweep();
  }
  const folder = mkdtempSync(join(tmpdir(), `${owner()}${process.pid}-`));
  writeFileSync(join(folder, HOLDINGS), JSON.stringify(holdings));
  return folder;
}

async function sweep(): Promise<void> {
  for (const name of readdirSync(tmpdir()).filter((entry) => entry.startsWith(owner()))) {
    const pid = Number(name.slice(owner().length).split('-')[0]);
    if (!isAlive(pid)) await removeEngineRemains(join(tmpdir(), name));
  }
}

/** Two runs may clean up the same remains at once. Ends every process of the engine in `folder`, undoes its mounts, interfaces and rules, and removes the folder. */
export async function removeEngineRemains(folder: string): Promise<void> {
  await endAllOf(folder);
  const holdings = read(join(folder, HOLDINGS));
  if (holdings !== '') {
    const { subnet, bridge, namespace } = JSON.parse(holdings) as Holdings;
    if (namespace === undefined) removeTraces(bridge, subnet);
    else removeNamespace(namespace);
    releaseSubnet(subnet);
  }
  rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
}

/** Every process that names the folder, with its children, and every mount below it. */
export async function endAllOf(folder: string): Promise<void> {
  for (let round = 0; round < 50; round += 1) {
    const pids = processesOf(folder);
    if (pids.length === 0) break;
    for (const pid of pids) quietly(() => process.kill(pid, 'SIGKILL'));
    await pause(20);
  }
  for (const mount of mountsBelow(folder)) {
    quietly(() => execFileSync('/bin/umount', ['-l', mount], { stdio: 'ignore' }));
  }
}

/** Daemons, shims and monitors name the folder in their arguments; their children are the containers. */
function processesOf(folder: string): readonly number[] {
  const pids = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number);
  const own = pids.filter(
    (pid) => pid !== process.pid && read(`/proc/${pid}/cmdline`).includes(`${folder}/`),
  );
  const parents = new Set(own);
  const children = pids.filter((pid) => parents.has(parentOf(pid)) && !parents.has(pid));
  return [...children, ...own].filter(isAlive);
}

function parentOf(pid: number): number {
  const stat = read(`/proc/${pid}/stat`);
  return Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[1]);
}

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function mountsBelow(folder: string): readonly string[] {
  const mounts = read('/proc/self/mountinfo')
    .split('\n')
    .map((line) => line.split(' ')[4] ?? '');
  return mounts.filter((mount) => mount.startsWith(`${folder}/`)).toReversed();
}

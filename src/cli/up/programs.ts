import { isRecord, messageOf } from '../../core/model/values.ts';
import { execFile } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Failure } from '../failure.ts';
import type { Workspace } from './workspace.ts';

const run = promisify(execFile);
const INSTALL_MS = 600_000;

/** A program of the machine that is needed, and what for. */
export interface Program {
  readonly package: string;
  readonly paths: readonly string[];
  readonly why: string;
  /** A package without dependencies can be unpacked below the data folder: nothing is installed. */
  readonly unpackable: boolean;
  /** Told apart from another program of the same path. */
  readonly suits?: (path: string) => boolean;
}

export const DOCKERD: Program = {
  package: 'docker.io',
  paths: ['/usr/sbin/dockerd', '/usr/bin/dockerd'],
  why: 'runs the containers',
  unpackable: false,
};
export const IP: Program = {
  package: 'iproute2',
  paths: ['/usr/sbin/ip', '/sbin/ip', '/usr/bin/ip', '/bin/ip'],
  why: 'gives the engine a network of its own',
  unpackable: false,
};
export const REGISTRY: Program = {
  package: 'docker-registry',
  paths: ['/usr/bin/docker-registry'],
  why: 'holds the sample image',
  unpackable: true,
};
export const BUSYBOX: Program = {
  package: 'busybox-static',
  // Alpine has one that needs its C library, too; Fedora keeps it where root looks.
  paths: ['/bin/busybox', '/usr/bin/busybox', '/bin/busybox.static', '/usr/sbin/busybox'],
  why: 'is what the sample image is made of',
  unpackable: true,
  suits: isStatic,
};

export const CADDY: Program = {
  package: 'caddy',
  paths: ['/usr/bin/caddy', '/usr/sbin/caddy'],
  why: 'serves the sample under a host',
  unpackable: false,
};
export const WG: Program = {
  package: 'wireguard-tools',
  paths: ['/usr/bin/wg'],
  why: 'is part of the network between nodes',
  unpackable: false,
};
export const NFT: Program = {
  package: 'nftables',
  paths: ['/usr/sbin/nft', '/sbin/nft'],
  why: 'leads addresses to instances',
  unpackable: false,
};

const PT_INTERP = 3;

/** An ELF program without an interpreter segment needs no library beside it, so it can be alone in an image. */
function isStatic(path: string): boolean {
  const elf = readFileSync(path);
  const wide = elf[4] === 2;
  const at = wide ? Number(elf.readBigUInt64LE(32)) : elf.readUInt32LE(28);
  const size = elf.readUInt16LE(wide ? 54 : 42);
  const count = elf.readUInt16LE(wide ? 56 : 44);
  return Array.from({ length: count }, (_, index) => elf.readUInt32LE(at + index * size)).every(
    (type) => type !== PT_INTERP,
  );
}

export function isRoot(): boolean {
  return process.getuid?.() === 0;
}

/** Where the program is: on the machine, or unpacked by an earlier run. */
export function find(program: Program, workspace: Workspace): string | undefined {
  const unpacked = program.paths.map((path) => join(workspace.folder, 'programs', path));
  return [...program.paths, ...unpacked].find((path) => existsSync(path) && (program.suits?.(path) ?? true));
}

export function need(program: Program, workspace: Workspace): string {
  const path = find(program, workspace);
  if (path === undefined)
    throw new Failure(`${program.package} was installed, but ${program.paths[0] ?? ''} is not there`);
  return path;
}

function apt(args: readonly string[], signal: AbortSignal, cwd?: string): Promise<unknown> {
  return run('apt-get', [...args], {
    timeout: INSTALL_MS,
    signal,
    ...(cwd === undefined ? {} : { cwd }),
    env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' },
  });
}

function listsAreThere(): boolean {
  try {
    return readdirSync('/var/lib/apt/lists').some((name) => name.includes('Packages'));
  } catch {
    return false;
  }
}

/** Installs on the machine; needs root. */
export async function install(programs: readonly Program[], signal: AbortSignal): Promise<void> {
  const names = programs.map((program) => program.package);
  const args = ['install', '-y', '--no-install-recommends', ...names];
  try {
    if (!listsAreThere()) await apt(['update'], signal);
    await apt(args, signal).catch(async (error: unknown) => {
      if (signal.aborted) throw error;
      // Lists that are older than the archive name files that are gone.
      await apt(['update'], signal);
      await apt(args, signal);
    });
  } catch (error) {
    if (signal.aborted) throw error;
    throw new Failure(`apt-get could not install ${names.join(', ')}`, {
      advice: [lastLine(error), `Try it by hand: apt-get update && apt-get ${args.join(' ')}`],
      cause: error,
    });
  }
}

/** Downloads the package and unpacks it below the data folder: works without root, and installs nothing. */
export async function unpack(
  programs: readonly Program[],
  workspace: Workspace,
  signal: AbortSignal,
): Promise<void> {
  const folder = join(workspace.folder, 'programs');
  mkdirSync(folder, { recursive: true });
  for (const program of programs) {
    try {
      if (!listsAreThere() && isRoot()) await apt(['update'], signal);
      await apt(['download', program.package], signal, folder);
      const archive = readdirSync(folder).find(
        (name) => name.startsWith(`${program.package}_`) && name.endsWith('.deb'),
      );
      await run('dpkg-deb', ['-x', join(folder, archive ?? ''), folder], { timeout: INSTALL_MS, signal });
    } catch (error) {
      if (signal.aborted) throw error;
      throw new Failure(`the package ${program.package}, which ${program.why}, could not be had`, {
        advice: [
          lastLine(error),
          `Install it: sudo apt-get update && sudo apt-get install -y ${program.package}`,
        ],
        cause: error,
      });
    }
  }
}

/** What a command that failed printed, as text or as bytes. */
export function stderrOf(error: unknown): string {
  const said = isRecord(error) ? error['stderr'] : undefined;
  return typeof said === 'string' || Buffer.isBuffer(said) ? said.toString().trim() : '';
}

function lastLine(error: unknown): string {
  return stderrOf(error).split('\n').at(-1) ?? messageOf(error);
}

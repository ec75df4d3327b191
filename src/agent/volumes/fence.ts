import { readFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { holdersOf } from './holders.ts';
import type { LeaseEntry } from './lease-file.ts';
import { detach, mountAt } from './mounts.ts';
import { run } from './program.ts';

const ROUND_MS = 20;
const UMOUNT_TIMEOUT_MS = 5_000;
const GIVE_UP_MS = 30_000;

/**
 * Ends every writer of a volume, with or without agent and engine: kills the processes of containers that have it mounted,
 * takes its mount away so that no engine can restart them on it, and polls until none is left. Answers how many were killed.
 */
export async function fence(target: Omit<LeaseEntry, 'volumeId' | 'deadlineMs'>): Promise<number> {
  const { mountPoint } = target;
  const killed = new Set<number>();
  const deadline = performance.now() + GIVE_UP_MS;
  // The numbers of a file system that is gone may by now be those of another.
  while (await isSame(target)) {
    const holders = await holdersOf(target);
    const mounted = await mountAt(mountPoint);
    if (mounted === undefined && holders.length === 0) break;
    for (const pid of holders) if (kill(pid)) killed.add(pid);
    // A writer that waits at a frozen file system cannot die before it is thawed.
    await run('fsfreeze', ['--unfreeze', mountPoint], UMOUNT_TIMEOUT_MS).catch(() => {});
    if (mounted !== undefined) await detach(mountPoint, UMOUNT_TIMEOUT_MS);
    if (performance.now() > deadline) throw new Error(`${holders.length} processes still hold ${mountPoint}`);
    await pause(ROUND_MS);
  }
  return killed.size;
}

async function isSame({ mountPoint, device, source, image }: Parameters<typeof fence>[0]): Promise<boolean> {
  const mounted = await mountAt(mountPoint);
  if (mounted !== undefined && mounted.device !== device) return false;
  const name = basename(source);
  const behind = await readFile(`/sys/block/${name}/loop/backing_file`, 'utf8').catch(() => '');
  return behind.trim() === image;
}

function kill(pid: number): boolean {
  try {
    process.kill(pid, 'SIGKILL');
    return true;
  } catch {
    return false;
  }
}

import { mountAt } from './mounts.ts';
import { run } from './program.ts';

/** In a view of mounts of its own: what is on the disk below the mount; folders with nothing in them are taken away there. */
const SCRIPT = `set -e
umount --lazy "$1"
ls -A "$1"
rmdir "$1"/* 2>/dev/null || :`;

/**
 * Podman makes a folder that a mount names and that it does not find. If it does not see what is mounted here, that is on the disk
 * below the mount, where nothing should be. Undefined: the engine sees the mount, or there is none.
 */
export async function madeBelow(mountPoint: string): Promise<string | undefined> {
  if ((await mountAt(mountPoint)) === undefined) return undefined;
  const args = ['--mount', '--propagation', 'private', '--', '/bin/sh', '-c', SCRIPT, 'sh', mountPoint];
  const [first = ''] = (await run('unshare', args)).split('\n');
  return first === '' ? undefined : first;
}

import { lstat } from 'node:fs/promises';
import { run } from './program.ts';

const SUBVOLUME_TIMEOUT_MS = 60_000;
/** Of every subvolume's top folder. */
export const SUBVOLUME_INODE = 256;

/** Never what a link leads to. */
export async function isSubvolume(path: string): Promise<boolean> {
  return await lstat(path).then(
    (found) => found.isDirectory() && found.ino === SUBVOLUME_INODE,
    () => false,
  );
}

export async function isReadOnly(path: string): Promise<boolean> {
  return (await btrfs('property', 'get', '-ts', path, 'ro')).includes('ro=true');
}

export async function subvolume(...args: string[]): Promise<void> {
  await btrfs('subvolume', ...args);
}

export async function btrfs(...args: string[]): Promise<string> {
  return await run('btrfs', args, SUBVOLUME_TIMEOUT_MS);
}

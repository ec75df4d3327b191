import { readFile } from 'node:fs/promises';
import { ProgramError, run } from './program.ts';

export interface Mount {
  readonly mountPoint: string;
  /** `major:minor` of the file system: the same wherever and under whatever path it is mounted. */
  readonly device: string;
  readonly source: string;
  readonly root: string;
}

/** `/proc/<pid>/mountinfo`, see proc(5). */
export function parseMountInfo(text: string): readonly Mount[] {
  return text.split('\n').flatMap((line) => {
    const [before = '', after = ''] = line.split(' - ', 2);
    const [, , device, root, mountPoint] = before.split(' ');
    const [, source] = after.split(' ');
    if (device === undefined || root === undefined || mountPoint === undefined || source === undefined)
      return [];
    return [{ device, root: unescaped(root), mountPoint: unescaped(mountPoint), source: unescaped(source) }];
  });
}

/** Blanks and the like are written as three octal digits. */
function unescaped(escaped: string): string {
  return escaped.replace(/\\([0-7]{3})/g, (_all, digits: string) => String.fromCharCode(parseInt(digits, 8)));
}

/** The topmost mount at the path, as this process sees it. */
export async function mountAt(mountPoint: string): Promise<Mount | undefined> {
  const mounts = parseMountInfo(await readFile('/proc/self/mountinfo', 'utf8'));
  return mounts.findLast((one) => one.mountPoint === mountPoint);
}

export async function mountDevice(
  device: string,
  mountPoint: string,
  type: 'btrfs' | 'ext4' | 'xfs',
  options: readonly string[],
): Promise<void> {
  // No devices and no set-uid files of a tenant's on the host; reading must not write (noatime), or idle volumes would not be idle.
  const all = ['nodev', 'nosuid', 'noatime', ...options].join(',');
  await run('mount', ['-t', type, '-o', all, device, mountPoint]);
}

/**
 * The folder behind a descriptor, with what is mounted in it, whatever its name leads to by now: the path is one of the kernel's
 * own, and must not be resolved to a name by the program. Nothing that is mounted or unmounted here later shows there, or there here.
 */
export async function mountOpen(descriptor: number, mountPoint: string): Promise<void> {
  const source = `/proc/${process.pid}/fd/${descriptor}`;
  await run('mount', ['--no-canonicalize', '--rbind', '--make-rprivate', source, mountPoint]);
}

/** In memory: gone with the machine's run, and invisible outside this process's mount namespace. */
export async function mountTmpfs(mountPoint: string, sizeBytes: number): Promise<void> {
  const options = `nodev,nosuid,noexec,mode=0700,size=${sizeBytes}`;
  await run('mount', ['-t', 'tmpfs', '-o', options, 'berth', mountPoint]);
}

/** Cut off between two calls, a mount may still be shared with what it was made from: unmounted so, that would go as well. */
export async function detachPrivate(mountPoint: string): Promise<void> {
  if ((await mountAt(mountPoint)) === undefined) return;
  await run('mount', ['--no-canonicalize', '--make-rprivate', mountPoint]);
  await detach(mountPoint);
}

/** Lazily: nothing on the host can hold it up, and from now on its path no longer leads to it. */
export async function detach(mountPoint: string, timeoutMs?: number): Promise<void> {
  for (let left = 16; left > 0 && (await mountAt(mountPoint)) !== undefined; left -= 1) {
    await run('umount', ['--lazy', mountPoint], timeoutMs).catch((error: unknown) => {
      if (!(error instanceof ProgramError) || !error.output.includes('not mounted')) throw error;
    });
  }
}

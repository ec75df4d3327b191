import { access, readFile } from 'node:fs/promises';
import { findProgram, type Program, PROGRAMS } from './program.ts';

const ALWAYS: readonly Program[] = ['losetup', 'mount', 'umount', 'mknod', 'fallocate'];

/** A message for a person; undefined: all is here. */
export async function missingParts(
  programs: readonly Program[],
  filesystem: 'btrfs' | 'ext4',
): Promise<string | undefined> {
  if (process.getuid?.() !== 0) return 'the agent does not run as root';
  for (const program of [...ALWAYS, ...programs]) {
    if ((await findProgram(program)) === undefined) {
      return `${program} is not installed (package ${PROGRAMS[program]})`;
    }
  }
  if (!(await isThere('/dev/loop-control'))) return 'there are no loop devices (kernel module loop)';
  const known = await readFile('/proc/filesystems', 'utf8');
  if (!new RegExp(`^[ \\t]*${filesystem}$`, 'm').test(known) && !(await hasModule(filesystem))) {
    return `the kernel does not know ${filesystem} (kernel module ${filesystem})`;
  }
  return undefined;
}

/** Loaded by the kernel at the first mount. */
async function hasModule(name: string): Promise<boolean> {
  const release = (await readFile('/proc/sys/kernel/osrelease', 'utf8')).trim();
  const list = await readFile(`/lib/modules/${release}/modules.dep`, 'utf8').catch(() => '');
  return new RegExp(`/${name}\\.ko(\\.\\w+)?:`).test(list);
}

async function isThere(path: string): Promise<boolean> {
  return await access(path).then(
    () => true,
    () => false,
  );
}

import { access, readFile, writeFile } from 'node:fs/promises';
import { basename } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { ProgramError, run } from './program.ts';

const TRIES = 20;
const LOOP_MAJOR = 7;

/** Devices that show this file, found by its inode: they outlive their creator (an agent that was killed). */
export async function loopDevicesOf(image: string): Promise<readonly string[]> {
  const printed = await run('losetup', ['--noheadings', '--output', 'NAME', '--associated', image]);
  return printed.split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.trim()]));
}

/** As the kernel names it, with ` (deleted)` behind one that is; undefined: the device shows no file. */
export async function backingFileOf(device: string): Promise<string | undefined> {
  const path = `/sys/block/${basename(device)}/loop/backing_file`;
  return await readFile(path, 'utf8').then(
    (text) => text.trimEnd(),
    () => undefined,
  );
}

export async function attachLoop(image: string): Promise<string> {
  const [known] = await loopDevicesOf(image);
  if (known !== undefined) return known;
  for (let attempt = 1; ; attempt += 1) {
    try {
      const free = (await run('losetup', ['--find'])).trim();
      await makeNode(free);
      const device = (await run('losetup', ['--find', '--show', '--nooverlap', image])).trim();
      await forbidDiscards(device);
      // Nothing is kept in memory twice, where the host's file system can do without.
      await run('losetup', ['--direct-io=on', device]).catch(() => {});
      return device;
    } catch (error) {
      // Others on this machine take devices too: the one that was free may be theirs by now.
      if (!(error instanceof ProgramError) || attempt === TRIES) throw error;
      await pause(10 * attempt);
    }
  }
}

/** A trim of the host's would punch holes into the image. */
async function forbidDiscards(device: string): Promise<void> {
  await writeFile(`/sys/block/${basename(device)}/queue/discard_max_bytes`, '0').catch(() => {});
}

/** In a container the kernel has the device, but no udev creates its node. */
async function makeNode(path: string): Promise<void> {
  const minor = /^\/dev\/loop(\d+)$/.exec(path)?.[1];
  if (minor === undefined) return;
  const there = await access(path).then(
    () => true,
    () => false,
  );
  if (there) return;
  await run('mknod', ['-m', '0600', path, 'b', String(LOOP_MAJOR), minor]).catch((error: unknown) => {
    if (!(error instanceof ProgramError) || !error.output.includes('File exists')) throw error;
  });
}

/** A device that is in use goes with its last user. */
export async function releaseLoop(device: string): Promise<void> {
  await run('losetup', ['--detach', device]).catch((error: unknown) => {
    if (!(error instanceof ProgramError) || !error.output.includes('No such device')) throw error;
  });
}

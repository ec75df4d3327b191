import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf } from '../../core/model/values.ts';
import type { Log } from '../log.ts';
import { holdersOf } from './holders.ts';
import { releaseLoop } from './loop-device.ts';
import { detach, parseMountInfo } from './mounts.ts';
import { isWatchdog } from './watchdog-process.ts';
import { writeLeases } from './lease-file.ts';

/**
 * Of an agent that has ended: unmounts the volumes that no container has any more, and when none is left ends the watchdog, which
 * has nobody to watch. The bytes stay. What a container still has stays mounted and watched.
 */
export async function releaseVolumes(dataDir: string, log: Log): Promise<void> {
  const below = `${join(dataDir, 'volumes')}/`;
  const mounts = parseMountInfo(await readFile('/proc/self/mountinfo', 'utf8')).filter(({ mountPoint }) =>
    mountPoint.startsWith(below),
  );
  let left = 0;
  // The deepest first: what is mounted last may lie in what was mounted before.
  for (const mount of mounts.toReversed()) {
    try {
      if ((await holdersOf(mount)).length > 0) left += 1;
      else {
        await detach(mount.mountPoint);
        if (mount.source.startsWith('/dev/loop')) await releaseLoop(mount.source);
      }
    } catch (error) {
      left += 1;
      log.warn('a volume could not be unmounted', { path: mount.mountPoint, reason: messageOf(error) });
    }
  }
  if (left > 0) {
    log.info('volumes that containers use stay mounted', { count: left });
    return;
  }
  const watchdogs = await watchdogsOf(dataDir);
  if (watchdogs.length === 0) return;
  await writeLeases(dataDir, []);
  for (const pid of watchdogs) process.kill(pid, 'SIGTERM');
}

/** Also one that an earlier release started. */
async function watchdogsOf(dataDir: string): Promise<readonly number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
  const running: number[] = [];
  for (const pid of pids) {
    const line = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    const [watched, program = ''] = line.split('\0').toReversed().slice(1);
    if (watched === dataDir && isWatchdog(program)) running.push(Number(pid));
  }
  return running;
}

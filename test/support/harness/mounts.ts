import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { parseMountInfo } from '../../../src/agent/volumes/mounts.ts';

/** Removes a folder that volumes may be mounted in: what is mounted is taken away first, not emptied. */
export function removeWithMounts(folder: string): void {
  const below = parseMountInfo(readFileSync('/proc/self/mountinfo', 'utf8')).filter(({ mountPoint }) =>
    mountPoint.startsWith(`${folder}/`),
  );
  for (const { mountPoint } of below.toReversed()) execFileSync('umount', ['--lazy', mountPoint]);
  rmSync(folder, { recursive: true, force: true, maxRetries: 3 });
}

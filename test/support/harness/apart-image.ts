import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';

/** A volume as it was made before decision 0141, of any size: data and metadata each have room of their own. */
export function makeApart(folder: string, sizeBytes: number): void {
  mkdirSync(folder, { recursive: true });
  const image = join(folder, 'image');
  execFileSync('fallocate', ['--length', String(sizeBytes), image]);
  const profiles = ['--metadata', 'single', '--data', 'single'];
  execFileSync('/usr/sbin/mkfs.btrfs', ['--quiet', '--nodiscard', ...profiles, image], { stdio: 'ignore' });
}

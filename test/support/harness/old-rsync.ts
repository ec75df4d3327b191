import { execFileSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/**
 * A `/usr` with the oldest rsync that Debian still offers for this machine, unpacked in `folder`, not installed: newer ones refuse some batches
 * by themselves. Undefined: there is no other than the one that is installed.
 */
export function oldRsync(folder: string): string | undefined {
  const run = (program: string, ...args: string[]): string =>
    execFileSync(program, args, { cwd: folder, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  const versions = run('apt-cache', 'madison', 'rsync')
    .split('\n')
    .flatMap((line) => line.split('|')[1]?.trim() ?? []);
  const installed = run('dpkg-query', '--show', '--showformat=${Version}', 'rsync').trim();
  const oldest = versions.at(-1);
  if (oldest === undefined || oldest === installed) return undefined;
  run('apt-get', 'download', `rsync=${oldest}`);
  const [archive] = readdirSync(folder).filter((name) => name.endsWith('.deb'));
  run('dpkg-deb', '--extract', archive ?? '', 'old-rsync');
  return join(folder, 'old-rsync/usr');
}

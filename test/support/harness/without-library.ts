import { spawnSync } from 'node:child_process';

/** A command on this machine, had it not the library: what its loader remembers of it is hidden too. */
export function withoutLibrary(
  library: string,
  options: { readonly env: Readonly<Record<string, string>>; readonly cwd?: string },
  ...command: readonly string[]
) {
  const files = ['/lib/*', '/lib64', '/usr/lib/*', '/usr/lib64'].map((place) => `${place}/${library}*`);
  const hide = `for file in ${files.join(' ')} /sbin/ldconfig; do [ ! -s "$file" ] || mount --bind /dev/null "$file"; done`;
  const line = ['--mount', 'sh', '-c', `${hide}; exec "$@"`, 'sh', ...command];
  return spawnSync('/usr/bin/unshare', line, { encoding: 'utf8', ...options });
}

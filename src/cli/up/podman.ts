import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { isRoot } from './programs.ts';

/** Podman, unlike Docker, wants to be told that a registry on loopback speaks plain HTTP. */
export function allowRegistry(host: string): { readonly file: string; readonly remove: () => void } {
  const folder = join(
    isRoot() ? '/etc/containers' : join(homedir(), '.config', 'containers'),
    'registries.conf.d',
  );
  const file = join(folder, `berth-${host.replaceAll(/[^0-9]+/g, '-')}.conf`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(
    file,
    `# Written by berth up; removed when it ends.\n[[registry]]\nlocation = "${host}"\ninsecure = true\n`,
  );
  return { file, remove: () => rmSync(file, { force: true }) };
}

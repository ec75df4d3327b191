import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { fieldText, isRecord, parsedRecord } from '../../core/model/values.ts';
import { Failure } from '../failure.ts';
import { packed } from '../files/tar-writer.ts';
import { BLOCK } from '../up/tar.ts';

/** Of the package itself; what it depends on comes from its lock. */
const OWN = ['bin', 'dist', 'packaging/systemd', 'package.json', 'npm-shrinkwrap.json', 'LICENSE'];
const RUNTIME = 'node_modules/node-linux-';
/** Beside src in a checkout and beside dist in an installation. */
const HERE = fileURLToPath(new URL('../../..', import.meta.url));

/** An installation of Berth as it is sent to a machine: with everything it needs, its Node included. */
export interface Release {
  /** Names what it is: the version and the digest of its programs and of the lock of its dependencies. */
  readonly id: string;
  readonly version: string;
  readonly architecture: string;
  readonly bytes: number;
  archive(): AsyncGenerator<Uint8Array>;
}

export function readRelease(given: string | undefined): Release {
  const root = given ?? HERE;
  const stop = (why: string, ...advice: string[]): Failure => new Failure(`${root}: ${why}`, { advice });
  if (!existsSync(join(root, 'dist/agent/main.js')) || !existsSync(join(root, 'bin/berth')))
    throw stop(
      given === undefined ? 'this checkout was not built' : 'no installation of berth',
      given === undefined
        ? 'Build it: npm run build'
        : 'Name the folder of an installed package, e.g. PREFIX/lib/node_modules/berth',
    );
  if (given === undefined && import.meta.url.endsWith('.ts'))
    throw stop('its sources are newer than its build', 'Build it: npm run build');
  const manifest = parsedRecord(readFileSync(join(root, 'package.json'), 'utf8'));
  const version = fieldText(manifest, 'version') ?? '0';
  const lockFile = ['npm-shrinkwrap.json', 'package-lock.json'].find((name) => existsSync(join(root, name)));
  if (lockFile === undefined)
    throw stop('no lock of its dependencies', 'Make the package with: npm run pack');
  const lock = readFileSync(join(root, lockFile), 'utf8');
  const modules = neededModules(lock).filter((path) => existsSync(join(root, path)));
  const runtime = modules.find((path) => path.startsWith(RUNTIME));
  if (runtime === undefined)
    throw stop('it came without its Node', 'Install it again, without --omit=optional.');
  const parts = [
    ...OWN.filter((path) => existsSync(join(root, path))),
    ...modules.filter((path) => path !== runtime),
    // Headers and pages are for others.
    `${runtime}/bin/node`,
    `${runtime}/package.json`,
    `${runtime}/LICENSE`,
  ];
  const files = parts.flatMap((path) => filesBelow(root, path));
  return {
    id: `${version}-${digestOf(root, files, lock)}`,
    version,
    architecture: runtime.slice(RUNTIME.length),
    bytes: files.reduce((sum, path) => sum + statSync(join(root, path)).size, 0),
    archive: () => archiveOf(root, files),
  };
}

/** What an installation has: neither tools of the checkout nor what stands inside another package, which comes with that. */
function neededModules(lock: string): readonly string[] {
  const { packages } = parsedRecord(lock);
  if (!isRecord(packages)) return [];
  return Object.entries(packages)
    .filter(([path, entry]) => path !== '' && isRecord(entry) && entry['dev'] !== true)
    .map(([path]) => path)
    .filter((path) => path.lastIndexOf('node_modules/') === 0);
}

function filesBelow(root: string, path: string): readonly string[] {
  const found = statSync(join(root, path), { throwIfNoEntry: false });
  if (found === undefined) return [];
  if (!found.isDirectory()) return [path];
  return readdirSync(join(root, path))
    .toSorted()
    .flatMap((name) => (name.endsWith('.map') ? [] : filesBelow(root, `${path}/${name}`)));
}

/** Dependencies are pinned by the lock, with their digests. */
function digestOf(root: string, files: readonly string[], lock: string): string {
  const hash = createHash('sha256').update(lock);
  for (const path of files)
    if (!path.startsWith('node_modules/') && !path.endsWith('.json'))
      hash.update(`${path}\0`).update(readFileSync(join(root, path)));
  return hash.digest('hex').slice(0, 12);
}

async function* archiveOf(root: string, files: readonly string[]): AsyncGenerator<Uint8Array> {
  for (const path of files) {
    // Each of them ends with the mark of an archive's end, which stands at the end of the whole only.
    let held: Uint8Array | undefined;
    for await (const { bytes } of packed(join(root, path), path, () => undefined)) {
      if (held !== undefined) yield held;
      held = bytes;
    }
  }
  yield Buffer.alloc(2 * BLOCK);
}

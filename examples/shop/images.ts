/**
 * Makes the images of the shop from Debian's packages and pushes them to a registry, or says which packages are missing:
 *
 *     npm run shop:images -- 127.0.0.1:5000
 */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { libraries, machineFiles } from '../../test/support/harness/machine-files.ts';
import { nginxImage } from '../../test/support/harness/nginx-image.ts';
import { ensurePackages } from '../../test/support/harness/packages.ts';
import { postgresImage } from '../../test/support/harness/postgres-image.ts';
import { type ImageContent, pushImage } from '../../test/support/harness/registry.ts';
import type { TarEntry } from '../../test/support/tar.ts';

const APP = join(import.meta.dirname, 'app');
const PROGRAM = '/usr/bin/python3.11';
const LIBRARY = '/usr/lib/python3.11';
const DRIVER = '/usr/lib/python3/dist-packages/psycopg2';
/** Large, and of no use to a program that serves. */
const LEFT =
  /__pycache__|\/(?:config-|test|idlelib|tkinter|lib2to3|ensurepip|pydoc_data|distutils|_test|venv)/;
/** The schema that each release of the application needs. */
const RELEASES = { '1.0': 1, '1.1': 2 } as const;

/** Debian's Python with its driver of PostgreSQL on top of busybox, and the programs of the shop in /shop. */
export function appImage(version: keyof typeof RELEASES): ImageContent {
  ensurePackages(['python3', 'python3-psycopg2']);
  const kept = globSync(['**/*.py', 'lib-dynload/*.so'], { cwd: LIBRARY })
    .map((name) => join(LIBRARY, name))
    .filter((path) => !LEFT.test(path));
  const driver = globSync('*.{py,so}', { cwd: DRIVER }).map((name) => join(DRIVER, name));
  const linked = [PROGRAM, ...[...kept, ...driver].filter((path) => path.endsWith('.so'))];
  const release = `VERSION = "${version}"\nSCHEMA = ${RELEASES[version]}\n`;
  return {
    files: [
      ...machineFiles([...new Set([PROGRAM, ...kept, ...driver, ...libraries(linked)])]),
      { path: 'bin/python3', link: PROGRAM },
      { path: 'shop', type: 'dir' },
      { path: 'shop/release.py', data: Buffer.from(release) },
      ...globSync('*.py', { cwd: APP }).map(
        (name): TarEntry => ({ path: `shop/${name}`, data: readFileSync(join(APP, name)) }),
      ),
    ],
    cmd: ['python3', '/shop/web.py'],
  };
}

/** By name in the registry. */
export const SHOP_IMAGES: Readonly<Record<string, () => ImageContent>> = {
  'shop/postgres:15': postgresImage,
  'shop/nginx:1.22': nginxImage,
  'shop/app:1.0': () => appImage('1.0'),
  'shop/app:1.1': () => appImage('1.1'),
};

export async function pushShopImages(host: string, tell: (line: string) => void): Promise<void> {
  for (const [name, content] of Object.entries(SHOP_IMAGES)) {
    const { reference, digest } = await pushImage({ host, auth: undefined }, name, content());
    tell(`${reference} ${digest}`);
  }
}

if (import.meta.main) {
  const [host] = process.argv.slice(2);
  if (host === undefined) throw new Error('which registry? npm run shop:images -- 127.0.0.1:5000');
  await pushShopImages(host, (line) => process.stdout.write(`${line}\n`));
}

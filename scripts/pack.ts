import { spawnSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, runTool } from './run.ts';

interface Lock {
  readonly packages: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

interface Packed {
  readonly filename: string;
  readonly size: number;
  readonly unpackedSize: number;
  readonly entryCount: number;
}

const SHRINKWRAP = join(ROOT, 'npm-shrinkwrap.json');

/**
 * An installation gets the very packages that were tested, with their digests: a lock file is not published, a shrinkwrap is.
 * It exists only while the package is being made, since npm would prefer it to the lock file of the checkout.
 */
function writeShrinkwrap(): void {
  const lock = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8')) as Lock;
  const { devDependencies: _ours, ...root } = lock.packages[''] ?? {};
  const needed = Object.entries(lock.packages).filter(
    ([path, entry]) => path !== '' && entry['dev'] !== true,
  );
  const packages = { '': root, ...Object.fromEntries(needed) };
  writeFileSync(SHRINKWRAP, `${JSON.stringify({ ...lock, packages }, null, 2)}\n`);
}

/** `npm run pack [-- folder]`: builds and makes the tarball. (.npmrc forbids scripts, so `npm pack` alone would not build.) */
function main(destination: string): number {
  const built = runTool('node', ['scripts/build.ts']);
  if (built !== 0) return built;
  writeShrinkwrap();
  try {
    const result = spawnSync('npm', ['pack', '--json', '--pack-destination', destination], {
      cwd: ROOT,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    if (result.error) throw result.error;
    if (result.status !== 0) return result.status ?? 1;
    const [packed] = JSON.parse(result.stdout) as readonly Packed[];
    if (packed === undefined) throw new Error(`npm pack said: ${result.stdout}`);
    const size = (bytes: number): string => `${(bytes / 1000).toFixed(0)} kB`;
    process.stdout.write(
      `${join(destination, packed.filename)}: ${size(packed.size)}, unpacked ${size(packed.unpackedSize)}, ${packed.entryCount} files\n`,
    );
    return 0;
  } finally {
    rmSync(SHRINKWRAP, { force: true });
  }
}

process.exit(main(process.argv[2] ?? '.'));

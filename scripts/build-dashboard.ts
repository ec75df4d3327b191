import { renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { compressFiles } from './compress.ts';
import { ROOT } from './run.ts';
import { isStale } from './stale.ts';
import { LICENSES, writeNotices } from './third-party-notices.ts';

/**
 * The dashboard as the control plane serves it: `dist/dashboard`, each file also compressed, and last `built.json`, without
 * which the folder does not count. With `--if-stale` nothing is done while no source is newer than the last build.
 */
const FOLDER = join(ROOT, 'dist/dashboard');
const MARK = join(FOLDER, 'built.json');
const SOURCES = [
  'src/dashboard',
  'src/sdk',
  'src/core',
  'src/shared',
  'package-lock.json',
  'scripts/build-dashboard.ts',
  'scripts/third-party-notices.ts',
];
/** Whole or not at all: a control plane that starts meanwhile finds the old build or the new one. */
function replaceWith(folder: string): void {
  for (let tries = 1; ; tries += 1) {
    rmSync(FOLDER, { recursive: true, force: true });
    try {
      renameSync(folder, FOLDER);
      return;
    } catch (error) {
      // Another build came first; the later one is as good.
      if (tries === 3) throw error;
    }
  }
}

async function main(): Promise<void> {
  if (process.argv.includes('--if-stale') && !isStale(MARK, SOURCES)) return;
  const { build } = await import('vite');
  // Of the caller otherwise, and a test would build what is meant for development.
  process.env['NODE_ENV'] = 'production';
  const outDir = `${FOLDER}-${process.pid}`;
  try {
    await build({
      mode: 'production',
      configFile: join(ROOT, 'src/dashboard/vite.config.ts'),
      logLevel: 'error',
      build: { outDir, license: { fileName: LICENSES } },
    });
    const libraries = writeNotices(outDir);
    const sizes = compressFiles(outDir);
    writeFileSync(join(outDir, 'built.json'), `${JSON.stringify({ gzipBytes: sizes }, null, 2)}\n`);
    replaceWith(outDir);
    const total = Object.values(sizes).reduce((sum, bytes) => sum + bytes, 0);
    process.stdout.write(
      `dashboard: ${Object.keys(sizes).length} files, ${Math.round(total / 1000)} kB compressed, of ${libraries} libraries\n`,
    );
  } finally {
    rmSync(outDir, { recursive: true, force: true });
  }
}

await main();

import { readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { build } from 'vite';
import { ROOT } from './run.ts';

/**
 * The dashboard as the control plane serves it: `dist/dashboard`, each file also compressed, and last `built.json`, without
 * which the folder does not count. With `--if-stale` nothing is done while no source is newer than the last build.
 */
const FOLDER = join(ROOT, 'dist/dashboard');
const MARK = join(FOLDER, 'built.json');
const SOURCES = ['src/dashboard', 'src/core', 'package-lock.json', 'scripts/build-dashboard.ts'];
const COMPRESSED = /\.(?:html|js|css|svg)$/;

function filesOf(path: string): string[] {
  if (statSync(path).isFile()) return [path];
  return readdirSync(path, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

function isStale(): boolean {
  const built = statSync(MARK, { throwIfNoEntry: false })?.mtimeMs;
  if (built === undefined) return true;
  return SOURCES.flatMap((path) => filesOf(join(ROOT, path))).some((file) => statSync(file).mtimeMs > built);
}

async function main(): Promise<void> {
  if (process.argv.includes('--if-stale') && !isStale()) return;
  await build({ configFile: join(ROOT, 'src/dashboard/vite.config.ts'), logLevel: 'warn' });
  const sizes: Record<string, number> = {};
  for (const file of filesOf(FOLDER).filter((path) => COMPRESSED.test(path))) {
    const plain = readFileSync(file);
    const brotli = brotliCompressSync(plain, {
      params: { [constants.BROTLI_PARAM_QUALITY]: 9, [constants.BROTLI_PARAM_SIZE_HINT]: plain.length },
    });
    const gzip = gzipSync(plain, { level: 9 });
    writeFileSync(`${file}.br`, brotli);
    writeFileSync(`${file}.gz`, gzip);
    sizes[file.slice(FOLDER.length + 1)] = gzip.length;
  }
  writeFileSync(MARK, `${JSON.stringify({ gzipBytes: sizes }, null, 2)}\n`);
  const total = Object.values(sizes).reduce((sum, bytes) => sum + bytes, 0);
  process.stdout.write(
    `dashboard: ${Object.keys(sizes).length} files, ${Math.round(total / 1000)} kB compressed\n`,
  );
}

await main();

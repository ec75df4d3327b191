import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { ARCHITECTURES, isArchitecture, stagePackage } from './deb/stage.ts';
import { ROOT, runTool } from './run.ts';

/** The moment that all files and entries of the package bear, so that the same sources make the same bytes. */
function sourceDate(): number {
  const given = process.env['SOURCE_DATE_EPOCH'];
  const text =
    given ?? spawnSync('git', ['log', '-1', '--format=%ct'], { cwd: ROOT, encoding: 'utf8' }).stdout;
  const seconds = Number(text);
  if (text.trim() === '' || !Number.isSafeInteger(seconds))
    throw new Error('no commit to take the date from: set SOURCE_DATE_EPOCH');
  return seconds;
}

function madePackage(folder: string): string {
  if (runTool('node', ['scripts/pack.ts', folder]) !== 0) throw new Error('the package could not be made');
  const name = readdirSync(folder).find((file) => file.endsWith('.tgz'));
  if (name === undefined) throw new Error(`${folder} has no package`);
  return join(folder, name);
}

/** `npm run deb [-- FOLDER] [--package FILE.tgz] [--architecture amd64|arm64]`: Debian packages of the same build as `npm run pack`. */
function main(): void {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      package: { type: 'string' },
      architecture: {
        type: 'string',
        multiple: true,
        default: [process.arch === 'arm64' ? 'arm64' : 'amd64'],
      },
    },
  });
  const folder = resolve(positionals[0] ?? '.');
  const architectures = values.architecture.map((name) => {
    if (isArchitecture(name)) return name;
    throw new Error(`--architecture ${name}: expected one of ${Object.keys(ARCHITECTURES).join(', ')}`);
  });
  const { version: ours } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
    version: string;
  };
  // 0.2.0-rc.1 comes before 0.2.0; to Debian only with a tilde.
  const version = ours.replace('-', '~');
  const work = mkdtempSync(join(tmpdir(), 'berth-deb-'));
  try {
    mkdirSync(folder, { recursive: true });
    const tarball = values.package === undefined ? madePackage(work) : resolve(values.package);
    const date = sourceDate();
    for (const architecture of architectures) {
      const stage = join(work, architecture);
      stagePackage(stage, { tarball, version, architecture, date });
      const file = join(folder, `berth_${version}-1_${architecture}.deb`);
      // With several threads the bytes would depend on their number; level 6 was stopped after 91 seconds of processor time.
      const flags = ['--root-owner-group', '--threads-max=1', '-Zxz', '-z1', '--build', stage, file];
      const made = spawnSync('dpkg-deb', flags, {
        stdio: ['ignore', 'ignore', 'inherit'],
        env: { ...process.env, SOURCE_DATE_EPOCH: String(date) },
      });
      if (made.error !== undefined) throw made.error;
      if (made.status !== 0) throw new Error(`dpkg-deb ended with ${made.status}`);
      process.stdout.write(`${file}\n`);
      rmSync(stage, { recursive: true });
    }
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

try {
  main();
} catch (error) {
  process.stderr.write(`deb: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
}

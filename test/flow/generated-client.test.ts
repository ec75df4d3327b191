import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { type FakeRegistry, startFakeRegistry } from '../support/harness/fake-registry.ts';

/** With a TypeScript of its own: the generator is written against another one than ours. */
const PACKAGES = ['openapi-typescript@7.13.0', 'openapi-fetch@0.17.0', 'typescript@5.9.3'];
const SETTINGS = {
  compilerOptions: {
    strict: true,
    exactOptionalPropertyTypes: true,
    noEmit: true,
    module: 'nodenext',
    target: 'es2023',
    lib: ['es2023', 'dom'],
    allowImportingTsExtensions: true,
    types: [],
  },
  include: ['program.ts'],
};
const TIMEOUT_MS = 180_000;

const folder = mkdtempSync(join(tmpdir(), 'berth-generated-'));
let plane: ControlPlane;
let registry: FakeRegistry;

async function run(program: string, ...words: readonly string[]): Promise<string> {
  const made = promisify(execFile)(program, words, { cwd: folder, timeout: TIMEOUT_MS });
  return made.then(
    ({ stdout }) => stdout,
    (failed: { readonly stdout: string; readonly stderr: string }) => {
      throw new Error(`${program} ${words.join(' ')}:\n${failed.stdout}\n${failed.stderr}`);
    },
  );
}

const binary = (name: string): string => join(folder, 'node_modules/.bin', name);

beforeAll(async () => {
  registry = await startFakeRegistry();
  plane = await startControlPlane([], { BERTH_REGISTRIES_ALLOW_PRIVATE: `http://${registry.host}` });
  const page = readFileSync(join(import.meta.dirname, '../../docs/outside-checks.md'), 'utf8');
  writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify(SETTINGS));
  writeFileSync(join(folder, 'openapi.json'), await (await fetch(`${plane.url}/openapi.json`)).text());
  writeFileSync(join(folder, 'program.ts'), /```ts\n([^]*?)```/.exec(page)?.[1] ?? '');
  await run('npm', 'install', '--no-audit', '--no-fund', '--ignore-scripts', ...PACKAGES);
}, TIMEOUT_MS);
afterAll(async () => {
  await plane?.close();
  await registry?.stop();
  rmSync(folder, { recursive: true, force: true });
});

describe('types that another tool makes of the document', () => {
  it(
    'are enough for a program without a cast, which then does what it says',
    async () => {
      await run(binary('openapi-typescript'), 'openapi.json', '-o', 'berth.ts');
      expect(readFileSync(join(folder, 'program.ts'), 'utf8')).not.toMatch(/\bas (?!const)|\bany\b|@ts-/);
      await run(binary('tsc'), '-p', '.');
      const { token } = await plane.tenant('shop');
      const words = [plane.url, token, `${registry.host}/ok/web:1.0.0`];
      const call = `import('./program.ts').then(({ main }) => main(...process.argv.slice(1))).then((said) => console.log(said.join('\\n')))`;
      const said = await run(process.execPath, '-e', call, ...words);
      expect(said.trim().split('\n')).toEqual([
        expect.stringContaining('one: '),
        expect.stringContaining('two: '),
        'there already: one',
        'labels {"team":"shop"}',
        '412 revision_mismatch',
        'page one 0',
        'page two 0',
      ]);
    },
    TIMEOUT_MS,
  );
});

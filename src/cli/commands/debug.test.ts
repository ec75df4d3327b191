import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { typeCommand } from '../../../test/support/harness/typed-command.ts';

const MAIN = join(import.meta.dirname, '../main.ts');
const folder = mkdtempSync(join(tmpdir(), 'berth-debug-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const debug = (...words: readonly string[]) => typeCommand(['debug', ...words], { HOME: folder });

describe('the archive of berth debug', () => {
  it('is looked for before anything is sampled', async () => {
    const nowhere = join(folder, 'none', 'x.tgz');
    const refused = await debug('--to', nowhere);
    expect(refused).toMatchObject({ status: 1, out: '' });
    expect(refused.err).toMatch(/^berth: .*none\/x\.tgz: ENOENT/);
    expect(refused.err).not.toContain('this is a defect');
  });

  it('takes the place of no other file', async () => {
    const to = join(folder, 'twice.tgz');
    expect(await debug('--local', '--to', to)).toMatchObject({ status: 0 });
    expect((await debug('--local', '--to', to)).err).toContain('exists already');
    expect(execFileSync('tar', ['-tzf', to], { encoding: 'utf8' })).toContain('twice/report.json');
  });

  // A limit in place of a full disk.
  it('that cannot be written whole is gone again', () => {
    const line = `ulimit -f 0; "${process.execPath}" "${MAIN}" debug --local --to full.tgz`;
    const { status, stderr } = spawnSync('sh', ['-c', line], {
      cwd: folder,
      encoding: 'utf8',
      // No terminal is no terminal, in a run of CI as well.
      env: { ...process.env, CI: 'true' },
    });
    expect(stderr).toMatch(/^berth: full\.tgz: EFBIG/);
    expect(status).toBe(1);
    expect(existsSync(join(folder, 'full.tgz'))).toBe(false);
  });
});

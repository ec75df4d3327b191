import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { BERTH } from '../support/harness/program.ts';

const home = mkdtempSync(join(tmpdir(), 'berth-unmade-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

/** One that tries for ever is ended. */
function run(words: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(BERTH, words, {
    cwd: home,
    env: { PATH: process.env['PATH'], HOME: home },
    encoding: 'utf8',
    timeout: 30_000,
    killSignal: 'SIGKILL',
  });
  return { status, said: `${stdout}${stderr}` };
}

const PLACES = [
  ['/proc/nosuch/x', 'the file system of /proc takes no new folder'],
  ['/dev/null/x', '/dev/null is no folder'],
] as const;

describe.each(PLACES)('a data folder that cannot be made, %s', (folder, why) => {
  it.each([
    ['server', 2, ['server', '--listen', '127.0.0.1:0']],
    ['agent', 1, ['agent']],
    ['up', 1, ['up']],
  ])('ends berth %s with status %i, says why and what to do', (_program, status, words) => {
    const ended = run([...words, '--data-dir', folder]);
    expect(ended.said).toContain(`the folder ${folder} cannot be made: ${why}.`);
    expect(ended.said).toContain('choose another place (--data-dir)');
    expect(ended.said).not.toMatch(/defect|\n +at /);
    expect(ended.status).toBe(status);
  });
});

import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { EngineStanding } from './engine-standing.ts';

it('of an engine that is away for long keeps work away, of one that restarts it does not', () => {
  let problem: string | undefined;
  const standing = new EngineStanding({
    problem: () => problem,
    rootDir: () => tmpdir(),
    onChange: () => undefined,
  });
  expect(standing.fault(0)).toBeUndefined();
  problem = 'no answer within 10 s';
  expect(standing.fault(1_000)).toBeUndefined();
  expect(standing.fault(30_999)).toBeUndefined();
  expect(standing.fault(31_000)).toMatch(/does not work.*nothing new.*no answer within 10 s/);
  problem = undefined;
  expect(standing.fault(32_000)).toBeUndefined();
  problem = 'no answer within 10 s';
  expect(standing.fault(33_000)).toBeUndefined();
});

const canMount = process.getuid?.() === 0 && spawnSync('mount', ['--version']).status === 0;

it.skipIf(!canMount)(
  'of a folder that became read-only keeps work away until it can be written',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'berth-standing-'));
    const mounted = (...options: readonly string[]): number | null =>
      spawnSync('mount', [...options, folder]).status;
    expect(mounted('-t', 'tmpfs', 'none')).toBe(0);
    try {
      let changes = 0;
      const standing = new EngineStanding({
        problem: () => undefined,
        rootDir: () => folder,
        onChange: () => {
          changes += 1;
        },
      });
      await standing.look();
      expect([standing.fault(), changes]).toEqual([undefined, 0]);
      expect(mounted('-o', 'remount,ro')).toBe(0);
      await standing.look();
      expect(standing.fault()).toMatch(/is read-only.*dmesg/);
      expect(mounted('-o', 'remount,rw')).toBe(0);
      await standing.look();
      expect([standing.fault(), changes]).toEqual([undefined, 2]);
    } finally {
      spawnSync('umount', [folder]);
      rmSync(folder, { recursive: true, force: true });
    }
  },
);

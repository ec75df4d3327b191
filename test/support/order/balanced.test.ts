import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { balanced } from './balanced.ts';
import { LONG, SYSTEM_COSTS } from './file-costs.ts';

const ROOT = join(import.meta.dirname, '../../..');
const MACHINE = { slots: 4, cores: 2 };

type File = readonly [name: string, seconds: number, ofProcessor: number];
const order = (files: readonly File[]): readonly string[] =>
  balanced(files, ([, seconds, ofProcessor]) => ({ seconds, ofProcessor }), MACHINE).map(([name]) => name);

describe('the order in which files begin', () => {
  it('has those that compute beside those that wait', () => {
    const files = ['a', 'b', 'c', 'd'].flatMap((name): File[] => [
      [`computes ${name}`, 60, 60],
      [`waits ${name}`, 50, 2],
    ]);
    const first = order(files).slice(0, 4);
    expect(first.filter((name) => name.startsWith('computes'))).toHaveLength(2);
  });

  it('begins with the longest among those that are alike, and has each once', () => {
    const files = Array.from({ length: 30 }, (_, at): File => [`${at}`, at + 1, (at + 1) / 2]);
    expect(order(files)).toEqual(files.map(([name]) => name).toReversed());
  });

  it('is made of figures of files that are there', () => {
    const names = [...Object.keys(SYSTEM_COSTS), ...LONG];
    expect(names.filter((name) => !existsSync(join(ROOT, name)))).toEqual([]);
    expect(new Set(names).size).toBe(names.length);
    for (const [seconds, ofProcessor] of Object.values(SYSTEM_COSTS))
      expect(ofProcessor).toBeLessThanOrEqual(seconds);
  });
});

import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readParts, writeParts } from './rsync-parts.ts';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'berth-parts-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function* announcing(bytes: bigint): AsyncGenerator<Uint8Array> {
  const length = Buffer.alloc(8);
  length.writeBigUInt64BE(bytes);
  yield length;
  yield Buffer.alloc(10);
}

const { signal } = new AbortController();

describe('the parts of a copy', () => {
  it('arrive as they were sent', async () => {
    const [one, two] = [join(folder, 'one'), join(folder, 'two')];
    await writeFile(one, 'first');
    await writeFile(two, '');
    const parts = await readParts(writeParts([one, two]), join(folder, 'spool'), 5, signal);
    expect(await Promise.all(parts.map((part) => readFile(part, 'utf8')))).toEqual(['first', '']);
  });

  it('are refused before they fill the disk, and when they are cut off', async () => {
    const spool = join(folder, 'spool');
    await expect(readParts(announcing(2n ** 63n), spool, 1000, signal)).rejects.toThrow('larger than 1000');
    await expect(readParts(announcing(1001n), spool, 1000, signal)).rejects.toThrow('larger than 1000');
    await expect(readParts(announcing(1000n), spool, 1000, signal)).rejects.toThrow('cut off');
  });

  it('are not waited for once nobody wants them', async () => {
    const stop = new AbortController();
    async function* silent(): AsyncGenerator<Uint8Array> {
      yield* announcing(1000n);
      stop.abort(new Error('it was ended'));
      await new Promise(() => {});
    }
    const parts = readParts(silent(), join(folder, 'spool'), 1000, stop.signal);
    await expect(parts).rejects.toThrow('it was ended');
  });
});

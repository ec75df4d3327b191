import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createMemoryKv } from '../../src/server/store/memory.ts';
import { openSqliteKv } from '../../src/server/store/sqlite/sqlite-kv.ts';
import { kvContract } from './kv-contract.ts';

kvContract('memory', async () => {
  const kv = createMemoryKv();
  return { kv, dispose: () => kv.close() };
});

kvContract('sqlite', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'berth-kv-'));
  let kv = await openSqliteKv({ dir, ballastBytes: 0 });
  return {
    kv,
    async reopen() {
      await kv.close();
      kv = await openSqliteKv({ dir, ballastBytes: 0 });
      return kv;
    },
    async dispose() {
      await kv.close();
      await rm(dir, { recursive: true });
    },
  };
});

describe('local adapters', () => {
  it.each([
    ['memory', async () => ({ kv: createMemoryKv(), dir: undefined })],
    [
      'sqlite',
      async () => {
        const dir = await mkdtemp(join(tmpdir(), 'berth-kv-'));
        return { kv: await openSqliteKv({ dir, ballastBytes: 0 }), dir };
      },
    ],
  ] as const)('%s shows a commit to watchers before its promise settles', async (_name, open) => {
    const { kv, dir } = await open();
    const seen = new Set<number>();
    kv.watch('', 0, {
      onBatch: (batch) => seen.add(batch.revision),
      onLost: (reason) => expect.unreachable(reason),
    });
    const writer = async (id: number): Promise<void> => {
      for (let i = 0; i < 20; i++) {
        const result = await kv.commit({ puts: [{ key: `k/${id}`, value: `${i}` }] });
        expect(result.ok && seen.has(result.revision)).toBe(true);
        expect((await kv.get(`k/${id}`))?.value).toBe(`${i}`);
      }
    };
    await Promise.all(Array.from({ length: 16 }, (_, id) => writer(id)));
    await kv.close();
    if (dir !== undefined) await rm(dir, { recursive: true });
  });
});

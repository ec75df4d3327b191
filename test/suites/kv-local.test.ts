import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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

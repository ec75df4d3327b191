import { createMemoryKv } from '../../src/server/store/memory.ts';
import { kvContract } from './kv-contract.ts';

kvContract('memory', async () => {
  const kv = createMemoryKv();
  return { kv, dispose: () => kv.close() };
});

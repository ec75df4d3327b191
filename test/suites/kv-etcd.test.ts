import { afterAll, beforeAll } from 'vitest';
import { openEtcdKv } from '../../src/server/store/etcd/open.ts';
import { type Etcd, startEtcd } from '../support/harness/etcd.ts';
import { kvContract } from './kv-contract.ts';

let etcd: Etcd;
beforeAll(async () => {
  etcd = await startEtcd();
});
afterAll(() => etcd.stop());

kvContract('etcd', async () => {
  const { endpoints } = etcd;
  let kv = await openEtcdKv({ endpoints });
  return {
    kv,
    reopen: async () => {
      await kv.close();
      await etcd.members[0]?.restart();
      kv = await openEtcdKv({ endpoints });
      return kv;
    },
    dispose: () => kv.close(),
  };
});

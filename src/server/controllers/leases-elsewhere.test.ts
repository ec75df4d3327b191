import { beforeEach, describe, expect, it } from 'vitest';
import type { NodeName, TenantId } from '../../core/model/ids.ts';
import { globalKey } from '../store/keys.ts';
import type { Kv } from '../store/kv.ts';
import { createMemoryKv } from '../store/memory.ts';
import { encodeRecord, type NodeSession } from '../store/records.ts';
import { Store } from '../store/store.ts';
import { StoreView } from '../store/view.ts';
import { LeasesElsewhere } from './leases-elsewhere.ts';

describe('leases that another control plane may have given', () => {
  const TENANT = '11111111-1111-4111-8111-111111111111' as TenantId;
  const NODE = 'n1' as NodeName;
  const OTHER = globalKey('control-planes', 'cp_other');
  let kv: Kv;
  let store: Store;
  let leases: LeasesElsewhere;

  const session = (record: NodeSession) => {
    const tenant = store.forTenant(TENANT);
    return tenant.commit(tenant.transaction().put('node-sessions', NODE, record));
  };
  const alive = async () => {
    const record = { nodeName: 'm', startedAt: '', version: '0', url: 'http://x', agentUrl: 'http://x' };
    await kv.commit({ puts: [{ key: OTHER, value: encodeRecord(record) }] });
  };

  beforeEach(async () => {
    kv = createMemoryKv();
    store = new Store(kv, await StoreView.open(kv, { onProblem: () => undefined }));
    leases = new LeasesElsewhere(store, 'cp_self');
    await alive();
  });

  it('go on as long as the session does', async () => {
    expect(leases.latestMs(TENANT, NODE, 1000)).toBeUndefined();
    await session({ controlPlane: 'cp_other', epoch: 1 });
    expect(leases.latestMs(TENANT, NODE, 1000)).toBe(1000);
    expect(leases.latestMs(TENANT, NODE, 90_000)).toBe(90_000);
  });

  it('ended before the silence that the other one tells of, counted from when it is read here', async () => {
    await session({ controlPlane: 'cp_other', epoch: 1, closed: { silentMs: 15_000 } });
    expect(leases.latestMs(TENANT, NODE, 100_000)).toBe(85_000);
    expect(leases.latestMs(TENANT, NODE, 200_000)).toBe(85_000);
  });

  it('ended with the process, when that is first seen, and begin anew with it', async () => {
    await session({ controlPlane: 'cp_other', epoch: 1 });
    await kv.commit({ deletes: [OTHER] });
    expect(leases.latestMs(TENANT, NODE, 100_000)).toBe(100_000);
    expect(leases.latestMs(TENANT, NODE, 130_000)).toBe(100_000);
    // Its lease was lost and taken again, and its sessions with it.
    await alive();
    expect(leases.latestMs(TENANT, NODE, 140_000)).toBe(140_000);
    await kv.commit({ deletes: [OTHER] });
    expect(leases.latestMs(TENANT, NODE, 150_000)).toBe(150_000);
  });

  it('are its own business where the session is with this process', async () => {
    await session({ controlPlane: 'cp_self', epoch: 3 });
    expect(leases.latestMs(TENANT, NODE, 1000)).toBeUndefined();
  });
});

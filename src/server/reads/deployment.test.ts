import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { DeploymentRecord } from '../../core/model/deployment.ts';
import type { TenantId } from '../../core/model/ids.ts';
import type { Kv } from '../store/kv.ts';
import { createMemoryKv } from '../store/memory.ts';
import type { TenantRecords } from '../store/records.ts';
import { Store, TenantStore } from '../store/store.ts';
import { StoreView } from '../store/view.ts';
import { findDeployment, partsOfView, storedDeploymentView } from './deployment.ts';

const SHOP = 't1' as TenantId;
const PLATFORM = { containerDefaults: {} as never };
const RECORD = {
  id: 'dep_1',
  tenantId: SHOP,
  spec: {
    name: 'web',
    image: 'a',
    replicas: 1,
    secretsVersion: 0,
    ingress: [{ host: 'a.example', port: 80 }],
  },
  specHash: 'h',
  version: 1,
  createdAt: '',
  updatedAt: '',
} as unknown as DeploymentRecord;

let kv: Kv;
let view: StoreView;
let store: Store;
beforeEach(async () => {
  kv = createMemoryKv();
  view = await StoreView.open(kv, { onProblem: () => undefined });
  store = new Store(kv, view);
  await put('deployments', 'web', RECORD);
  await put('instances', 'web/in_1', { id: 'in_1', nodeId: 'n1', specHash: 'h', wanted: 'run' });
});
afterEach(async () => {
  view.close();
  await kv.close();
});

async function put(kind: keyof TenantRecords, id: string, record: unknown): Promise<void> {
  const tenant = store.forTenant(SHOP);
  await tenant.commit(tenant.transaction().put(kind, id, record as never));
}

/** Remembers what it is asked for. */
class Asked extends TenantStore {
  readonly kinds = new Set<string>();

  override collection<K extends keyof TenantRecords>(kind: K) {
    this.kinds.add(kind);
    return super.collection(kind);
  }
}

function asked(read: (tenant: TenantStore) => unknown): readonly string[] {
  const tenant = new Asked(store, SHOP);
  read(tenant);
  return [...tenant.kinds].toSorted((one, other) => (one < other ? -1 : 1));
}

const stored = () => {
  const found = findDeployment(store.forTenant(SHOP), 'web').stored;
  if (found === undefined) throw new Error('not stored');
  return found;
};
const parts = () => partsOfView(PLATFORM, store.forTenant(SHOP), stored());
const shown = () => storedDeploymentView(PLATFORM, store.forTenant(SHOP), stored());

describe('what the answer about a deployment is made of', () => {
  it('is of every kind that is read for it', async () => {
    await put('nodes', 'n1', { name: 'n1', ingress: { http: 80, https: 443 } });
    const read = asked((tenant) => storedDeploymentView(PLATFORM, tenant, stored()));
    expect(read).toContain('ingress-reports');
    expect(asked((tenant) => partsOfView(PLATFORM, tenant, stored()))).toEqual(read);
  });

  it.each([
    ['deployment-status', 'web', { phase: 'Running', message: '', desired: 1, specHash: 'h' }],
    ['virtual-addresses', 'web', { address: '10.0.0.1' }],
    ['rollouts', 'web', { version: 1, state: 'done', specHash: 'h' }],
    ['container-defaults', 'defaults', { pids: 7 }],
    ['instances', 'web/in_2', { id: 'in_2', nodeId: 'n1', specHash: 'h', wanted: 'run' }],
    ['observations', 'web/in_1', { id: 'in_1', phase: 'running' }],
    ['node-liveness', 'n1', { status: 'failed' }],
    ['nodes', 'n1', { name: 'n1', ingress: { http: 80, https: 443 } }],
  ] as const)('is another with a record of %s', async (kind, id, record) => {
    const [before, answer] = [parts(), shown()];
    expect(parts()).toEqual(before);
    await put(kind, id, record);
    expect(shown(), 'the case shows nothing').not.toEqual(answer);
    const after = parts();
    expect(after?.length === before?.length && after?.every((part, at) => part === before?.[at])).toBe(false);
  });

  it('is not told while a canary runs', async () => {
    await put('canaries', 'web', { spec: RECORD.spec, specHash: 'c', replicas: 1, createdAt: '' });
    expect(parts()).toBeUndefined();
  });

  it('is the same for a deployment of which nothing changed', async () => {
    const before = parts();
    await put('deployment-status', 'other', { phase: 'Running' });
    await put('instances', 'web2/in_3', { id: 'in_3', nodeId: 'n1', specHash: 'h', wanted: 'run' });
    expect(parts()?.map((part, at) => part === before?.[at])).toEqual(before?.map(() => true));
  });
});

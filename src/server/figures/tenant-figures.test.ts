import { afterEach, expect, it, vi } from 'vitest';
import type { TenantId } from '../../core/model/ids.ts';
import { Collection } from '../store/collection.ts';
import { createMemoryKv } from '../store/memory.ts';
import { Store } from '../store/store.ts';
import { Transaction } from '../store/transaction.ts';
import { StoreView } from '../store/view.ts';
import { StateTallies } from './state-tallies.ts';
import { MAX_NAMED, MAX_TENANTS, OTHERS, TenantFigures } from './tenant-figures.ts';

const SHOP = 'shop-id' as TenantId;
const BANK = 'bank-id' as TenantId;

afterEach(() => vi.restoreAllMocks());

async function figures(owns: (tenantId: TenantId) => boolean = () => true) {
  const kv = createMemoryKv();
  const view = new StoreView(kv, { onProblem: () => undefined });
  const tallies = new StateTallies(view);
  await view.load();
  const store = new Store(kv, view);
  const families = new TenantFigures({
    store,
    tallies,
    owns,
    runsControlPlane: () => false,
    seen: (tenantId, volumeId, node) =>
      store.forTenant(tenantId).get('volume-observations', `${volumeId}/${node}`)?.record,
  }).families();
  const read = (name: string) =>
    [...(families.find((one) => one.name === name)?.read() ?? [])].map(
      ([labels, value]) => `${Object.values(labels).join(' ')}: ${value}`,
    );
  return { store, read, families };
}

async function tenant(store: Store, id: TenantId): Promise<void> {
  const record = { id, slug: id.replace('-id', ''), name: id, createdAt: '' };
  await store.commit(new Transaction(id).putGlobal('tenants', id, record));
}

async function degraded(store: Store, id: TenantId, count: number): Promise<void> {
  const status = {
    phase: 'Degraded',
    message: '',
    desired: 1,
    placed: 1,
    running: 0,
    healthy: 0,
    updated: 1,
  };
  for (let index = 0; index < count; index += 1)
    await store.commit(
      new Transaction(id)
        .put('deployments', `d${index}`, {} as never)
        .put('deployment-status', `d${index}`, status as never),
    );
}

it('names what is wrong, an equal share for each tenant, and says how much it left out', async () => {
  const { store, read } = await figures();
  await tenant(store, SHOP);
  await tenant(store, BANK);
  await degraded(store, SHOP, MAX_NAMED);
  await degraded(store, BANK, 1);
  const rows = read('berth_deployment_problem');
  expect(rows).toHaveLength(MAX_NAMED / 2 + 1);
  expect(rows).toContain('bank d0 degraded: 1');
  expect(read('berth_series_left_out')).toContain(`berth_deployment_problem: ${MAX_NAMED / 2}`);
  expect(read('berth_deployments')).toContain(`shop Degraded: ${MAX_NAMED}`);
});

it('tells of tenants that this process decides for, and of no other', async () => {
  const { store, read } = await figures((tenantId) => tenantId === BANK);
  await tenant(store, SHOP);
  await tenant(store, BANK);
  await degraded(store, SHOP, 1);
  await degraded(store, BANK, 1);
  expect(read('berth_deployment_problem')).toEqual(['bank d0 degraded: 1']);
  expect(read('berth_deployment_instances')).toEqual([
    'bank desired: 1',
    'bank placed: 1',
    'bank running: 0',
    'bank healthy: 0',
  ]);
});

it('adds up tenants beyond the bound', async () => {
  const { store, read } = await figures();
  for (let index = 0; index < MAX_TENANTS + 2; index += 1) {
    const id = `t${index}-id` as TenantId;
    await tenant(store, id);
    await degraded(store, id, 1);
  }
  const rows = read('berth_deployments').filter((row) => row.includes('Degraded'));
  expect(rows).toHaveLength(MAX_TENANTS + 1);
  expect(rows).toContain(`${OTHERS} Degraded: 2`);
  const named = read('berth_deployment_problem');
  expect(new Set(named).size).toBe(MAX_TENANTS + 2);
  expect(named.filter((row) => row.includes(OTHERS))).toEqual([]);
});

it('shows a volume as its primary measured it, and first those that need somebody', async () => {
  const { store, read } = await figures();
  await tenant(store, SHOP);
  const volume = (id: string, more: object) => ({
    id,
    name: `${id}-name`,
    class: 'replicated',
    type: 'volume',
    phase: 'Ready',
    sizeBytes: 50,
    primaryNodeId: 'n1',
    replicas: [{ nodeId: 'n2', state: 'live' }],
    epoch: 2,
    ...more,
  });
  // Some of them are none: an agent may say what it likes.
  const copies = ['n2', 'n2', 'nowhere-1'].map((nodeId) => ({ nodeId, ageMs: 2500 }));
  const seen = { role: 'primary', epoch: 2, state: 'ready', measuredAt: '', sizeBytes: 100, usedBytes: 95 };
  await store.commit(
    new Transaction(SHOP)
      .put('volumes', 'a', volume('a', {}) as never)
      .put('volumes', 'b', volume('b', {}) as never)
      .put('volume-observations', 'b/n1', { ...seen, copies } as never)
      .put('volume-observations', 'b/n2', { role: 'replica', epoch: 1, diverged: [{ epoch: 1 }] } as never),
  );
  expect(read('berth_volume_used_bytes')).toEqual(['shop b-name: 95']);
  expect(read('berth_volume_size_bytes')).toEqual(['shop b-name: 100', 'shop a-name: 50']);
  expect(read('berth_volume_copy_lag_seconds')).toEqual(['shop b-name n2: 2.5']);
  expect(read('berth_volume_diverged')).toEqual(['shop b-name: 1', 'shop a-name: 0']);
  expect(read('berth_volumes_leased')).toEqual(['shop: 2']);
});

it('names a deployment as unplaced where no node takes it, and not while it is updated or waits for another', async () => {
  const { store, read } = await figures();
  await tenant(store, SHOP);
  for (const phase of ['Pending', 'Degraded', 'Progressing', 'Waiting'])
    await store.commit(
      new Transaction(SHOP)
        .put('deployments', phase.toLowerCase(), {} as never)
        .put('deployment-status', phase.toLowerCase(), {
          phase,
          message: '',
          desired: 2,
          placed: 1,
          running: 1,
          healthy: 1,
          updated: 1,
        } as never),
    );
  expect(read('berth_deployment_problem')).toEqual([
    'shop pending unplaced: 1',
    'shop degraded degraded: 1',
    'shop degraded unplaced: 1',
  ]);
});

it('walks no records: what is listed is bounded', async () => {
  const { store, families } = await figures();
  await tenant(store, SHOP);
  await degraded(store, SHOP, 30);
  const list = vi.spyOn(Collection.prototype, 'list');
  const ids = vi.spyOn(Collection.prototype, 'ids');
  for (const { read } of families) expect([...read()].length).toBeGreaterThanOrEqual(0);
  // Once after a change: of the few records of ingress nodes.
  expect(list.mock.calls.filter(([page]) => page?.limit === undefined)).toHaveLength(1);
  expect(ids).not.toHaveBeenCalled();
  list.mockClear();
  for (const { read } of families) expect([...read()].length).toBeGreaterThanOrEqual(0);
  expect(list.mock.calls.filter(([page]) => page?.limit === undefined)).toHaveLength(0);
});

import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { TenantId } from '../../../core/model/ids.ts';
import type { InstanceObservation, InstanceRecord } from '../../../core/model/instance.ts';
import { DEFAULT_PREFIXES } from '../../../core/model/mesh.ts';
import type { NodeRecord } from '../../../core/model/node.ts';
import { changedMap } from '../../../core/protocol/mesh-change.ts';
import type { Kv } from '../../store/kv.ts';
import { createMemoryKv } from '../../store/memory.ts';
import type { TenantRecords } from '../../store/records.ts';
import { Store } from '../../store/store.ts';
import { StoreView } from '../../store/view.ts';
import type { AgentSession } from '../sessions/session.ts';
import { MeshMaps } from './mesh-maps.ts';

const SHOP = '11111111-1111-4111-8111-111111111111' as TenantId;
const NODES = 256;
const INSTANCES = 2_000;
const PER_COMMIT = 100;

let kv: Kv;
let store: Store;
let maps: MeshMaps;
const said: string[] = [];
let connected = false;
const session = {
  identity: { tenantId: SHOP, node: 'n0' },
  sendText: (text: string) => said.push(text),
} as unknown as AgentSession;

type Put = <Kind extends keyof TenantRecords>(kind: Kind, id: string, record: TenantRecords[Kind]) => void;

async function write(fill: (put: Put) => void): Promise<void> {
  const tenant = store.forTenant(SHOP);
  let transaction = tenant.transaction();
  const commits: Promise<unknown>[] = [];
  let count = 0;
  fill((kind, id, record) => {
    transaction.put(kind, id, record);
    count += 1;
    if (count % PER_COMMIT !== 0) return;
    commits.push(tenant.commit(transaction));
    transaction = tenant.transaction();
  });
  await Promise.all([...commits, tenant.commit(transaction)]);
}

const observed = (at: number, health: 'healthy' | 'unhealthy') =>
  ({ id: `i${at}`, phase: 'running', health, address: `10.210.${at % NODES}.9` }) as InstanceObservation;

beforeEach(async () => {
  kv = createMemoryKv();
  store = new Store(kv, await StoreView.open(kv, { onProblem: () => undefined }));
  maps = new MeshMaps({
    store,
    prefixes: DEFAULT_PREFIXES,
    session: (_tenant, node) => (connected && node === 'n0' ? session : undefined),
  });
  said.length = 0;
  connected = false;
  await write((put) => {
    for (let at = 0; at < NODES; at += 1) {
      const mesh = { publicKey: 'k'.repeat(44), port: 51_820, addresses: ['203.0.113.7', '10.0.0.1'] };
      put('nodes', `n${at}`, { name: `n${at}`, mesh } as unknown as NodeRecord);
      put('subnets', `n${at}`, { subnet: `10.210.${at}.0/24` });
    }
    put('deployments', 'web', { spec: { name: 'web' } } as TenantRecords['deployments']);
    for (let at = 0; at < INSTANCES; at += 1) {
      const instance = { id: `i${at}`, deployment: 'web', nodeId: `n${at % NODES}`, wanted: 'run' };
      put('instances', `web/i${at}`, instance as unknown as InstanceRecord);
      put('observations', `web/i${at}`, observed(at, 'healthy'));
    }
  });
  await vi.waitFor(() => expect(store.forTenant(SHOP).list('observations')).toHaveLength(INSTANCES));
});

afterEach(async () => {
  maps.close();
  store.view.close();
  await kv.close();
});

it('tells a session the whole map when it opens, then what changes and no more', async () => {
  connected = true;
  maps.opened(session);
  const whole = said.splice(0);
  expect(whole.length).toBeGreaterThan(0);
  const bytes = whole.join('').length;
  await write((put) => put('observations', 'web/i7', observed(7, 'unhealthy')));
  await vi.waitFor(() => expect(said).toHaveLength(1));
  expect(JSON.parse(said[0] ?? '')).toMatchObject({
    type: 'mesh-change',
    services: [{ name: 'web', kept: true, instances: [], goneInstances: ['i7'] }],
  });
  expect(said[0]?.length).toBeLessThan(bytes / 500);
  await write((put) => put('observations', 'web/i7', { ...observed(7, 'unhealthy'), message: 'again' }));
  await write((put) => put('observations', 'web/i7', observed(7, 'healthy')));
  await vi.waitFor(() => expect(said).toHaveLength(2));
  expect(JSON.parse(said[1] ?? '').services[0].instances).toHaveLength(1);
});

it('keeps what is deleted as somebody who may connect, guarded as before and without a name, until it has ended', async () => {
  const tenant = store.forTenant(SHOP);
  await write((put) => {
    const spec = { name: 'db', access: { from: ['web'] } };
    put('deployments', 'db', { spec } as unknown as TenantRecords['deployments']);
    put('virtual-addresses', 'db', { address: '10.211.0.9' });
    const instance = { id: 'd1', deployment: 'db', nodeId: 'n1', wanted: 'run' };
    put('instances', 'db/d1', instance as unknown as InstanceRecord);
    put('observations', 'db/d1', { ...observed(1, 'healthy'), address: '10.210.1.77' });
  });
  connected = true;
  maps.opened(session);
  /** As an agent has it that takes every message. */
  const db = () => {
    const [whole, ...changes] = said.map((text) => JSON.parse(text));
    return changes.reduce(changedMap, whole).services.find(({ name }: { name: string }) => name === 'db');
  };
  expect(db()).toMatchObject({ address: '10.211.0.9', from: ['web'], instances: [{ id: 'd1' }] });
  await tenant.commit(tenant.transaction().delete('deployments', 'db'));
  const kept = { name: 'db', instances: [], others: ['10.210.1.77'], from: ['web'] };
  await vi.waitFor(() => expect(db()).toEqual(kept));
  await tenant.commit(tenant.transaction().delete('instances', 'db/d1').delete('observations', 'db/d1'));
  await vi.waitFor(() => expect(db()).toBeUndefined());
});

import { pino } from 'pino';
import { afterEach, expect, it, vi } from 'vitest';
import { type NodeName, tenantId } from '../../../core/model/ids.ts';
import type { Report } from '../../../core/protocol/agent-protocol.ts';
import type { VolumeRecord } from '../../../core/model/volume.ts';
import { createIds } from '../../ids.ts';
import { Journal } from '../../journal/journal.ts';
import { createMemoryKv } from '../../store/memory.ts';
import { idOf } from '../../store/record-ids.ts';
import { Store } from '../../store/store.ts';
import { StoreView } from '../../store/view.ts';
import type { PlacedInstances } from '../assignments/placed-instances.ts';
import { PlacedVolumes } from '../assignments/placed-volumes.ts';
import { KeyedRate } from '../sessions/keyed-rate.ts';
import type { AgentSession } from '../sessions/session.ts';
import { systemClock } from '../../clock.ts';
import { NodeNews } from './node-news.ts';

afterEach(() => vi.useRealTimers());

const SHOP = tenantId('11111111-1111-4111-8111-111111111111');

const session = {
  key: 'shop/n1',
  identity: { tenantId: SHOP, node: 'n1' as NodeName, epoch: 1 },
} as unknown as AgentSession;

const cleaned = (...images: readonly string[]) => [
  { cause: 'disk' as const, images: images.map((image) => ({ image, bytes: 1 })) },
];

async function hearing() {
  vi.useFakeTimers({ toFake: ['setTimeout', 'Date'] });
  const kv = createMemoryKv();
  const store = new Store(kv, await StoreView.open(kv, { onProblem: () => undefined }));
  const tenant = store.forTenant(SHOP);
  const record = { id: SHOP, slug: 'shop', name: 'shop', createdAt: '' };
  await tenant.commit(tenant.transaction().putGlobal('tenants', SHOP, record));
  const told: (readonly string[])[] = [];
  const journal = new Journal(systemClock, createIds(systemClock));
  vi.spyOn(journal, 'event').mockImplementation((to, of, event) => {
    const { images = [] } = (event.details ?? {}) as { images?: { image: string }[] };
    told.push(images.map(({ image }) => image));
    Journal.prototype.event.call(journal, to, of, event);
  });
  const events = new KeyedRate(
    { perSecond: 0.1, burst: 2 },
    { ...systemClock, monotonicMs: () => Date.now() },
  );
  const news = new NodeNews({
    store,
    placed: {} as PlacedInstances,
    volumes: new PlacedVolumes(store.view),
    journal,
    events,
    log: pino({ enabled: false }),
  });
  const hear = (names: readonly string[]): void => {
    for (const name of names) news.take(session, { cleaned: cleaned(name) } as unknown as Report);
  };
  return { kv, tenant, told, hear, news, journal };
}

const NAMES = Array.from({ length: 9 }, (_, at) => `i${at}`);

it('has every removed image in an event, of many in few: what the rate holds back comes later', async () => {
  const { kv, told, hear } = await hearing();
  hear(NAMES);
  expect(told).toEqual([['i0'], ['i1']]);
  await vi.advanceTimersByTimeAsync(25_000);
  expect(told).toEqual([['i0'], ['i1'], NAMES.slice(2)]);
  await kv.close();
});

it('tells what was held back also when the agent has a session with another control plane by then', async () => {
  const { kv, tenant, told, hear } = await hearing();
  hear(NAMES);
  const next = { epoch: 2, controlPlane: 'other' };
  await tenant.commit(tenant.transaction().put('node-sessions', idOf('node-sessions', 'n1'), next));
  await vi.advanceTimersByTimeAsync(25_000);
  expect(told.flat()).toEqual(NAMES);
  await kv.close();
});

it('stores nothing of a tenant that is gone by then', async () => {
  const { kv, tenant, told, hear } = await hearing();
  hear(NAMES);
  await tenant.commit(tenant.transaction().deleteGlobal('tenants', SHOP));
  await vi.advanceTimersByTimeAsync(60_000);
  expect(told).toEqual([['i0'], ['i1']]);
  await kv.close();
});

it('tells again what the store did not take', async () => {
  const { kv, told, hear } = await hearing();
  vi.spyOn(kv, 'commit').mockRejectedValueOnce(new Error('away'));
  hear(['i0']);
  await vi.advanceTimersByTimeAsync(25_000);
  expect(told).toEqual([['i0'], ['i0']]);
  await kv.close();
});

it('has every divergence that a node removed in an event, of volumes of that node', async () => {
  const { kv, tenant, news, journal } = await hearing();
  const volume = (id: string, node: string) =>
    ({
      id,
      name: `name-${id}`,
      replicas: [{ nodeId: node, state: 'live' }],
      leaving: [],
    }) as unknown as VolumeRecord;
  await tenant.commit(
    tenant
      .transaction()
      .put('volumes', idOf('volumes', 'vol_1'), volume('vol_1', 'n1'))
      .put('volumes', idOf('volumes', 'vol_2'), volume('vol_2', 'n2')),
  );
  const discarded = [
    ...['vol_2', 'vol_none'].map((volumeId) => ({ volumeId, epoch: 1, path: '/v', keptMs: 0 })),
    ...[1, 2, 3].map((epoch) => ({
      volumeId: 'vol_1',
      epoch,
      path: `/v/diverged-${epoch}`,
      keptMs: 720 * 3_600_000,
    })),
  ];
  news.take(session, { discarded } as unknown as Report);
  await vi.advanceTimersByTimeAsync(60_000);
  const events = vi.mocked(journal.event).mock.calls.map(([, , event]) => event);
  expect(events.map(({ details }) => (details as { epoch: number }).epoch)).toEqual([1, 2, 3]);
  expect(events[0]).toMatchObject({
    kind: 'volume.divergence_removed',
    subject: { kind: 'Volume', name: 'vol_1' },
    message: 'volume name-vol_1: what n1 alone wrote in epoch 1 was kept for 720 h, its time, and is removed',
    details: { name: 'name-vol_1', nodeId: 'n1', path: '/v/diverged-1' },
  });
  await kv.close();
});

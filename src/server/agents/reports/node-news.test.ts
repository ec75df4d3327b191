import { pino } from 'pino';
import { afterEach, expect, it, vi } from 'vitest';
import { type NodeName, tenantId } from '../../../core/model/ids.ts';
import type { Report } from '../../../core/protocol/agent-protocol.ts';
import { createIds } from '../../ids.ts';
import { Journal } from '../../journal/journal.ts';
import { createMemoryKv } from '../../store/memory.ts';
import { idOf } from '../../store/record-ids.ts';
import { Store } from '../../store/store.ts';
import { StoreView } from '../../store/view.ts';
import type { PlacedInstances } from '../assignments/placed-instances.ts';
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
    journal,
    events,
    log: pino({ enabled: false }),
  });
  const hear = (names: readonly string[]): void => {
    for (const name of names) news.take(session, { cleaned: cleaned(name) } as unknown as Report);
  };
  return { kv, tenant, told, hear };
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

import { pino } from 'pino';
import { afterEach, expect, it, vi } from 'vitest';
import type { NodeName, TenantId } from '../../../core/model/ids.ts';
import type { Report } from '../../../core/protocol/agent-protocol.ts';
import type { Journal } from '../../journal/journal.ts';
import { createMemoryKv } from '../../store/memory.ts';
import { Store } from '../../store/store.ts';
import { StoreView } from '../../store/view.ts';
import type { PlacedInstances } from '../assignments/placed-instances.ts';
import { KeyedRate } from '../sessions/keyed-rate.ts';
import type { AgentSession } from '../sessions/session.ts';
import { systemClock } from '../../clock.ts';
import { NodeNews } from './node-news.ts';

afterEach(() => vi.useRealTimers());

const session = {
  key: 'shop/n1',
  identity: { tenantId: 'shop' as TenantId, node: 'n1' as NodeName, epoch: 1 },
} as unknown as AgentSession;

const cleaned = (...images: readonly string[]) => [
  { cause: 'disk' as const, images: images.map((image) => ({ image, bytes: 1 })) },
];

it('has every removed image in an event, of many in few: what the rate holds back comes later', async () => {
  vi.useFakeTimers();
  const kv = createMemoryKv();
  const store = new Store(kv, await StoreView.open(kv, { onProblem: () => undefined }));
  const told: (readonly string[])[] = [];
  const journal = {
    event: (_to: unknown, _of: unknown, event: { details: { images: { image: string }[] } }) =>
      told.push(event.details.images.map(({ image }) => image)),
  } as unknown as Journal;
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
  const names = Array.from({ length: 9 }, (_, at) => `i${at}`);
  for (const name of names) news.take(session, { cleaned: cleaned(name) } as unknown as Report);
  expect(told).toEqual([['i0'], ['i1']]);
  await vi.advanceTimersByTimeAsync(25_000);
  expect(told).toEqual([['i0'], ['i1'], names.slice(2)]);
  await kv.close();
});

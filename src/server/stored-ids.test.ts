import { expect, it } from 'vitest';
import type { Clock } from './clock.ts';
import { createIds } from './ids.ts';
import { createMemoryKv } from './store/memory.ts';
import { Store } from './store/store.ts';
import { Transaction } from './store/transaction.ts';
import { StoreView } from './store/view.ts';
import { followStoredIds } from './stored-ids.ts';

const at = (ms: number): Clock => ({ now: () => new Date(ms), monotonicMs: () => ms });
const DAY_MS = 86_400_000;

it.each([
  ['events', 'event', 1],
  ['events', 'event', 2500],
  ['audit', 'audit', 2500],
] as const)(
  'what is written to %s comes after the %s lines of before, by a clock that was set back',
  async (history, kind, lines) => {
    const kv = createMemoryKv();
    const view = await StoreView.open(kv, { onProblem: () => undefined });
    const store = new Store(kv, view);
    const before = createIds(at(10 * DAY_MS));
    const [tenantId, other] = [before.tenant(), before.tenant()];
    for (const id of [tenantId, other])
      await store.commit(new Transaction(id).putGlobal('tenants', id, { id } as never));
    let last = '';
    for (let line = 0; line < lines; line += 500) {
      const transaction = new Transaction(other);
      for (let one = line; one < Math.min(lines, line + 500); one += 1) {
        last = before.next(kind);
        transaction.putCold(history, last, { id: last } as never);
      }
      await store.commit(transaction);
    }
    const ids = createIds(at(9 * DAY_MS));
    expect(ids.next(kind) < last).toBe(true);
    await followStoredIds(store, ids);
    expect(ids.next(kind) > last).toBe(true);
    view.close();
    await kv.close();
  },
);

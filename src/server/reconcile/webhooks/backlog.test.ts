import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { EventRecord } from '../../../core/model/event.ts';
import { tenantId } from '../../../core/model/ids.ts';
import { createMemoryKv } from '../../store/memory.ts';
import { Store, type TenantStore } from '../../store/store.ts';
import { StoreView } from '../../store/view.ts';
import { Backlog, type JournalEvent } from './backlog.ts';

const SHOP = tenantId('11111111-1111-4111-8111-111111111111');
const FROM = { origin: 'here', revision: 0, event: '' };

function eventOf(id: string): EventRecord {
  const subject = { kind: 'Node', name: 'n1' } as const;
  return { id, at: '', kind: 'test.said', tenantId: SHOP, subject, message: id, details: {} };
}

/** A journal in memory, and how many events were read of it. */
async function journal() {
  const kv = createMemoryKv();
  const store = new Store(kv, await StoreView.open(kv, { onProblem: () => undefined }));
  const tenant = store.forTenant(SHOP);
  let read = 0;
  const counted = new Proxy(tenant, {
    get: (target, name) => {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      return async (...args: unknown[]) => {
        const answer: unknown = await Reflect.apply(value, target, args);
        read +=
          name === 'rangeCold' ? (answer as Awaited<ReturnType<TenantStore['rangeCold']>>).entries.length : 1;
        return answer;
      };
    },
  });
  const write = async (ids: readonly string[]): Promise<readonly JournalEvent[]> => {
    const transaction = tenant.transaction();
    for (const id of ids) transaction.putCold('events', id, eventOf(id));
    await tenant.commit(transaction);
    const revision = (await tenant.getCold('events', ids[0] ?? ''))?.createRevision ?? 0;
    return ids.toSorted().map((id) => ({ id, revision, record: eventOf(id) }));
  };
  const remove = (id: string) => tenant.commit(tenant.transaction().deleteCold('events', id));
  return { counted, write, remove, reads: () => read, close: () => kv.close() };
}

const named = (at: number) => `evt_${String(at).padStart(6, '0')}`;

describe('the backlog of a webhook', () => {
  it('takes as many reads as there are events to catch up', async () => {
    const { counted, write, reads, close } = await journal();
    const ids = Array.from({ length: 1000 }, (_, at) => named(at));
    for (let at = 0; at < ids.length; at += 100) await write(ids.slice(at, at + 100));
    const backlog = new Backlog(() => true);
    const sent: string[] = [];
    let position = FROM;
    while (sent.length < ids.length) {
      if (!backlog.isRead) await backlog.read(counted, position, 'here');
      const { id = '', revision = 0 } = backlog.first ?? {};
      sent.push(id);
      position = { ...FROM, revision, event: id };
      backlog.drop(1);
    }
    expect(sent).toEqual(ids);
    expect(reads()).toBeLessThan(4 * ids.length);
    await close();
  });

  it.each(['before', 'while'] as const)(
    'reads little more where control planes have other times, of events that came %s it was read',
    async (when) => {
      const { counted, write, reads, close } = await journal();
      const backlog = new Backlog(() => true);
      const expected: string[] = [];
      if (when === 'while') await backlog.read(counted, FROM, 'here');
      for (let at = 0; at < 1000; at += 10) {
        const numbers = Array.from({ length: 10 }, (_, one) => at + one);
        const ids = [...numbers.map(named), ...numbers.map((one) => named(500_000 + one))];
        const events = await write(ids);
        expected.push(...ids);
        backlog.arrive(events[0]?.revision ?? 0, events);
      }
      const sent: string[] = [];
      while (sent.length < expected.length) {
        if (!backlog.isRead) await backlog.read(counted, FROM, 'here');
        sent.push(backlog.first?.id ?? '');
        backlog.drop(1);
      }
      expect(sent).toEqual(expected);
      expect(reads()).toBeLessThan(8 * expected.length);
      await close();
    },
  );

  it('has the order of commits, whatever the ids are, and what comes meanwhile', async () => {
    const commits = fc.array(fc.uniqueArray(fc.nat(9999), { minLength: 1, maxLength: 60 }), {
      maxLength: 12,
    });
    await fc.assert(
      fc.asyncProperty(
        commits,
        commits,
        fc.array(fc.nat(80)),
        fc.nat(11),
        async (before, after, bursts, lost) => {
          const { counted, write, remove, close } = await journal();
          const known = new Set<number>();
          const fresh = (numbers: readonly number[]) =>
            numbers.filter((one) => !known.has(one) && known.add(one)).map(named);
          const expected: string[] = [];
          const commit = async (numbers: readonly number[]) => {
            const ids = fresh(numbers);
            if (ids.length === 0) return undefined;
            expected.push(...ids.toSorted());
            return write(ids);
          };
          for (const numbers of before) await commit(numbers);
          // One that the journal loses before it is sent is not waited for.
          const gone = expected[lost];
          const backlog = new Backlog(() => true);
          await backlog.read(counted, FROM, 'here');
          if (gone !== undefined) await remove(gone);
          const sent: string[] = [];
          const coming = [...after];
          for (let turn = 0; coming.length > 0 || backlog.pending > 0; turn += 1) {
            const events = await commit(coming.shift() ?? []);
            const reading = backlog.isRead ? undefined : backlog.read(counted, FROM, 'here');
            if (events !== undefined) backlog.arrive(events[0]?.revision ?? 0, events);
            await reading;
            for (let left = bursts[turn % (bursts.length || 1)] ?? 70; left >= 0; left -= 1) {
              if (backlog.first === undefined) break;
              sent.push(backlog.first.id);
              backlog.drop(1);
            }
          }
          const isHeld = gone !== undefined && sent.includes(gone);
          expect(sent).toEqual(expected.filter((id) => isHeld || id !== gone));
          await close();
        },
      ),
      { numRuns: 60 },
    );
  });
});

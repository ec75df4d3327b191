import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { TenantId } from '../../core/model/ids.ts';
import { idOf } from '../store/record-ids.ts';
import { createMemoryKv } from '../store/memory.ts';
import type { TenantRecords } from '../store/records.ts';
import { Store } from '../store/store.ts';
import { Transaction } from '../store/transaction.ts';
import { StoreView } from '../store/view.ts';
import { StateTallies } from './state-tallies.ts';

const QUIET = { onProblem: () => undefined };
const SHOP = 'shop' as TenantId;
const TENANTS = [SHOP, 'bank' as TenantId];

async function opened() {
  const kv = createMemoryKv();
  const view = new StoreView(kv, QUIET);
  const tallies = new StateTallies(view);
  await view.load();
  return { kv, view, tallies, store: new Store(kv, view) };
}

/** What is not 0, of tenants that have anything. */
function told(tallies: StateTallies) {
  const tenants = [...tallies.tenants()].map(
    ([id, { states, trouble, conditioned, certificates: _read, ...rest }]) => {
      const counts = Object.entries(states).map(([of, counted]) => [
        of,
        Object.fromEntries([...counted].filter(([, count]) => count !== 0).sort()),
      ]);
      const named = Object.entries(trouble).map(([of, ids]) => [of, [...ids].sort()]);
      const ends = [...tallies.certificates(id)];
      const all = [...named, ['conditioned', [...conditioned].sort()]];
      return [id, { ...rest, states: counts, trouble: all, ends }] as const;
    },
  );
  const sizes = [...tallies.sizes()].filter(([, { records }]) => records > 0);
  return { tenants: Object.fromEntries(tenants), sizes: Object.fromEntries(sizes) };
}

const NAMES = ['a', 'b'];
const of = <K extends keyof TenantRecords>(kind: K, record: (name: string) => fc.Arbitrary<unknown>) =>
  fc
    .record({ tenant: fc.constantFrom(...TENANTS), name: fc.constantFrom(...NAMES) })
    .chain(({ tenant, name }) =>
      fc.option(record(name), { nil: undefined }).map((value) => ({ tenant, kind, id: name, value })),
    );
const count = fc.integer({ min: 0, max: 3 });
const run = (state: string) => ({ id: 'r', state, createdAt: '2026-01-01T00:00:00.000Z', attempts: 1 });

const CHANGE = fc.oneof(
  of('deployments', () => fc.record({ id: fc.constantFrom('x', 'y') })),
  of('deployment-status', () =>
    fc.record({
      phase: fc.constantFrom('Pending', 'Running', 'Degraded'),
      message: fc.constantFrom(undefined, '', 'a "quoted" \\ text', '","desired":9'),
      desired: count,
      placed: count,
      running: count,
      healthy: count,
    }),
  ),
  of('instances', (name) => fc.record({ id: fc.constant(name), wanted: fc.constantFrom('run', 'stop') })),
  of('observations', () =>
    fc.record({
      phase: fc.constantFrom('running', 'failed'),
      health: fc.constantFrom('healthy', 'unhealthy'),
    }),
  ),
  of('nodes', (name) =>
    fc.record({
      name: fc.constant(name),
      notReady: fc.constantFrom(undefined, 'no engine'),
      conditions: fc.constantFrom(undefined, [{ kind: 'clock', message: 'wrong' }]),
    }),
  ),
  of('node-liveness', () =>
    fc.record({ status: fc.constantFrom('ready', 'failed'), lost: fc.constantFrom(undefined, true) }),
  ),
  of('jobs', () => fc.record({ id: fc.constant('j') })),
  of('job-status', () =>
    fc.record({
      runs: fc.array(fc.constantFrom('Failed', 'Succeeded', 'Running', 'Cancelled').map(run), {
        maxLength: 2,
      }),
    }),
  ),
  of('volumes', (name) =>
    fc.record({
      id: fc.constant(name),
      phase: fc.constantFrom('Ready', 'Degraded'),
      class: fc.constant('replicated'),
      replicas: fc.constantFrom([], [{ nodeId: 'n', state: 'live' }]),
    }),
  ),
  of('volume-observations', () =>
    fc.record({
      usedBytes: fc.constantFrom(1, 99),
      sizeBytes: fc.constant(100),
      role: fc.constant('primary'),
    }),
  ).map((change) => ({ ...change, id: idOf('volume-observations', change.id as never, 'n') })),
  of('ingress-reports', (name) =>
    fc.record({
      routes: fc.array(
        fc.constantFrom('2026-05-01T00:00:00.000Z', '2027-05-01T00:00:00.000Z').map((notAfter) => ({
          deployment: 'web',
          host: `${name}.example`,
          state: 'serving',
          certificate: { issuer: 'x', notAfter },
        })),
        { maxLength: 2 },
      ),
    }),
  ),
);

it('says after any changes what a fresh reading of the store says', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(CHANGE, { minLength: 20, maxLength: 80 }), async (changes) => {
      const { kv, view, tallies, store } = await opened();
      for (const { tenant, kind, id, value } of changes) {
        const transaction = new Transaction(tenant);
        const isThere = view.tenant(tenant, kind).get(id) !== undefined;
        if (value !== undefined) transaction.put(kind, id, value as never);
        else if (isThere) transaction.delete(kind, id);
        else continue;
        await store.commit(transaction);
      }
      const again = new StoreView(kv, QUIET);
      const fresh = new StateTallies(again);
      await again.load();
      const { tenants, sizes } = told(fresh);
      // A tenant of which nothing is left is known still, with nothing.
      for (const [id, seen] of Object.entries(told(tallies).tenants))
        if (tenants[id] !== undefined || seen.trouble.some(([, ids]) => (ids?.length ?? 0) > 0))
          expect(seen).toEqual(tenants[id]);
        else
          expect([seen.instances, seen.unhealthy, seen.leased]).toEqual([
            { desired: 0, placed: 0, running: 0, healthy: 0 },
            0,
            0,
          ]);
      expect(told(tallies).sizes).toEqual(sizes);
      view.close();
      again.close();
      await kv.close();
    }),
    { numRuns: 150 },
  );
});

it('counts what has no status yet, and names what needs somebody', async () => {
  const { tallies, store } = await opened();
  const put = (change: (transaction: Transaction) => Transaction) =>
    store.commit(change(new Transaction(SHOP)));
  await put((transaction) => transaction.put('deployments', 'web', {} as never));
  const tally = () => new Map(tallies.tenants()).get(SHOP);
  expect([...(tally()?.states.deployments ?? [])]).toEqual([['Pending', 1]]);
  const status = { phase: 'Pending', desired: 2, placed: 1, running: 1, healthy: 1 };
  await put((transaction) => transaction.put('deployment-status', 'web', status as never));
  expect([...(tally()?.trouble.deployments ?? [])]).toEqual(['web']);
  expect(tally()?.instances).toEqual({ desired: 2, placed: 1, running: 1, healthy: 1 });
  await put((transaction) => transaction.delete('deployments', 'web'));
  await put((transaction) => transaction.delete('deployment-status', 'web'));
  expect(tally()?.instances).toEqual({ desired: 0, placed: 0, running: 0, healthy: 0 });
  expect([...(tally()?.trouble.deployments ?? [])]).toEqual([]);
  expect(tally()?.states.deployments.get('Pending')).toBe(0);
});

it('a job that runs again after it failed is failed until the run has ended', async () => {
  const { tallies, store } = await opened();
  const runs = async (...states: readonly string[]) => {
    const status = { jobId: 'j', runs: states.map(run) };
    await store.commit(new Transaction(SHOP).put('job-status', 'nightly', status as never));
    return [...(new Map(tallies.tenants()).get(SHOP)?.trouble.jobs ?? [])];
  };
  await store.commit(new Transaction(SHOP).put('jobs', 'nightly', {} as never));
  expect(await runs('Failed')).toEqual(['nightly']);
  expect(await runs('Failed', 'Running')).toEqual(['nightly']);
  expect(await runs('Failed', 'Succeeded')).toEqual([]);
});

import { setImmediate as turn } from 'node:timers/promises';
import fc from 'fast-check';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { TenantId } from '../../core/model/ids.ts';
import type { Quota } from '../../core/model/tenant.ts';
import { tenantKey } from './keys.ts';
import type { Commit, Kv, WatchHandlers } from './kv.ts';
import { createMemoryKv } from './memory.ts';
import { decodeRecord } from './records.ts';
import { Store } from './store.ts';
import { Transaction } from './transaction.ts';
import type { UnreadRecord } from './unread-record.ts';
import { StoreView, type ViewChange } from './view.ts';

const TENANTS = ['t1', 't2'] as unknown as readonly TenantId[];
const T1 = 't1' as TenantId;
const QUIET = { onProblem: () => undefined };
const open: { kv: Kv; views: StoreView[] }[] = [];

async function openStore(kv: Kv = createMemoryKv()) {
  const view = await StoreView.open(kv, QUIET);
  open.push({ kv, views: [view] });
  return { kv, view, store: new Store(kv, view) };
}

afterEach(async () => {
  for (const { kv, views } of open.splice(0)) {
    for (const view of views) view.close();
    await kv.close();
  }
});

/** What the view holds, by key, as the store would list it. */
function contents(view: StoreView): Record<string, unknown> {
  const held: Record<string, unknown> = {};
  for (const tenantId of view.tenantIds()) {
    for (const kind of ['quota', 'last-versions'] as const) {
      for (const { id, record, modRevision, createRevision } of view.tenant(tenantId, kind).list())
        held[tenantKey(tenantId, kind, id)] = { record, modRevision, createRevision };
    }
  }
  return held;
}

async function listed(kv: Kv): Promise<Record<string, unknown>> {
  const { entries } = await kv.range('h/t/');
  return Object.fromEntries(
    entries.map(({ key, value, modRevision, createRevision }) => [
      key,
      { record: decodeRecord(key, value), modRevision, createRevision },
    ]),
  );
}

/** A listener that rebuilds the contents from changes alone. */
function replica(view: StoreView) {
  const held = new Map<string, number>();
  const problems: string[] = [];
  view.onChange(({ tenantId, kind, id, before, after }: ViewChange) => {
    const key = tenantKey(tenantId as TenantId, kind, id);
    if (before?.modRevision !== held.get(key)) problems.push(`${key}: before is not what was told last`);
    if (after === undefined) held.delete(key);
    else held.set(key, after.modRevision);
  });
  return { held, problems };
}

interface Step {
  readonly tenant: number;
  readonly puts: readonly (readonly [string, number])[];
  readonly deletes: readonly string[];
}

const id = fc.constantFrom('a', 'a/b', 'a0', 'b', 'ä'.normalize(), 'z');
const step: fc.Arbitrary<Step> = fc
  .record({
    tenant: fc.nat({ max: 1 }),
    puts: fc.uniqueArray(fc.tuple(id, fc.nat()), { maxLength: 3, selector: ([key]) => key }),
    deletes: fc.uniqueArray(id, { maxLength: 2 }),
  })
  .map(({ tenant, puts, deletes }) => ({
    tenant,
    puts,
    deletes: deletes.filter((key) => !puts.some(([put]) => put === key)),
  }))
  .filter(({ puts, deletes }) => puts.length + deletes.length > 0);

function transactionOf({ tenant, puts, deletes }: Step): Transaction {
  const transaction = new Transaction(TENANTS[tenant] ?? T1);
  for (const [key, containers] of puts) transaction.put('quota', key, { containers });
  for (const key of deletes) transaction.delete('quota', key);
  return transaction;
}

describe('the view', () => {
  it('is the store after any sequence of commits, and so is what it told', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 8 }),
        fc.array(step, { maxLength: 8 }),
        async (early, late) => {
          const kv = createMemoryKv();
          for (const each of early) await kv.commit(transactionOf(each).toCommit());
          const { view, store } = await openStore(kv);
          expect(contents(view)).toEqual(await listed(kv));
          const told = replica(view);
          for (const [key, { modRevision }] of Object.entries(contents(view)) as [
            string,
            { modRevision: number },
          ][])
            told.held.set(key, modRevision);
          for (const each of late) {
            await store.commit(transactionOf(each));
            expect(contents(view)).toEqual(await listed(kv));
          }
          expect(told.problems).toEqual([]);
          expect([...told.held.keys()].sort()).toEqual(Object.keys(await listed(kv)).sort());
        },
      ),
      { numRuns: 60 },
    );
  });

  it('catches up by listing when the watch is lost, and tells only what changed', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 6 }),
        fc.array(step, { maxLength: 6 }),
        async (early, missed) => {
          const kv = createMemoryKv();
          const watches: { handlers: WatchHandlers; close: () => void }[] = [];
          const { view } = await openStore({
            ...kv,
            watch: (prefix, after, handlers) => {
              const watch = kv.watch(prefix, after, handlers);
              watches.push({ handlers, close: () => watch.close() });
              return watch;
            },
          });
          for (const each of early) await kv.commit(transactionOf(each).toCommit());
          const before = await listed(kv);
          expect(contents(view)).toEqual(before);
          const told = replica(view);
          for (const [key, value] of Object.entries(before) as [string, { modRevision: number }][])
            told.held.set(key, value.modRevision);
          watches[0]?.close();
          for (const each of missed) await kv.commit(transactionOf(each).toCommit());
          expect(contents(view)).toEqual(before);
          watches[0]?.handlers.onLost('test');
          expect(await view.reached(await kv.head())).toBe(true);
          expect(contents(view)).toEqual(await listed(kv));
          expect(told.problems).toEqual([]);
          // And it watches again from there.
          await kv.commit(transactionOf({ tenant: 0, puts: [['again', 1]], deletes: [] }).toCommit());
          expect(contents(view)).toEqual(await listed(kv));
          expect([...told.held.keys()].sort()).toEqual(Object.keys(await listed(kv)).sort());
        },
      ),
      { numRuns: 40 },
    );
  });

  it('lists again until the store answers', async () => {
    const kv = createMemoryKv();
    let failures = 2;
    let handlers: WatchHandlers | undefined;
    const problems: string[] = [];
    const view = await StoreView.open(
      {
        ...kv,
        range: async (prefix, options) => {
          if (handlers !== undefined && failures > 0) {
            failures -= 1;
            throw new Error('away');
          }
          return kv.range(prefix, options);
        },
        watch: (_prefix, _after, given) => {
          handlers = given;
          return { close: () => undefined };
        },
      },
      { onProblem: (problem) => problems.push(problem) },
    );
    open.push({ kv, views: [view] });
    await kv.commit(transactionOf({ tenant: 0, puts: [['a', 1]], deletes: [] }).toCommit());
    handlers?.onLost('compacted');
    expect(await view.reached(1, 5000)).toBe(true);
    expect(contents(view)).toEqual(await listed(kv));
    expect(problems).toHaveLength(3);
  });

  it('is the store also after that was set back to an older state, e.g. restored from a backup', async () => {
    let kv = createMemoryKv();
    const put = (value: number, ...keys: readonly string[]): Promise<unknown> =>
      kv.commit(
        transactionOf({ tenant: 0, puts: keys.map((key) => [key, value] as const), deletes: [] }).toCommit(),
      );
    await put(1, 'kept', 'gone');
    await put(2, 'kept');
    await put(3, 'kept');
    let handlers: WatchHandlers | undefined;
    const now = (): Kv => kv;
    const problems: string[] = [];
    const view = await StoreView.open(
      {
        ...kv,
        range: (prefix, options) => now().range(prefix, options),
        watch: (prefix, after, given) => {
          handlers = given;
          return now().watch(prefix, after, given);
        },
      },
      { onProblem: (problem) => problems.push(problem) },
    );
    open.push({ kv, views: [view] });
    const told = replica(view);
    for (const [key, value] of Object.entries(contents(view)) as [string, { modRevision: number }][])
      told.held.set(key, value.modRevision);
    kv = createMemoryKv();
    await put(0, 'kept');
    open.push({ kv, views: [] });
    handlers?.onLost('the endpoints now lead to another etcd cluster');
    await vi.waitFor(async () => expect(contents(view)).toEqual(await listed(kv)));
    expect(told.problems).toEqual([]);
    expect(view.revision).toBe(await kv.head());
    expect(problems.some((problem) => problem.includes('set back'))).toBe(true);
    // What follows is seen, although its revisions were there before.
    await put(4, 'kept');
    expect(contents(view)).toEqual(await listed(kv));
  });

  it('does not watch again once it is closed', async () => {
    const kv = createMemoryKv();
    let handlers: WatchHandlers | undefined;
    let watches = 0;
    const { view } = await openStore({
      ...kv,
      watch: (_prefix, _after, given) => {
        handlers = given;
        watches += 1;
        return { close: () => undefined };
      },
    });
    handlers?.onLost('gone');
    view.close();
    await kv.head();
    await new Promise((resolve) => setImmediate(resolve));
    expect(watches).toBe(1);
  });

  it('shows a batch whole, and tells a listener until it leaves', async () => {
    const { view, store } = await openStore();
    const seen: string[] = [];
    const leave = view.onChange(({ id: changed }) => seen.push(changed));
    await store.commit(
      transactionOf({
        tenant: 0,
        puts: [
          ['a', 1],
          ['b', 2],
        ],
        deletes: [],
      }),
    );
    leave();
    await store.commit(transactionOf({ tenant: 0, puts: [['c', 1]], deletes: [] }));
    expect(seen).toEqual(['a', 'b']);
  });

  it('waits for a revision, but not forever', async () => {
    const { kv, view } = await openStore();
    expect(await view.reached(0)).toBe(true);
    const waiting = view.reached(1, 5000);
    await kv.commit(transactionOf({ tenant: 0, puts: [['a', 1]], deletes: [] }).toCommit());
    expect(await waiting).toBe(true);
    expect(await view.reached(99, 5)).toBe(false);
  });

  it('does not start on a record it cannot read', async () => {
    for (const value of ['{', '{"v":3}', '{}', 'null', '5']) {
      const kv = createMemoryKv();
      await kv.commit({ puts: [{ key: 'h/t/t1/quota/a', value }] });
      await expect(StoreView.open(kv, QUIET), value).rejects.toThrow();
      await kv.close();
    }
  });
});

describe('the store', () => {
  const quota: Quota = { containers: 1 };

  it('shows a commit to the one who made it', async () => {
    const { store } = await openStore();
    for (let index = 0; index < 20; index += 1) {
      await store.commit(new Transaction(T1).put('quota', 'quota', { containers: index }));
      expect(store.forTenant(T1).get('quota', 'quota')?.record).toEqual({ containers: index });
    }
  });

  it('finds a deployment by its id, until it is gone or another has its name', async () => {
    const { kv, store } = await openStore();
    const tenant = store.forTenant(T1);
    const named = (id: string) => tenant.collection('deployments').find(id)?.id;
    const put = (name: string, id: string) =>
      tenant.commit(tenant.transaction().put('deployments', name, { id } as never));
    await put('web', 'dep_1');
    await put('shop', 'dep_2');
    expect([named('dep_1'), named('dep_2'), named('web'), named('dep_3')]).toEqual([
      'web',
      'shop',
      undefined,
      undefined,
    ]);
    await put('web', 'dep_3');
    await tenant.commit(tenant.transaction().delete('deployments', 'shop'));
    expect([named('dep_1'), named('dep_2'), named('dep_3')]).toEqual([undefined, undefined, 'web']);
    const again = await StoreView.open(kv, QUIET);
    open.at(-1)?.views.push(again);
    expect(again.tenant(T1, 'deployments').find('dep_3')?.id).toBe('web');
  });

  it('is handed what was written, and not a copy of it', async () => {
    const { store } = await openStore();
    const written = { containers: 1 };
    await store.commit(new Transaction(T1).put('quota', 'quota', written));
    expect(store.forTenant(T1).get('quota', 'quota')?.record).toBe(written);
  });

  it('keeps of a deployment that was planned when it was written the text, once it was told', async () => {
    const { store, view } = await openStore();
    const of = (name: string) => ({ id: `dep_${name}`, specHash: 'h', spec: { name: 'größe' } }) as never;
    const status = { phase: 'Running' } as never;
    const tenant = store.forTenant(T1);
    const told = new Map<string, unknown>();
    view.onChange(({ kind, id, after }) => told.set(`${kind}/${id}`, after?.record));
    for (const name of ['web', 'shop']) {
      const record = of(name);
      const transaction = tenant.transaction().put('deployments', name, record);
      await tenant.commit(transaction.put('deployment-status', name, status));
      expect(told.get(`deployments/${name}`)).toBe(record);
    }
    expect(told.get('deployment-status/web')).toBe(status);
    for (const kind of ['deployments', 'deployment-status'] as const)
      for (const stored of tenant.list(kind)) expect((stored as UnreadRecord<unknown>).text).toBeDefined();
    expect(tenant.collection('deployments').find('dep_shop')?.id).toBe('shop');
    const stored = tenant.get('deployments', 'web') as UnreadRecord<unknown> | undefined;
    expect(stored?.text).toContain('größe');
    expect(stored?.record).toEqual(of('web'));
    expect(stored?.record).toBe(stored?.record);
    expect(stored?.text).toBeUndefined();
  });

  it('reads what it left as text when it is told to, a little in each turn', async () => {
    const { view, store } = await openStore();
    const tenant = store.forTenant(T1);
    const status = { phase: 'Running' } as never;
    const texts = () =>
      (['deployments', 'deployment-status'] as const)
        .flatMap((kind) => tenant.list(kind))
        .filter((stored) => (stored as UnreadRecord<unknown>).text !== undefined);
    const write = async (name: string): Promise<void> => {
      const record = { id: `dep_${name}`, spec: { name, environment: { A: 'x'.repeat(10_000) } } } as never;
      const transaction = tenant.transaction().put('deployments', name, record);
      await tenant.commit(transaction.put('deployment-status', name, status));
    };
    const counted = () => texts().reduce((sum, { bytes = 0 }) => sum + bytes, 0);
    for (let at = 0; at < 40; at += 1) await write(`web-${at}`);
    expect([texts().length, view.textBytes > 400_000]).toEqual([80, true]);
    // What is read, replaced or removed is text no more.
    expect(tenant.get('deployments', 'web-0')?.record).toBeDefined();
    await write('web-1');
    await tenant.commit(
      tenant.transaction().delete('deployments', 'web-2').delete('deployment-status', 'web-2'),
    );
    expect([texts().length, view.textBytes]).toEqual([77, counted()]);
    await Promise.all([1, 2, 3].map(() => write('web-3')));
    expect([texts().length, view.textBytes]).toEqual([77, counted()]);
    const reading = view.readTexts();
    await turn();
    expect(texts().length).toBeGreaterThan(40);
    await write('later');
    await reading;
    expect([texts().length <= 2, view.textBytes]).toEqual([true, counted()]);
    expect(tenant.get('deployments', 'web-39')?.record).toMatchObject({ id: 'dep_web-39' });
    await view.readTexts();
    expect([view.textBytes, texts().length]).toEqual([0, 0]);
    await view.readTexts();
  });

  it('counts and reads what a start left as text, and leaves nothing so when it may not', async () => {
    const { kv, store } = await openStore();
    const put = store.forTenant(T1).transaction();
    for (const name of ['a', 'b']) put.put('deployment-status', name, { phase: 'Running' } as never);
    await store.commit(put.put('rollouts', 'r', { version: 1 } as never));
    const started = async (keeps: boolean) => {
      const view = new StoreView(kv, QUIET);
      open[0]?.views.push(view);
      view.keepTexts(keeps);
      await view.load();
      const unread = () =>
        [...view.tenant(T1, 'deployment-status').values(), ...view.tenant(T1, 'rollouts').values()].filter(
          (stored) => (stored as UnreadRecord<unknown>).text !== undefined,
        ).length;
      return { view, unread };
    };
    const { view, unread } = await started(true);
    expect([unread(), view.textBytes > 30]).toEqual([3, true]);
    await view.readTexts();
    expect([unread(), view.textBytes]).toEqual([0, 0]);
    const other = await started(false);
    expect([other.unread(), other.view.textBytes]).toEqual([0, 0]);
  });

  it('keeps a deployment as it was written where somebody is to plan it', async () => {
    const { store } = await openStore();
    const tenant = store.forTenant(T1);
    const record = { id: 'dep_1' } as never;
    const status = { phase: 'Running' } as never;
    // Neither the status of another one nor that of a later commit says that it was planned.
    for (const name of ['a', 'b']) {
      const transaction = tenant.transaction().put('deployments', name, record);
      await tenant.commit(transaction.put('deployment-status', 'c', status));
    }
    await tenant.commit(tenant.transaction().put('deployment-status', 'b', status));
    await tenant.commit(tenant.transaction().put('deployments', 'd', record).put('deployments', 'e', record));
    for (const name of ['a', 'b', 'd', 'e']) expect(tenant.get('deployments', name)?.record).toBe(record);
    for (const name of ['b', 'c']) expect(tenant.get('deployment-status', name)?.record).toBe(status);
  });

  it('keeps tenants apart', async () => {
    const { store } = await openStore();
    await store.commit(new Transaction(T1).put('quota', 'quota', quota));
    const other = store.forTenant('t2' as TenantId);
    expect(other.get('quota', 'quota')).toBeUndefined();
    expect(other.list('quota')).toEqual([]);
    expect(await other.getCold('events', 'x')).toBeUndefined();
  });

  it('writes nothing of a transaction whose guard fails', async () => {
    const { kv, store } = await openStore();
    await store.commit(new Transaction(T1).put('quota', 'quota', quota));
    const stored = store.forTenant(T1).get('quota', 'quota');
    const before = await kv.range('');
    const losers = [
      new Transaction(T1).expect('quota', 'quota', undefined).put('quota', 'other', quota),
      new Transaction(T1).expect('quota', 'missing', stored).put('quota', 'other', quota),
      new Transaction(T1)
        .expectCold('idempotency', 'x', stored as never)
        .delete('quota', 'quota')
        .put('quota', 'other', quota),
      new Transaction(T1).expectGlobal('node-names', 'n', stored as never).put('quota', 'other', quota),
    ];
    for (const loser of losers) expect((await store.commit(loser)).ok).toBe(false);
    expect(await kv.range('')).toEqual(before);
    expect(store.forTenant(T1).get('quota', 'quota')).toEqual(stored);
    expect(
      (await store.commit(new Transaction(T1).expect('quota', 'quota', stored).delete('quota', 'quota'))).ok,
    ).toBe(true);
    expect(store.forTenant(T1).get('quota', 'quota')).toBeUndefined();
  });

  it('tells of a durable commit only where the view has it in the same turn', async () => {
    const memory = createMemoryKv();
    let lost: WatchHandlers['onLost'] | undefined;
    let tell: Commit['onDurable'];
    const { view, store } = await openStore({
      ...memory,
      commit(commit) {
        tell = commit.onDurable;
        return memory.commit(commit);
      },
      watch(prefix, after, handlers) {
        lost = handlers.onLost;
        return memory.watch(prefix, after, handlers);
      },
    });
    const told: number[] = [];
    await store.commit(
      new Transaction(T1).put('quota', 'quota', quota).whenDurable((revision) => void told.push(revision)),
    );
    const next = view.revision + 1;
    for (const revision of [next - 1, next + 1, next]) tell?.(revision);
    expect(told).toEqual([next]);
    lost?.('for the test');
    tell?.(next);
    expect(told).toEqual([next]);
    await vi.waitFor(() => {
      tell?.(next);
      expect(told).toEqual([next, next]);
    });
  });

  it('pages cold records in id order, also backwards', async () => {
    const { store } = await openStore();
    const tenant = store.forTenant(T1);
    const answer = { requestDigest: '', status: 200, body: '', expiresAt: '' };
    const transaction = tenant.transaction();
    for (const key of ['b', 'a', 'c', 'ab']) transaction.putCold('idempotency', key, answer);
    await tenant.commit(transaction);
    const ids = async (under: string, options = {}) =>
      (await tenant.rangeCold('idempotency', under, options)).entries.map((entry) => entry.id);
    expect(await ids('')).toEqual(['a', 'ab', 'b', 'c']);
    expect(await ids('a')).toEqual(['a', 'ab']);
    expect(await ids('', { after: 'a', limit: 2 })).toEqual(['ab', 'b']);
    expect(await ids('', { after: 'c', reverse: true, limit: 2 })).toEqual(['b', 'ab']);
    expect((await tenant.getCold('idempotency', 'b'))?.record).toEqual(answer);
    await tenant.commit(tenant.transaction().deleteCold('idempotency', 'b'));
    expect(await ids('')).toEqual(['a', 'ab', 'c']);
  });
});

import { mkdtempSync, rmSync, truncateSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { pino } from 'pino';
import { afterAll, afterEach, expect, it, vi } from 'vitest';
import { nodeName, type TenantId } from '../../core/model/ids.ts';
import { Measurements } from '../runtime/measurements.ts';
import { createMemoryKv } from '../store/memory.ts';
import { Store } from '../store/store.ts';
import { Transaction } from '../store/transaction.ts';
import { StoreView } from '../store/view.ts';
import { History } from './history.ts';
import { SERIES_BYTES } from './series.ts';
import { figuresOf, windowOf } from './window.ts';

const SHOP = 'shop-id' as TenantId;
const BANK = 'bank-id' as TenantId;
const START = Date.parse('2026-11-17T10:00:00Z');
const folder = mkdtempSync(join(tmpdir(), 'berth-history-'));
const opened: History[] = [];

afterEach(async () => {
  for (const history of opened.splice(0)) await history.close();
  rmSync(join(folder, 'history'), { force: true });
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function stage() {
  const kv = createMemoryKv();
  const view = new StoreView(kv, { onProblem: () => undefined });
  await view.load();
  const store = new Store(kv, view);
  for (const id of [SHOP, BANK])
    await store.commit(
      new Transaction(id).putGlobal('tenants', id, { id, slug: id, name: id, createdAt: '' }),
    );
  return store;
}

function started(
  store: Store,
  { most = 100, owns = () => true, file }: { most?: number; owns?: () => boolean; file?: string } = {},
) {
  const measurements = new Measurements(async () => []);
  let nowMs = START;
  const history = new History({
    store,
    measurements,
    owns,
    clock: { now: () => new Date(nowMs), monotonicMs: () => nowMs },
    usageMs: 3_600_000,
    maxBytes: most * SERIES_BYTES,
    ...(file === undefined ? {} : { file }),
    log: pino({ level: 'silent' }),
  });
  opened.push(history);
  const at = async (ms: number): Promise<void> => {
    nowMs = START + ms;
    await history.sample();
  };
  const of = (name: string, tenant = SHOP, kind: 'deployments' | 'nodes' = 'deployments') => {
    const window = windowOf(nowMs, 120_000, undefined);
    const part = history.part(tenant, kind, name, window);
    return part && figuresOf(window, [part]);
  };
  const measured = (node: string, cpuPercent: number, owner = 'web'): void =>
    measurements.take(
      SHOP,
      node,
      [
        {
          instanceId: `i-${node}`,
          cpuPercent,
          memoryBytes: 10,
          receivedBytesPerSecond: 5,
          sentBytesPerSecond: 6,
        },
      ],
      () => owner,
    );
  return { history, measurements, at, of, measured };
}

async function deployed(store: Store, tenant: TenantId, name: string, createdAt = ''): Promise<void> {
  await store.commit(
    new Transaction(tenant)
      .put('deployments', name, { createdAt } as never)
      .put('deployment-status', name, { running: 1, desired: 2 } as never),
  );
}

async function failed(store: Store, keys: readonly string[]): Promise<void> {
  const kept = keys.map((key) => ({ key, instance: 'i', nodeId: nodeName('n1') }));
  await store.commit(new Transaction(SHOP).put('failures', 'web', { deploymentId: 'd', kept } as never));
}

it('adds up nodes, has what the records say, and a gap where nobody measured', async () => {
  const store = await stage();
  await deployed(store, SHOP, 'web');
  await store.commit(new Transaction(SHOP).put('nodes', 'n1', { createdAt: '' } as never));
  const { history, measurements, at, of, measured } = started(store);
  await history.start();
  measured('n1', 50);
  measured('n2', 25);
  await failed(store, ['a']);
  await failed(store, ['a', 'b']);
  await at(0);
  measurements.forget(SHOP, 'n1');
  measurements.forget(SHOP, 'n2');
  await at(30_000);
  measured('n2', 100);
  await at(60_000);
  expect(of('web')).toMatchObject({
    cpuCores: [null, 0.75, null, 1],
    memoryBytes: [null, 20, null, 10],
    receivedBytesPerSecond: [null, 10, null, 5],
    sentBytesPerSecond: [null, 12, null, 6],
    measured: [null, 2, null, 1],
    running: [null, 1, 1, 1],
    wanted: [null, 2, 2, 2],
    failures: [null, 2, 0, 0],
  });
  expect(of('n1', SHOP, 'nodes')).toMatchObject({
    cpuCores: [null, 0.5, null, null],
    failures: [null, 2, 0, 0],
  });
  // One that is not enrolled any more has none.
  expect(of('n2', SHOP, 'nodes')).toBeUndefined();
});

it('says nothing of records for a tenant that another control plane decides for', async () => {
  const store = await stage();
  await deployed(store, SHOP, 'web');
  const { history, at, of, measured } = started(store, { owns: () => false });
  await history.start();
  measured('n1', 50);
  await failed(store, ['a']);
  await at(0);
  expect(of('web')).toMatchObject({ running: [null, null, null, null] });
  expect(of('web')?.cpuCores).toContain(0.5);
  expect(of('web')?.failures.every((one) => one === null)).toBe(true);
});

it('goes with its record, and does not come back with containers that still run', async () => {
  const store = await stage();
  await deployed(store, SHOP, 'web');
  const { history, at, of, measured } = started(store);
  await history.start();
  measured('n1', 50);
  await at(0);
  expect(of('web')).toBeDefined();
  await store.commit(new Transaction(SHOP).delete('deployments', 'web'));
  expect(of('web')).toBeUndefined();
  await at(1000);
  expect(of('web')).toBeUndefined();
  expect(history.bytes).toBe(0);
});

it('keeps no more than its bytes, and a tenant with many gives way to one with few', async () => {
  const store = await stage();
  for (const name of ['a', 'b', 'c', 'd', 'e']) await deployed(store, SHOP, name);
  const { history, at, of } = started(store, { most: 4 });
  await history.start();
  await at(0);
  expect(['a', 'b', 'c', 'd', 'e'].filter((name) => of(name) !== undefined)).toEqual(['a', 'b', 'c', 'd']);
  for (const name of ['x', 'y', 'z']) await deployed(store, BANK, name);
  await at(15_000);
  await at(30_000);
  expect(history.bytes).toBe(4 * SERIES_BYTES);
  expect(['a', 'b', 'c', 'd', 'e'].filter((name) => of(name) !== undefined)).toEqual(['a', 'b']);
  expect(['x', 'y', 'z'].filter((name) => of(name, BANK) !== undefined)).toEqual(['x', 'y']);
});

it('lets others in while it looks at one tenant with many', async () => {
  const store = await stage();
  const names = Array.from({ length: 50 }, (_, index) => `d${index}`);
  for (const name of names) await deployed(store, SHOP, name);
  const { history, at, of } = started(store);
  await history.start();
  let ms = 0;
  const now = vi.spyOn(performance, 'now').mockImplementation(() => (ms += 1));
  try {
    let [isOver, turns] = [false, 0];
    const round = at(0).finally(() => {
      isOver = true;
    });
    for (; !isOver; turns += 1) await turn();
    await round;
    // Fifty are found, then looked at, with five milliseconds at a time.
    expect(turns).toBeGreaterThan(15);
    expect(names.map((name) => of(name)?.running.at(-1))).toEqual(names.map(() => 1));
  } finally {
    now.mockRestore();
  }
});

it('is there after a restart, with a gap for the time between; not of a later record of the name', async () => {
  const store = await stage();
  await deployed(store, SHOP, 'web', 'first');
  await deployed(store, SHOP, 'api', 'first');
  const file = join(folder, 'history');
  const before = started(store, { file });
  await before.history.start();
  before.measured('n1', 50);
  await before.at(0);
  await before.history.close();
  expect(statSync(file).mode & 0o777).toBe(0o600);
  await deployed(store, SHOP, 'api', 'second');
  const after = started(store, { file });
  await after.history.start();
  after.measured('n1', 100);
  await after.at(60_000);
  expect(after.of('web')?.cpuCores).toEqual([null, 0.5, null, 1]);
  expect(after.of('api')?.running).toEqual([null, null, null, 1]);
  // A file that was cut off, or is of another form, is a gap and no fault.
  truncateSync(file, statSync(file).size - 100);
  await started(store, { file }).history.start();
  truncateSync(file, 10);
  const none = started(store, { file });
  await none.history.start();
  expect(none.of('web')).toBeUndefined();
});

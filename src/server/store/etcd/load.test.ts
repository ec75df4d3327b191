import { expect, it, vi } from 'vitest';
import { encodedRange, rangeEntry } from '../../../../test/support/etcd-range.ts';
import { entriesOf } from '../../../../test/support/loaded-entries.ts';
import type { CallOptions, EtcdCluster } from './cluster.ts';
import { keySpaceUnder } from './key-space.ts';
import type { Method } from './messages.ts';
import { loadPages } from './load.ts';

const REVISION = 4711;

interface Asked {
  readonly key: string;
  readonly rangeEnd: Buffer;
  readonly limit: number;
  readonly revision?: number;
}

/** An etcd with these keys, each with as much text; `most`: calls that were under way at a time. */
function etcdWith(names: readonly string[], text: string) {
  const keys = names.map((name) => `berth/${name}`).sort();
  const figures = { underWay: 0, most: 0, calls: 0, limits: new Array<number>(), times: new Set<unknown>() };
  const call = async (
    method: Method<unknown>,
    { key, rangeEnd, limit, revision }: Asked,
    { timeoutMs }: CallOptions,
  ): Promise<unknown> => {
    figures.calls += 1;
    figures.limits.push(limit);
    figures.times.add(timeoutMs);
    figures.underWay += 1;
    figures.most = Math.max(figures.most, figures.underWay);
    expect(revision).toBe(figures.calls === 1 ? undefined : REVISION);
    await new Promise(setImmediate);
    const found = keys.filter((one) => one >= key && Buffer.from(one).compare(rangeEnd) < 0);
    figures.underWay -= 1;
    return method.decode(
      encodedRange({
        header: { revision: REVISION },
        kvs: found.slice(0, limit).map((one) => rangeEntry(one, text, 1, 2)),
        more: found.length > limit,
      }),
    );
  };
  return { cluster: { call, timeoutMs: 10 } as unknown as EtcdCluster, figures };
}

const folder = (name: string, records: number): string[] =>
  Array.from({ length: records }, (_, at) => `h/${name}/${String(at).padStart(5, '0')}`);

const load = (cluster: EtcdCluster) => loadPages(cluster, keySpaceUnder('berth/'), 'h/');

it.each([
  ['one record', ['h/g/one'], 3],
  ['few of everything', [...folder('g', 3), ...folder('t/a/x', 3), ...folder('t/b/x', 3)], 3],
  ['one large folder', folder('t/a/x', 700), 3],
  [
    'large folders beside small ones',
    [
      ...folder('g', 5),
      ...folder('t/a/deployments', 700),
      ...folder('t/a/rollouts', 900),
      ...folder('t/a/z', 1),
      ...folder('t/b/x', 400),
    ],
    4,
  ],
  ['many small tenants', Array.from({ length: 300 }, (_, at) => folder(`t/${at}/x`, 2)).flat(), 4],
])('loads every record once, of %s', async (_what, names, most) => {
  const { cluster, figures } = etcdWith([...names, 'c/history', 'i/after'], 'x'.repeat(8000));
  const loaded: string[] = [];
  for await (const page of load(cluster)) {
    expect(page.revision).toBe(REVISION);
    loaded.push(...entriesOf(page).map(({ key }) => key));
  }
  expect(loaded.toSorted()).toEqual(names.toSorted());
  expect(figures.most).toBe(most);
});

it('asks for eight times as many at most, since what follows may be larger, and leaves pages that share a link more time', async () => {
  const { cluster, figures } = etcdWith(folder('t/a/x', 5000), 'x');
  let bytes = 0;
  for await (const page of load(cluster)) bytes += page.bytes ?? 0;
  expect(figures.limits.filter((limit) => limit !== 64)).toEqual([512, 2000, 2000, 2000]);
  expect([...figures.times]).toEqual([undefined, 40]);
  expect(bytes).toBe(5000);
});

it('reads many small tenants in pages that grow, not in one for each of their folders', async () => {
  const ids = Array.from({ length: 256 }, (_, at) => at.toString(16).padStart(2, '0'));
  const names = ids.flatMap((id) => [
    ...folder(`t/${id}/deployments`, 20),
    ...folder(`t/${id}/rollouts`, 20),
  ]);
  const { cluster, figures } = etcdWith(names, 'x');
  let rows = 0;
  for await (const { ids } of load(cluster)) rows += ids.length;
  expect(rows).toBe(names.length);
  // Sixteen parts of 640 records: 64, 512 and the rest.
  expect(figures.calls).toBeLessThanOrEqual(16 * 3 + 4);
  expect(figures.most).toBe(4);
});

it('is not far ahead of who takes the pages in, and asks for nothing more once nobody does', async () => {
  const { cluster, figures } = etcdWith(folder('t/a/x', 3000), 'x'.repeat(50_000));
  const pages = load(cluster);
  await pages.next();
  await vi.waitFor(() => expect(figures.calls).toBeGreaterThan(4));
  for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
  const ahead = figures.calls;
  expect(ahead).toBeLessThanOrEqual(1 + 4 + 4);
  await pages.return(undefined);
  for (let turn = 0; turn < 10; turn += 1) await new Promise(setImmediate);
  expect(figures.calls).toBe(ahead);
});

it('fails with what one of the pages failed with', async () => {
  const { cluster } = etcdWith(folder('t/a/x', 3000), 'x');
  let calls = 0;
  const call: EtcdCluster['call'] = (...asked) =>
    (calls += 1) === 6 ? Promise.reject(new Error('the member is gone')) : cluster.call(...asked);
  const failing = { call, timeoutMs: 10 } as unknown as EtcdCluster;
  const all = async () => {
    for await (const page of load(failing)) expect(page.revision).toBe(REVISION);
  };
  await expect(all()).rejects.toThrow('the member is gone');
});

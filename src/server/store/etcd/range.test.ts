import { expect, it } from 'vitest';
import { encodedRange, rangeEntry } from '../../../../test/support/etcd-range.ts';
import { entriesOf } from '../../../../test/support/loaded-entries.ts';
import type { CallOptions, EtcdCluster } from './cluster.ts';
import { keySpaceUnder } from './key-space.ts';
import type { Method } from './messages.ts';
import { loadPages } from './range.ts';

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

it.each([
  ['one record', ['h/g/one'], 1],
  ['few of everything', [...folder('g', 3), ...folder('t/a/x', 3), ...folder('t/b/x', 3)], 1],
  ['one large folder', folder('t/a/x', 700), 2],
  [
    'large folders beside small ones',
    [
      ...folder('g', 5),
      ...folder('t/a/x', 700),
      ...folder('t/a/y', 900),
      ...folder('t/a/z', 1),
      ...folder('t/b/x', 400),
    ],
    4,
  ],
  ['many small tenants', Array.from({ length: 300 }, (_, at) => folder(`t/${at}/x`, 2)).flat(), 1],
])('loads every record once, of %s', async (_what, names, most) => {
  const { cluster, figures } = etcdWith([...names, 'c/history', 'i/after'], 'x'.repeat(8000));
  const loaded: string[] = [];
  for await (const page of loadPages(cluster, keySpaceUnder('berth/'), 'h/')) {
    expect(page.revision).toBe(REVISION);
    loaded.push(...entriesOf(page).map(({ key }) => key));
  }
  expect(loaded.toSorted()).toEqual(names.toSorted());
  // The next page is asked for before one is taken in, and never more than there are parts.
  expect(figures.most).toBe(most);
});

it('asks for eight times as many at most, since what follows may be larger, and leaves pages that share a link more time', async () => {
  const { cluster, figures } = etcdWith(folder('t/a/x', 5000), 'x');
  let bytes = 0;
  for await (const page of loadPages(cluster, keySpaceUnder('berth/'), 'h/')) bytes += page.bytes ?? 0;
  expect(figures.limits).toEqual([64, 512, 64, 2000, 2000, 2000]);
  expect([...figures.times]).toEqual([undefined, 40]);
  expect(bytes).toBe(5000);
});

import { expect, it } from 'vitest';
import type { TenantId } from '../../core/model/ids.ts';
import { globalKey, tenantKey } from './keys.ts';
import type { Kv } from './kv.ts';
import { createMemoryKv } from './memory.ts';
import { encodeRecord } from './records.ts';
import { packOf } from './sqlite/row-packs.ts';
import { UnreadDeployment } from './unread-deployment.ts';
import { UnreadRecord } from './unread-record.ts';
import { StoreView } from './view.ts';

const [T1, T2] = ['t1', 't2'] as unknown as readonly [TenantId, TenantId];
const AT = '2026-01-01T00:00:00.000Z';
const KINDS = ['deployments', 'deployment-status', 'rollouts', 'specs', 'quota'] as const;

function deployment(name: string, spec: object = {}, more: object = {}) {
  const newest = { change: 'created', at: AT, by: 'me' };
  const times = { createdAt: AT, updatedAt: AT };
  const own = { id: `dep_${name}`, spec: { name, ...spec }, specHash: 'a'.repeat(64), version: 1 };
  return encodeRecord({ ...own, ...times, newest, ...more });
}

/** As the embedded store hands its rows on, in blocks of three. */
async function* packsOf(kv: Kv, order: (a: string, b: string) => number) {
  const { entries, revision } = await kv.range('h/');
  const rows = entries.toSorted((a, b) => order(a.key, b.key));
  for (let from = 0; from < rows.length; from += 3) {
    const block = rows.slice(from, from + 3);
    const texts = block.map(({ value }) => Buffer.from(value));
    yield packOf(
      {
        keys: block.map(({ key }) => key),
        values: Uint8Array.from(Buffer.concat(texts)),
        lengths: texts.map(({ length }) => length),
        createRevisions: block.map(({ createRevision }) => createRevision),
        modRevisions: block.map(({ modRevision }) => modRevision),
        sums: [],
      },
      revision,
    );
  }
}

/** In the order of names, as a table has records of one deployment together, and in that of the keys. */
const byName = (a: string, b: string): number =>
  a.split('/').reverse().join() < b.split('/').reverse().join() ? -1 : 1;
const byKey = (a: string, b: string): number => (a < b ? -1 : 1);

it.each([
  ['table', byName],
  ['keys', byKey],
])('a view of packed rows in the order of the %s is the one that ranges make', async (_, order) => {
  const kv = createMemoryKv();
  const put = (key: string, value: string) => kv.commit({ puts: [{ key, value }] });
  for (const tenantId of [T1, T2]) {
    for (const [name, text] of [
      ['web', deployment('web')],
      ['grün', deployment('grün', { image: 'größe:1' })],
      ['secret', deployment('secret', { secrets: [{ vault_path: 'kv/a' }] })],
      ['plain', deployment('plain', {}, { newest: undefined })],
      ['large', deployment('large', { env: { A: 'x'.repeat(20_000) } })],
      ['last', deployment('last')],
    ] as const) {
      await put(tenantKey(tenantId, 'deployments', name), text);
      const status = { phase: 'Running', message: name, desired: 1, placed: 1, running: 1, healthy: 1 };
      await put(tenantKey(tenantId, 'deployment-status', name), encodeRecord(status));
      await put(tenantKey(tenantId, 'rollouts', name), encodeRecord({ name }));
    }
    await put(tenantKey(tenantId, 'specs', `plain/${'b'.repeat(64)}`), encodeRecord({ name: 'plain' }));
    await put(tenantKey(tenantId, 'quota', 'own'), encodeRecord({ cpu: 1 }));
    await put(globalKey('tenants', tenantId), encodeRecord({ id: tenantId }));
  }
  await put('h/t/no-record', '{}');
  const quiet = { onProblem: () => undefined };
  const taken = { ...kv, readAhead: () => packsOf(kv, order) };
  const [packed, ranged] = [await StoreView.open(taken, quiet), await StoreView.open(kv, quiet)];
  expect(packed.revision).toBe(ranged.revision);
  expect(packed.tenantIds().toSorted()).toEqual([T1, T2]);
  for (const tenantId of [T1, T2]) {
    const classes = packed
      .tenant(tenantId, 'deployments')
      .list()
      .map((one) => one instanceof UnreadDeployment);
    // In the order of their names: grün, large, last, plain, secret, web.
    expect(classes).toEqual([true, false, true, false, false, true]);
    expect(packed.tenant(tenantId, 'deployment-status').get('web')).toBeInstanceOf(UnreadRecord);
    expect(packed.derived(tenantId)).toEqual(ranged.derived(tenantId));
    expect(packed.bytesOf(tenantId)).toBe(ranged.bytesOf(tenantId));
    for (const kind of KINDS) {
      const all = (view: StoreView) =>
        view
          .tenant(tenantId, kind)
          .list()
          .map(({ id, record, modRevision, createRevision, bytes }) => ({
            id,
            record,
            modRevision,
            createRevision,
            bytes,
          }));
      expect(all(packed), kind).toEqual(all(ranged));
      expect(all(packed).length, kind).toBeGreaterThan(0);
    }
  }
  expect(packed.global('tenants').list()).toEqual(ranged.global('tenants').list());
  packed.close();
  ranged.close();
  await kv.close();
});

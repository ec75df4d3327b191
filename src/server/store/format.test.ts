import { describe, expect, it } from 'vitest';
import { StoreFormat } from './format.ts';
import { globalKey, tenantKey } from './keys.ts';
import { tenantId } from '../../core/model/ids.ts';
import type { Kv } from './kv.ts';
import { createMemoryKv } from './memory.ts';
import type { Migration } from './migrations.ts';
import { RecordCodec, StoreFormatError } from './record-codec.ts';

const KEY = globalKey('store-format', 'format');
const VOLUME = tenantKey(tenantId('ten_a'), 'volumes', 'vol_1');
const DEPLOYMENT = tenantKey(tenantId('ten_a'), 'deployments', 'web');
const NODE = tenantKey(tenantId('ten_a'), 'nodes', 'n1');

/** A later release: `size` of a volume in text became `sizeBytes`. */
const inBytes: Migration = {
  about: 'sizes of volumes in bytes',
  kinds: ['volumes'],
  up: (_kind, { size, ...rest }) => ({ ...rest, sizeBytes: Number(size) * 1024 }),
  down: (_kind, { sizeBytes, ...rest }) => ({ ...rest, size: String(Number(sizeBytes) / 1024) }),
};
const renamed: Migration = {
  about: 'another name of the same',
  kinds: ['volumes', 'nodes'],
  up: (_kind, { name, ...rest }) => ({ ...rest, label: name }),
  down: (_kind, { label, ...rest }) => ({ ...rest, name: label }),
};
const FIRST = new RecordCodec(1, []);
const SECOND = new RecordCodec(1, [inBytes]);
const THIRD = new RecordCodec(1, [inBytes, renamed]);
const never = new AbortController().signal;

async function textAt(kv: Kv, key: string): Promise<unknown> {
  return JSON.parse((await kv.get(key))?.value ?? 'null');
}

async function put(kv: Kv, codec: RecordCodec, key: string, record: object): Promise<void> {
  await kv.commit({ puts: [{ key, value: codec.encode(record) }] });
}

describe('the format of records', () => {
  it.each([FIRST, SECOND, THIRD])('is read as it was written', (codec) => {
    const text = codec.encode({ name: 'data', v: 7 });
    expect(codec.membersIn(text)).toBe('{"name":"data","v":7}');
    expect(codec.membersIn(codec.encode({}))).toBe('{}');
    expect(codec.isOutdated(VOLUME, text)).toBe(false);
  });

  it('of an earlier release is read through every step since', () => {
    const text = FIRST.encode({ name: 'data', size: '2' });
    expect(THIRD.migrated(VOLUME, text)).toEqual({ label: 'data', sizeBytes: 2048 });
    expect(THIRD.migrated(NODE, FIRST.encode({ name: 'n1' }))).toEqual({ label: 'n1' });
    expect(THIRD.isOutdated(NODE, SECOND.encode({ name: 'n1' }))).toBe(true);
    expect(SECOND.isOutdated(NODE, FIRST.encode({ name: 'n1' }))).toBe(false);
  });

  it('is written for an earlier release so that this one reads it', () => {
    const text = THIRD.encode({ label: 'data', sizeBytes: 2048 });
    const older = THIRD.downgraded(VOLUME, text, 1);
    expect(FIRST.membersIn(older)).toBe('{"name":"data","size":"2"}');
    expect(FIRST.membersIn(SECOND.downgraded(NODE, SECOND.encode({ a: '{"v":2,' }), 1))).toBe(
      '{"a":"{\\"v\\":2,"}',
    );
    expect(FIRST.membersIn(SECOND.downgraded(NODE, SECOND.encode({}), 1))).toBe('{}');
  });

  it('that changes no record is read as the one before it', () => {
    const beside: Migration = { ...inBytes, about: 'rows that are derived', kinds: [] };
    const codec = new RecordCodec(1, [inBytes, beside, beside]);
    expect(codec.membersIn(SECOND.encode({ name: 'data' }))).toBe('{"name":"data"}');
    expect(codec.membersIn('{"v":3,"name":"data"}')).toBe('{"name":"data"}');
    expect(codec.membersIn(FIRST.encode({ name: 'data' }))).toBeUndefined();
    expect([1, 2, 3].map((format) => codec.isAnyOutdated(format))).toEqual([true, false, false]);
  });

  it('of a later release, or of none, is refused and not guessed', () => {
    expect(() => FIRST.migrated(NODE, SECOND.encode({ a: 1 }))).toThrow(StoreFormatError);
    expect(() => FIRST.migrated(NODE, '{"a":1}')).toThrow('of no release');
  });

  it('is read by a release that has given up the oldest where nothing of the record has changed since', () => {
    const later = new RecordCodec(2, [renamed]);
    expect(later.migrated(DEPLOYMENT, FIRST.encode({ name: 'web' }))).toEqual({ name: 'web' });
    expect(later.migrated(NODE, FIRST.encode({ name: 'n1' }))).toEqual({ label: 'n1' });
  });

  it('has the ingress as a list, whatever format it was written in', () => {
    const text = FIRST.encode({ spec: { ingress: { host: 'a.example', port: 80 } } });
    const spec = { ingress: [{ host: 'a.example', port: 80, provider: 'traefik' }] };
    expect(JSON.parse(FIRST.membersIn(text) ?? '')).toEqual({ spec });
    expect(SECOND.migrated(DEPLOYMENT, text)).toEqual({ spec });
  });
});

describe('the format of a store', () => {
  it('is the newest where nothing was stored, and the first where it was never said', async () => {
    const [empty, old] = [createMemoryKv(), createMemoryKv()];
    await put(old, FIRST, NODE, { name: 'n1' });
    for (const [kv, format] of [
      [empty, 2],
      [old, 1],
    ] as const) {
      const opened = new StoreFormat('0.2.0', SECOND);
      await opened.open(kv);
      expect(opened.active).toBe(format);
      expect(await textAt(kv, KEY)).toMatchObject({ v: 1, format, release: '0.2.0' });
    }
  });

  it('is refused by an earlier release with both releases and what to do, and nothing is changed', async () => {
    const kv = createMemoryKv();
    await new StoreFormat('0.2.0', SECOND).open(kv);
    const head = await kv.head();
    const earlier = new StoreFormat('0.1.0', FIRST).open(kv);
    await expect(earlier).rejects.toThrow(
      /^store_format_newer: .*format 2, written by Berth 0\.2\.0; this is Berth 0\.1\.0.*Nothing was changed\. Start Berth 0\.2\.0 or a later release, or restore a backup/,
    );
    await expect(earlier).rejects.toBeInstanceOf(StoreFormatError);
    expect(await kv.head()).toBe(head);
    const later = new StoreFormat('0.4.0', new RecordCodec(3, []));
    await expect(later.open(kv)).rejects.toThrow(/^store_format_older: .*one release at a time/);
  });

  it('stays what the earlier releases read until they are gone; then it is raised and everything rewritten', async () => {
    const kv = createMemoryKv();
    await new StoreFormat('0.1.0', FIRST).open(kv);
    await put(kv, FIRST, VOLUME, { name: 'data', size: '2' });
    const format = new StoreFormat('0.2.0', SECOND);
    const writing = format.writing(kv);
    await format.open(kv);
    expect(await format.raise(kv, async () => [{ format: 1 }])).toBe(false);
    await put(writing, SECOND, VOLUME, { name: 'data', sizeBytes: 4096 });
    expect(await textAt(kv, VOLUME)).toEqual({ v: 1, name: 'data', size: '4' });
    expect(await format.rewrite(kv, never)).toBe(0);

    expect(await format.raise(kv, async () => [{ format: 2 }])).toBe(true);
    expect(await textAt(kv, KEY)).toMatchObject({ format: 2, rewritten: 1 });
    expect(await format.rewrite(kv, never)).toBe(1);
    expect(await textAt(kv, VOLUME)).toEqual({ v: 2, name: 'data', sizeBytes: 4096 });
    expect(await textAt(kv, KEY)).toMatchObject({ format: 2, rewritten: 2, release: '0.2.0' });
    await put(writing, SECOND, NODE, { name: 'n1' });
    expect(await textAt(kv, NODE)).toEqual({ v: 2, name: 'n1' });
  });

  it('is rewritten to the end by the next start when the first was cut off', async () => {
    const kv = createMemoryKv();
    await new StoreFormat('0.1.0', FIRST).open(kv);
    await put(kv, FIRST, VOLUME, { name: 'data', size: '2' });
    const first = new StoreFormat('0.2.0', SECOND);
    await first.raise(kv, async () => []);
    expect(await first.rewrite(kv, AbortSignal.abort())).toBe(0);
    expect(await textAt(kv, KEY)).toMatchObject({ format: 2, rewritten: 1 });
    const second = new StoreFormat('0.2.0', SECOND);
    await second.open(kv);
    expect(await second.rewrite(kv, never)).toBe(1);
    expect(await textAt(kv, KEY)).toMatchObject({ rewritten: 2 });
  });

  it('is refused by a release that has given up the format of records which were not rewritten yet', async () => {
    const kv = createMemoryKv();
    await new StoreFormat('0.1.0', FIRST).open(kv);
    await put(kv, FIRST, VOLUME, { name: 'data', size: '2' });
    const second = new StoreFormat('0.2.0', SECOND);
    await second.raise(kv, async () => []);
    const third = new StoreFormat('0.3.0', new RecordCodec(2, [renamed]));
    await expect(third.open(kv)).rejects.toThrow(
      /^store_format_older: the store has records of format 1; .*until it has rewritten them\.$/,
    );
    await second.rewrite(kv, never);
    await third.open(kv);
    expect(third.active).toBe(2);
  });

  it('leaves records that leases hold to those who wrote them', async () => {
    const kv = createMemoryKv();
    await new StoreFormat('0.1.0', FIRST).open(kv);
    const leased: Migration = {
      about: '',
      kinds: ['shards'],
      up: (_kind, members) => members,
      down: (_kind, members) => members,
    };
    const key = globalKey('shards', '01');
    const lease = await kv.grantLease(60_000);
    await kv.commit({ puts: [{ key, value: FIRST.encode({ owner: 'cp_1' }), lease }] });
    const format = new StoreFormat('0.2.0', new RecordCodec(1, [leased]));
    await format.raise(kv, async () => []);
    expect(await format.rewrite(kv, never)).toBe(0);
    await kv.revokeLease(lease);
    expect(await kv.get(key)).toBeUndefined();
  });

  it('is not raised beside an earlier release that joins in the same moment', async () => {
    const kv = createMemoryKv();
    await new StoreFormat('0.1.0', FIRST).open(kv);
    const member = { key: globalKey('control-planes', 'cp_1'), value: FIRST.encode({ version: '0.1.0' }) };
    const raised = await new StoreFormat('0.2.0', SECOND).raise(kv, async () => {
      await new StoreFormat('0.1.0', FIRST).join(kv, member, async () => undefined);
      return [];
    });
    expect(raised).toBe(false);
    expect(await textAt(kv, KEY)).toMatchObject({ format: 1 });

    // And the other way round: who joins looks once more, and is refused.
    const joining = new StoreFormat('0.1.0', FIRST).join(kv, member, async () => {
      await new StoreFormat('0.2.0', SECOND).raise(kv, async () => []);
    });
    await expect(joining).rejects.toThrow('store_format_newer');
  });
});

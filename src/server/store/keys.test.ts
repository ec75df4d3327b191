import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TenantId } from '../../core/model/ids.ts';
import { Collection } from './collection.ts';
import { coldKey, globalKey, isHot, joinId, parseHotKey, tenantKey, tenantPrefixes } from './keys.ts';
import { decodeRecord, encodeRecord } from './records.ts';

const T1 = '11111111-1111-4111-8111-111111111111' as TenantId;
const T2 = '11111111-1111-4111-8111-111111111112' as TenantId;
const segment = fc.oneof(
  fc.string(),
  fc.constantFrom('..', '.', '/', '%2f', '%', 'a/b', '\\', '\u0000', '../../h/g/tokens/x', 'ä', '💥'),
);
const segments = fc.array(segment, { minLength: 1, maxLength: 3 });

describe('keys', () => {
  it('no text leaves its segment, and different ids have different keys', () => {
    fc.assert(
      fc.property(segments, segments, (a, b) => {
        expect(joinId(...a).split('/')).toHaveLength(a.length);
        expect(joinId(...a) === joinId(...b)).toBe(JSON.stringify(a) === JSON.stringify(b));
        expect(joinId(...a)).toMatch(/^[\u0021-\u007e]*$/);
      }),
    );
  });

  it('a hot key is read back as it was made', () => {
    fc.assert(
      fc.property(segments, (parts) => {
        const id = joinId(...parts);
        // One after the other: what is kept of the key before is never that of another.
        for (const tenantId of [T1, T2, T1])
          for (const kind of ['nodes', 'node-liveness'])
            expect(parseHotKey(tenantKey(tenantId, kind, id))).toEqual({ tenantId, kind, id });
        expect(parseHotKey(globalKey('tokens', id))).toEqual({ kind: 'tokens', id });
      }),
    );
  });

  it.each(['', 'h/', 'h/g/', 'h/g/tokens', 'h/t/', 'h/t/x', 'h/t/x/kind', 'c/x/events/1', 'x'])(
    '%j is no hot key',
    (key) => {
      expect(parseHotKey(key)).toBeUndefined();
    },
  );

  it("a tenant's prefixes hold all its keys and no other tenant's", () => {
    const under = (tenantId: TenantId, key: string) =>
      tenantPrefixes(tenantId).some((prefix) => key.startsWith(prefix));
    for (const key of [tenantKey(T1, 'nodes', 'a'), coldKey(T1, 'events', 'a')]) {
      expect(under(T1, key)).toBe(true);
      expect(under(T2, key)).toBe(false);
    }
    expect(under(T1, globalKey('tenants', T1))).toBe(false);
    expect(isHot(tenantKey(T1, 'nodes', 'a'))).toBe(true);
    expect(isHot(coldKey(T1, 'events', 'a'))).toBe(false);
  });
});

describe('a collection', () => {
  it('is a map that lists in id order, by page and by prefix', () => {
    const id = fc.stringMatching(/^[a-c]{1,2}(\/[a-c])?$/);
    const change = fc.tuple(fc.boolean(), id, fc.nat());
    fc.assert(
      fc.property(
        fc.array(change),
        fc.option(id, { nil: undefined }),
        fc.nat({ max: 5 }),
        (changes, after, limit) => {
          const collection = new Collection<number>();
          const model = new Map<string, number>();
          for (const [put, key, value] of changes) {
            if (put) collection.set({ id: key, record: value, modRevision: 1, createRevision: 1 });
            else expect(collection.delete(key)?.record).toBe(model.get(key));
            if (put) model.set(key, value);
            else model.delete(key);
          }
          const sorted = [...model].sort(([a], [b]) => (a < b ? -1 : 1));
          expect(collection.size).toBe(model.size);
          expect(collection.ids()).toEqual(sorted.map(([key]) => key));
          expect(collection.list().map((stored) => [stored.id, stored.record])).toEqual(sorted);
          const page = sorted.filter(([key]) => after === undefined || key > after).slice(0, limit);
          expect(
            collection.list({ ...(after === undefined ? {} : { after }), limit }).map((stored) => stored.id),
          ).toEqual(page.map(([key]) => key));
          expect(collection.listUnder('a').map((stored) => stored.id)).toEqual(
            sorted.map(([key]) => key).filter((key) => key.startsWith('a/')),
          );
        },
      ),
    );
  });
});

describe('records', () => {
  it('are read back as written', () => {
    fc.assert(
      fc.property(fc.dictionary(fc.stringMatching(/^[a-u]{1,4}$/), fc.jsonValue()), (record) => {
        expect(decodeRecord('k', encodeRecord(record))).toEqual(JSON.parse(JSON.stringify(record)));
      }),
    );
  });

  it.each(['', '{', 'null', '[]', '{}', '{"v":0}', '{"v":3}', '{"v":"1"}'])(
    '%j is refused, naming the key',
    (text) => {
      expect(() => decodeRecord('h/t/x', text)).toThrow('h/t/x');
    },
  );
});

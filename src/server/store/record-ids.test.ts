import { describe, expect, test } from 'vitest';
import type { NodeName } from '../../core/model/ids.ts';
import { COLD_OWNERS, GLOBAL_OWNERS, OWNERS, TENANT_OWNERS } from './owners.ts';
import { idOf, prefixOf, segmentsOf } from './record-ids.ts';

describe('ids of records', () => {
  test('every kind is in one scope only, so that a kind alone says where its records are', () => {
    const tables = [GLOBAL_OWNERS, TENANT_OWNERS, COLD_OWNERS];
    const kinds = tables.flatMap((table) => Object.keys(table));
    expect(new Set(kinds).size).toBe(kinds.length);
    expect(Object.values(OWNERS).filter(({ id }) => id.length === 0)).toEqual([]);
  });

  test.each(['plain-1', 'ä/b', '..', '100%', 'a b', '%2F', ''])(
    'the segment "%s" comes back as it was',
    (text) => {
      expect(segmentsOf('instances', idOf('instances', text, 'ins_1'))).toEqual([text, 'ins_1']);
      expect(idOf('volume-observations', 'vol_1', text).split('/')).toHaveLength(2);
    },
  );

  test('a prefix is the id of what the records belong to', () => {
    expect(prefixOf('instances', 'a/b')).toBe(idOf('deployments', 'a/b'));
  });

  test('what does not fit the kind does not compile', () => {
    const node: NodeName = segmentsOf('volume-observations', 'vol_1/n1')[1];
    expect(node).toBe('n1');
    // @ts-expect-error an instance has an owner and an id
    idOf('instances', 'web');
    // @ts-expect-error a prefix leaves something out
    prefixOf('deployments', 'web');
    // @ts-expect-error a deployment's name is no name of a node
    const other: NodeName = segmentsOf('deployments', 'web')[0];
    expect(other).toBe('web');
  });
});

import { expect, it } from 'vitest';
import type { Commit } from '../kv.ts';
import { SentRecords } from './sent-records.ts';

const commit = (...keys: readonly string[]): Commit => ({
  puts: keys.map((key) => ({ key, value: `"${key}"`, record: { key } })),
});

it('has what was sent until it was brought back, was not stored, or the watch was lost', () => {
  const sent = new SentRecords();
  sent.hold([commit('a', 'b'), commit('c')]);
  const drop = sent.hold([commit('d')]);
  sent.hold([{ puts: [{ key: 'cold', value: '1' }] }, {}]);
  expect(sent.take('a', 'of another process')).toBeUndefined();
  expect(sent.take('cold', '1')).toBeUndefined();
  expect(['c', 'a'].map((key) => sent.take(key, `"${key}"`)?.record)).toEqual([{ key: 'c' }, { key: 'a' }]);
  drop();
  drop();
  expect(sent.take('d', '"d"')).toBeUndefined();
  sent.hold([commit('e')]);
  sent.clear();
  expect(['b', 'e'].map((key) => sent.take(key, `"${key}"`))).toEqual([undefined, undefined]);
  sent.hold([commit('f')]);
  expect(sent.take('f', '"f"')?.record).toEqual({ key: 'f' });
  expect(sent.take('f', '"f"')).toBeUndefined();
});

it('keeps no more than a bound of what the watch does not bring back, the newest', () => {
  const sent = new SentRecords();
  for (let number = 0; number < 10_000; number += 1) sent.hold([commit(`k${number}`)]);
  expect(sent.take('k0', '"k0"')).toBeUndefined();
  expect(sent.take('k9999', '"k9999"')?.record).toEqual({ key: 'k9999' });
});

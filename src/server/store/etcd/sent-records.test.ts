import { expect, it } from 'vitest';
import type { Commit, WatchHandlers } from '../kv.ts';
import { keySpaceUnder } from './key-space.ts';
import { SentRecords } from './sent-records.ts';
import { EtcdWatch } from './watch.ts';

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

it('lets go of what was sent while there was no watch, when the next one begins', () => {
  const sent = new SentRecords();
  const stream = { close: () => undefined, abandon: () => undefined };
  const cluster = { timeoutMs: 1000, stream: () => stream };
  const context = { cluster, keys: keySpaceUnder('/berth/'), sent, onClosed: () => undefined };
  const watch = (more: Partial<WatchHandlers>): EtcdWatch => {
    const handlers = { onBatch: () => undefined, onLost: () => undefined, ...more };
    return new EtcdWatch(context as unknown as ConstructorParameters<typeof EtcdWatch>[0], 'h/', 1, handlers);
  };
  sent.hold([commit('a', 'b')]);
  watch({}).close();
  expect(sent.take('a', '"a"')).toBeDefined();
  watch({ onProgress: () => undefined }).close();
  expect(sent.take('b', '"b"')).toBeUndefined();
});

it('keeps no more than a bound of what the watch does not bring back, the newest', () => {
  const sent = new SentRecords();
  for (let number = 0; number < 10_000; number += 1) sent.hold([commit(`k${number}`)]);
  expect(sent.take('k0', '"k0"')).toBeUndefined();
  expect(sent.take('k9999', '"k9999"')?.record).toEqual({ key: 'k9999' });
});

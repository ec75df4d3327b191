import protobuf from 'protobufjs/light.js';
import { expect, it } from 'vitest';
import type { Commit } from '../kv.ts';
import { keySpaceUnder } from './key-space.ts';
import { encodeTxn } from './txn-request.ts';

/** What etcd's own definition makes of the bytes, as a general decoder reads them. */
const TXN = protobuf.Root.fromJSON({
  nested: {
    Compare: {
      fields: {
        result: { type: 'int32', id: 1 },
        target: { type: 'int32', id: 2 },
        key: { type: 'string', id: 3 },
        modRevision: { type: 'int64', id: 6 },
      },
    },
    Range: { fields: { key: { type: 'string', id: 1 }, keysOnly: { type: 'bool', id: 8 } } },
    Put: {
      fields: {
        key: { type: 'string', id: 1 },
        value: { type: 'string', id: 2 },
        lease: { type: 'int64', id: 3 },
      },
    },
    DeleteRange: { fields: { key: { type: 'string', id: 1 } } },
    Op: {
      fields: {
        range: { type: 'Range', id: 1 },
        put: { type: 'Put', id: 2 },
        deleteRange: { type: 'DeleteRange', id: 3 },
      },
    },
    Txn: {
      fields: {
        compare: { type: 'Compare', id: 1, rule: 'repeated' },
        success: { type: 'Op', id: 2, rule: 'repeated' },
        failure: { type: 'Op', id: 3, rule: 'repeated' },
      },
    },
  },
}).lookupType('Txn');

const keys = keySpaceUnder('/berth/');
const encode = (commits: readonly Commit[]): Buffer =>
  encodeTxn({ commits, guards: commits.flatMap(({ guards = [] }) => guards), keys });
const read = (bytes: Buffer): unknown => TXN.toObject(TXN.decode(bytes), { longs: Number });

it('is written as etcd reads it, whatever the lengths, letters and numbers', () => {
  const long = 'k'.repeat(200);
  const large = 'é€😀"'.repeat(30_000);
  const commits: readonly Commit[] = [
    {
      guards: [
        { key: 'a', modRevision: 0 },
        { key: long, modRevision: 2 ** 40 + 5 },
      ],
      puts: [
        { key: 'ä', value: '' },
        { key: long, value: large, lease: String(2 ** 46 + 1) },
      ],
    },
    { deletes: ['gone', long] },
    { puts: [{ key: 'b', value: 'x'.repeat(127) }] },
  ];
  expect(read(encode(commits))).toEqual({
    compare: [
      // Zero and the empty text are what a field is that is not there.
      { target: 2, key: '/berth/a' },
      { target: 2, key: `/berth/${long}`, modRevision: 2 ** 40 + 5 },
    ],
    success: [
      { put: { key: '/berth/ä' } },
      { put: { key: `/berth/${long}`, value: large, lease: 2 ** 46 + 1 } },
      { deleteRange: { key: '/berth/gone' } },
      { deleteRange: { key: `/berth/${long}` } },
      { put: { key: '/berth/b', value: 'x'.repeat(127) } },
    ],
    failure: [
      { range: { key: '/berth/a', keysOnly: true } },
      { range: { key: `/berth/${long}`, keysOnly: true } },
    ],
  });
});

it('leaves nothing of a request that could not be written', () => {
  expect(() => encode([{ puts: [{ key: 'first', value: 'x' }], deletes: [''] }])).toThrow('may not be empty');
  expect(read(encode([{ deletes: ['a'] }]))).toEqual({ success: [{ deleteRange: { key: '/berth/a' } }] });
});

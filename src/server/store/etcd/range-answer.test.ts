import { expect, it } from 'vitest';
import { encodedRange as encoded, rangeEntry as entry } from '../../../../test/support/etcd-range.ts';
import { PackedRow } from '../packed-row.ts';
import { decodeRange } from './range-answer.ts';
import { decodePack } from './range-pack.ts';

it('reads what etcd writes, and skips the rest', () => {
  const long = 'x'.repeat(70_000);
  const bytes = encoded({
    header: {
      clusterId: '14841639068965178418',
      memberId: '10276657743932975437',
      revision: 2 ** 40,
      raftTerm: 2,
    },
    kvs: [
      entry('berth/h/a', '{"v":1}', 1, 127),
      entry('berth/h/ä', 'naïve – 漢字 😀 \ufffd', 128, 2 ** 33 + 5),
      entry('berth/h/empty', '', 5, 6),
      entry('berth/h/long', long, 16_384, 2 ** 52),
    ],
    more: true,
    count: 4711,
    later: 7,
    latest: 8,
  });
  expect(decodeRange(bytes)).toEqual({
    revision: 2 ** 40,
    kvs: [
      { key: 'berth/h/a', value: '{"v":1}', createRevision: 1, modRevision: 127 },
      { key: 'berth/h/ä', value: 'naïve – 漢字 😀 \ufffd', createRevision: 128, modRevision: 2 ** 33 + 5 },
      { key: 'berth/h/empty', value: '', createRevision: 5, modRevision: 6 },
      { key: 'berth/h/long', value: long, createRevision: 16_384, modRevision: 2 ** 52 },
    ],
    more: true,
  });
  expect(decodeRange(encoded({ header: { revision: 9 } }))).toEqual({ revision: 9, kvs: [], more: false });
});

it('refuses what it cannot read as it was written', () => {
  const one = encoded({ header: { revision: 9 }, kvs: [entry('k', 'value', 1, 2)], more: true });
  // After the header nothing is missing, nor after the whole.
  const whole = new Set([4, one.length - 2, one.length]);
  for (let length = 1; length < one.length; length += 1)
    if (!whole.has(length)) expect(() => decodeRange(one.subarray(0, length))).toThrow('etcd sent');
  const notText = encoded({ kvs: [entry('k', Buffer.from([0x7b, 0xff, 0x7d]), 1, 2)] });
  expect(() => decodeRange(notText)).toThrow('not UTF-8');
  expect(() => decodeRange(Buffer.from([0x0b]))).toThrow('field of kind 3');
  expect(() => decodePack(notText, 0)).toThrow('not UTF-8');
  const noName = { ...entry('', 'value', 1, 2), key: Buffer.from([0x68, 0xff]) };
  expect(() => decodePack(encoded({ kvs: [noName] }), 0)).toThrow('not UTF-8');
  for (let length = 1; length < one.length; length += 1)
    if (!whole.has(length)) expect(() => decodePack(one.subarray(0, length), 0)).toThrow('etcd sent');
});

it('leaves the rows of a load where they arrived, whatever their keys are', () => {
  const keys = [
    'h/g/tenants/one',
    'h/g/tenants/größe',
    'h/t/no-record',
    // Begins as the one before, which is no folder.
    'h/t/no-record-either',
    'h/t/a/deployments/web',
    'h/t/a/deployments/web/part',
    'h/t/a/specs/web',
    'h/t/a/deployments/late',
    'x',
  ];
  const kvs = keys.map((key, at) => entry(`größe/${key}`, `{"of":"${key} 漢字"}`, at + 1, 300 * (at + 1)));
  const bytes = encoded({ header: { revision: 2 ** 40 }, kvs, more: true, count: 9 });
  const { rows, ...answer } = decodePack(bytes, Buffer.byteLength('größe/'));
  const read = [];
  for (const row = new PackedRow({ ...rows, revision: 1 }); row.next(); ) read.push(row.entry());
  expect(read).toEqual(
    decodeRange(bytes).kvs.map(({ key, ...kv }) => ({ key: key.slice('größe/'.length), ...kv })),
  );
  const values = read.reduce((sum, { value }) => sum + Buffer.byteLength(value), 0);
  expect(answer).toEqual({ revision: 2 ** 40, more: true, last: 'größe/x', bytes: values });
  expect(decodePack(encoded({ header: { revision: 9 } }), 6)).toMatchObject({
    revision: 9,
    more: false,
    bytes: 0,
  });
});

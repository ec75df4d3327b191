import protobuf from 'protobufjs/light.js';
import { expect, it } from 'vitest';
import { decodeRange } from './range-answer.ts';

/** etcd's own definition, with what is not read of it, as a general encoder writes it. */
const RANGE = protobuf.Root.fromJSON({
  nested: {
    Header: {
      fields: {
        clusterId: { type: 'uint64', id: 1 },
        memberId: { type: 'uint64', id: 2 },
        revision: { type: 'int64', id: 3 },
        raftTerm: { type: 'uint64', id: 4 },
      },
    },
    KeyValue: {
      fields: {
        key: { type: 'bytes', id: 1 },
        createRevision: { type: 'int64', id: 2 },
        modRevision: { type: 'int64', id: 3 },
        version: { type: 'int64', id: 4 },
        value: { type: 'bytes', id: 5 },
        lease: { type: 'int64', id: 6 },
      },
    },
    Range: {
      fields: {
        header: { type: 'Header', id: 1 },
        kvs: { type: 'KeyValue', id: 2, rule: 'repeated' },
        more: { type: 'bool', id: 3 },
        count: { type: 'int64', id: 4 },
        later: { type: 'fixed64', id: 200 },
        latest: { type: 'fixed32', id: 201 },
      },
    },
  },
}).lookupType('Range');

const encoded = (message: object): Buffer => Buffer.from(RANGE.encode(message).finish());
const entry = (key: string, value: string | Buffer, createRevision: number, modRevision: number) => ({
  key: Buffer.from(key),
  value: Buffer.from(value),
  createRevision,
  modRevision,
  version: 3,
  lease: 2 ** 46,
});

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
});

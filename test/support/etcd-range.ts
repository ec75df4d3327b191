import protobuf from 'protobufjs/light.js';

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

export const encodedRange = (message: object): Buffer => Buffer.from(RANGE.encode(message).finish());
export const rangeEntry = (
  key: string,
  value: string | Buffer,
  createRevision: number,
  modRevision: number,
) => ({
  key: Buffer.from(key),
  value: Buffer.from(value),
  createRevision,
  modRevision,
  version: 3,
  lease: 2 ** 46,
});

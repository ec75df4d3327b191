import { keysOf } from '../../../core/model/values.ts';
import protobuf from 'protobufjs/light.js';
import { decodeRange, type RangeAnswer } from './range-answer.ts';
import { decodePack, type PackedAnswer } from './range-pack.ts';
import { encodeTxn, type TxnRequest } from './txn-request.ts';

/**
 * The part of etcd's public API (etcdserverpb, mvccpb) that the adapter speaks. Fields that are not named here are
 * skipped by the decoder, which is why the header carries a revision only. Keys and values are `bytes` in etcd and
 * `string` here: the wire form is the same, and everything the port stores is text. `rangeEnd` may end in a byte
 * that is not UTF-8.
 */
const MESSAGES = {
  ResponseHeader: { clusterId: ['uint64', 1], revision: ['int64', 3] },
  KeyValue: {
    key: ['string', 1],
    createRevision: ['int64', 2],
    modRevision: ['int64', 3],
    value: ['string', 5],
  },
  RangeRequest: {
    key: ['string', 1],
    rangeEnd: ['bytes', 2],
    limit: ['int64', 3],
    revision: ['int64', 4],
    sortOrder: ['int32', 5],
    sortTarget: ['int32', 6],
    keysOnly: ['bool', 8],
  },
  RangeResponse: {
    header: ['ResponseHeader', 1],
    kvs: ['KeyValue', 2, 'repeated'],
    more: ['bool', 3],
  },
  PutRequest: { key: ['string', 1], value: ['string', 2], lease: ['int64', 3] },
  PutResponse: { header: ['ResponseHeader', 1] },
  ResponseOp: { responseRange: ['RangeResponse', 1] },
  TxnOutcome: { header: ['ResponseHeader', 1], succeeded: ['bool', 2] },
  TxnResponse: {
    header: ['ResponseHeader', 1],
    succeeded: ['bool', 2],
    responses: ['ResponseOp', 3, 'repeated'],
  },
  CompactionRequest: { revision: ['int64', 1], physical: ['bool', 2] },
  WatchCreateRequest: {
    key: ['string', 1],
    rangeEnd: ['bytes', 2],
    startRevision: ['int64', 3],
    progressNotify: ['bool', 4],
    fragment: ['bool', 8],
  },
  WatchRequest: { createRequest: ['WatchCreateRequest', 1] },
  Event: { type: ['int32', 1], kv: ['KeyValue', 2] },
  WatchResponse: {
    header: ['ResponseHeader', 1],
    created: ['bool', 3],
    canceled: ['bool', 4],
    compactRevision: ['int64', 5],
    cancelReason: ['string', 6],
    fragment: ['bool', 7],
    events: ['Event', 11, 'repeated'],
  },
  LeaseGrantRequest: { TTL: ['int64', 1], ID: ['int64', 2] },
  LeaseRevokeRequest: { ID: ['int64', 1] },
  LeaseKeepAliveRequest: { ID: ['int64', 1] },
  LeaseKeepAliveResponse: { TTL: ['int64', 3] },
  StatusRequest: {},
  StatusResponse: {
    version: ['string', 2],
    dbSize: ['int64', 3],
    leader: ['uint64', 4],
  },
  AlarmMember: { memberID: ['uint64', 1], alarm: ['int32', 2] },
  AlarmRequest: { action: ['int32', 1], memberID: ['uint64', 2], alarm: ['int32', 3] },
  AlarmResponse: { alarms: ['AlarmMember', 2, 'repeated'] },
  DefragmentRequest: {},
  AuthenticateRequest: { name: ['string', 1], password: ['string', 2] },
  AuthenticateResponse: { token: ['string', 2] },
  Empty: {},
} as const satisfies Record<string, Record<string, readonly [string, number, 'repeated'?]>>;

type MessageName = keyof typeof MESSAGES;

/** A 64-bit number as the decoder returns it. Member and cluster ids do not fit a JavaScript number; revisions do. */
export interface WireInt {
  toNumber(): number;
  toString(): string;
}

export interface WireHeader {
  readonly clusterId: WireInt;
  readonly revision: WireInt;
}

export interface WireKeyValue {
  readonly key: string;
  readonly value: string;
  readonly createRevision: WireInt;
  readonly modRevision: WireInt;
}

interface WireRange {
  readonly header: WireHeader;
  readonly kvs: readonly WireKeyValue[];
  readonly more: boolean;
}

/** Deleted keys come as events of type 1, whose key-value holds the key and the deleting revision only. */
export interface WireEvent {
  readonly type: number;
  readonly kv: WireKeyValue;
}

export interface WireWatchResponse {
  readonly header: WireHeader;
  readonly created: boolean;
  readonly canceled: boolean;
  readonly compactRevision: WireInt;
  readonly cancelReason: string;
  readonly fragment: boolean;
  readonly events: readonly WireEvent[];
}

export interface WireTxn {
  readonly header: WireHeader;
  readonly succeeded: boolean;
  /** Of one that failed. */
  readonly responses: readonly { readonly responseRange: WireRange | null }[];
}

export interface WireAlarm {
  readonly memberID: WireInt;
  readonly alarm: number;
}

interface Decoded {
  PutResponse: { readonly header: WireHeader };
  TxnOutcome: { readonly header: WireHeader; readonly succeeded: boolean };
  TxnResponse: WireTxn;
  WatchResponse: WireWatchResponse;
  LeaseKeepAliveResponse: { readonly TTL: WireInt };
  StatusResponse: { readonly version: string; readonly dbSize: WireInt; readonly leader: WireInt };
  AlarmResponse: { readonly alarms: readonly WireAlarm[] };
  AuthenticateResponse: { readonly token: string };
  Empty: object;
}

const root = protobuf.Root.fromJSON({
  nested: Object.fromEntries(
    Object.entries(MESSAGES).map(([name, fields]) => [name, { fields: fieldDescriptors(fields) }]),
  ),
});

function fieldDescriptors(
  fields: Record<string, readonly [string, number, 'repeated'?]>,
): Record<string, protobuf.IField> {
  return Object.fromEntries(
    Object.entries(fields).map(([name, [type, id, rule]]) => [
      name,
      rule ? { type, id, rule } : { type, id },
    ]),
  );
}

const TYPES: ReadonlyMap<MessageName, protobuf.Type> = new Map(
  keysOf(MESSAGES).map((name) => [name, root.lookupType(name)]),
);

function typeOf(name: MessageName): protobuf.Type {
  const type = TYPES.get(name);
  if (!type) throw new Error(`unknown message ${name}`);
  return type;
}

/** One remote procedure: its path and how to turn a request into bytes and bytes into an answer. */
export interface Method<Answer, Request = Readonly<Record<string, unknown>>> {
  readonly path: string;
  encode(request: Request): Buffer;
  decode(bytes: Buffer): Answer;
}

function decoderOf<Name extends keyof Decoded>(name: Name): (bytes: Buffer) => Decoded[Name] {
  const type = typeOf(name);
  return (bytes) => type.decode(bytes) as protobuf.Message & Decoded[Name];
}

function encoderOf(name: MessageName): (message: Readonly<Record<string, unknown>>) => Buffer {
  const type = typeOf(name);
  return (message) => type.encode(message).finish() as Buffer;
}

function method<Name extends keyof Decoded>(
  path: string,
  request: MessageName,
  answer: Name,
): Method<Decoded[Name]> {
  return { path: `/etcdserverpb.${path}`, encode: encoderOf(request), decode: decoderOf(answer) };
}

function rangeMethod(): Method<RangeAnswer> {
  return { path: '/etcdserverpb.KV/Range', encode: encoderOf('RangeRequest'), decode: decodeRange };
}

/** The same of a load. `prefixBytes`: of every key before what the port calls its key. */
export function loadMethod(prefixBytes: number): Method<PackedAnswer> {
  return { ...METHODS.range, decode: (bytes) => decodePack(bytes, prefixBytes) };
}

/** Of a transaction that succeeded there is an answer to each of its writes, none of which says anything. */
function txnMethod(): Method<WireTxn, TxnRequest> {
  const [outcomeOf, wholeOf] = [decoderOf('TxnOutcome'), decoderOf('TxnResponse')];
  return {
    path: '/etcdserverpb.KV/Txn',
    encode: encodeTxn,
    decode: (bytes) => {
      const { header, succeeded } = outcomeOf(bytes);
      return succeeded ? { header, succeeded, responses: [] } : wholeOf(bytes);
    },
  };
}

export const METHODS = {
  range: rangeMethod(),
  put: method('KV/Put', 'PutRequest', 'PutResponse'),
  txn: txnMethod(),
  compact: method('KV/Compact', 'CompactionRequest', 'Empty'),
  watch: method('Watch/Watch', 'WatchRequest', 'WatchResponse'),
  leaseGrant: method('Lease/LeaseGrant', 'LeaseGrantRequest', 'Empty'),
  leaseRevoke: method('Lease/LeaseRevoke', 'LeaseRevokeRequest', 'Empty'),
  leaseKeepAlive: method('Lease/LeaseKeepAlive', 'LeaseKeepAliveRequest', 'LeaseKeepAliveResponse'),
  status: method('Maintenance/Status', 'StatusRequest', 'StatusResponse'),
  alarm: method('Maintenance/Alarm', 'AlarmRequest', 'AlarmResponse'),
  defragment: method('Maintenance/Defragment', 'DefragmentRequest', 'Empty'),
  authenticate: method('Auth/Authenticate', 'AuthenticateRequest', 'AuthenticateResponse'),
} as const;

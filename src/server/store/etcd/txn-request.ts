import type { Commit, Guard, Put } from '../kv.ts';
import type { KeySpace } from './key-space.ts';
import { fieldBytes, MessageWriter, varintBytes } from './message-writer.ts';

/** Fields of etcd's messages, by the names of etcdserverpb. */
const TXN = { compare: 1, success: 2, failure: 3 } as const;
const COMPARE = { target: 2, key: 3, modRevision: 6 } as const;
const REQUEST_OP = { range: 1, put: 2, deleteRange: 3 } as const;
const RANGE = { key: 1, keysOnly: 8 } as const;
const PUT = { key: 1, value: 2, lease: 3 } as const;
const DELETE_RANGE = { key: 1 } as const;

const COMPARE_MOD_REVISION = 2;
/** Tag and value. */
const FLAG_BYTES = 2;

/** Requests are encoded in one turn, one after another. */
const writer = new MessageWriter();

function writeGuard({ modRevision }: Guard, key: string, keyBytes: number): void {
  const length = FLAG_BYTES + fieldBytes(keyBytes) + 1 + varintBytes(modRevision);
  writer.open(TXN.compare, length);
  writer.number(COMPARE.target, COMPARE_MOD_REVISION);
  writer.text(COMPARE.key, key, keyBytes);
  writer.number(COMPARE.modRevision, modRevision);
}

/** Read in the same transaction that failed, so the answer names the keys as they were when it did. */
function writeReadOfGuard(key: string, keyBytes: number): void {
  const length = fieldBytes(keyBytes) + FLAG_BYTES;
  writer.open(TXN.failure, fieldBytes(length));
  writer.open(REQUEST_OP.range, length);
  writer.text(RANGE.key, key, keyBytes);
  writer.number(RANGE.keysOnly, 1);
}

function writePut({ key: name, value, lease }: Put, keys: KeySpace): void {
  const key = keys.toEtcd(name);
  const keyBytes = Buffer.byteLength(key);
  const valueBytes = Buffer.byteLength(value);
  const leaseId = lease === undefined ? 0 : Number(lease);
  const length =
    fieldBytes(keyBytes) + fieldBytes(valueBytes) + (leaseId === 0 ? 0 : 1 + varintBytes(leaseId));
  writer.open(TXN.success, fieldBytes(length));
  writer.open(REQUEST_OP.put, length);
  writer.text(PUT.key, key, keyBytes);
  writer.text(PUT.value, value, valueBytes);
  if (leaseId !== 0) writer.number(PUT.lease, leaseId);
}

function writeDelete(name: string, keys: KeySpace): void {
  const key = keys.toEtcd(name);
  const keyBytes = Buffer.byteLength(key);
  writer.open(TXN.success, fieldBytes(fieldBytes(keyBytes)));
  writer.open(REQUEST_OP.deleteRange, fieldBytes(keyBytes));
  writer.text(DELETE_RANGE.key, key, keyBytes);
}

/** Commits that share a transaction, the guards that they have together, and what etcd calls their keys. */
export interface TxnRequest {
  readonly commits: readonly Commit[];
  readonly guards: readonly Guard[];
  readonly keys: KeySpace;
}

/**
 * The request of a transaction, etcdserverpb.TxnRequest. It is the one message that is written by hand: a control plane that makes
 * thousands of deployments a second spends more on objects for a general encoder than on the bytes.
 */
export function encodeTxn({ commits, guards, keys }: TxnRequest): Buffer {
  writer.start();
  for (const guard of guards) {
    const key = keys.toEtcd(guard.key);
    const keyBytes = Buffer.byteLength(key);
    writeGuard(guard, key, keyBytes);
    writeReadOfGuard(key, keyBytes);
  }
  for (const { puts = [], deletes = [] } of commits) {
    for (const put of puts) writePut(put, keys);
    for (const key of deletes) writeDelete(key, keys);
  }
  return writer.finish();
}

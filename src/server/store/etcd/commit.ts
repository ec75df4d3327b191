import { type Commit, type CommitResult, KvTooLargeError } from '../kv.ts';
import type { Cluster } from './cluster.ts';
import type { KeySpace } from './key-space.ts';
import { METHODS } from './messages.ts';

const COMPARE_MOD_REVISION = 2;

/** etcd's own bound, `--max-txn-ops`; a commit is one transaction or it is not atomic, so it is never split. */
export const DEFAULT_MAX_TXN_OPS = 128;

function requireThatItFits(commit: Commit, maxTxnOps: number): void {
  const writes = (commit.puts?.length ?? 0) + (commit.deletes?.length ?? 0);
  const guards = commit.guards?.length ?? 0;
  if (writes > maxTxnOps || guards > maxTxnOps) {
    throw new KvTooLargeError(
      `a commit of ${writes} writes and ${guards} guards is over etcd's limit of ${maxTxnOps} each (--max-txn-ops)`,
    );
  }
}

function txnOf(commit: Commit, keys: KeySpace): Record<string, unknown> {
  const guards = commit.guards ?? [];
  const success: object[] = [];
  for (const put of commit.puts ?? []) {
    success.push({
      requestPut:
        put.lease === undefined
          ? { key: keys.toEtcd(put.key), value: put.value }
          : { key: keys.toEtcd(put.key), value: put.value, lease: Number(put.lease) },
    });
  }
  for (const key of commit.deletes ?? []) success.push({ requestDeleteRange: { key: keys.toEtcd(key) } });
  return {
    compare: guards.map((guard) => ({
      target: COMPARE_MOD_REVISION,
      key: keys.toEtcd(guard.key),
      modRevision: guard.modRevision,
    })),
    success,
    // Read in the same transaction that failed, so the answer names the keys as they were when it did.
    failure: guards.map((guard) => ({ requestRange: { key: keys.toEtcd(guard.key), keysOnly: true } })),
  };
}

export async function commitTxn(
  cluster: Cluster,
  keys: KeySpace,
  commit: Commit,
  maxTxnOps: number,
): Promise<CommitResult> {
  requireThatItFits(commit, maxTxnOps);
  const answer = await cluster.call(METHODS.txn, txnOf(commit, keys), { repeatable: false });
  if (answer.succeeded) return { ok: true, revision: answer.header.revision.toNumber() };
  const failed = (commit.guards ?? []).filter((guard, index) => {
    const found = answer.responses[index]?.responseRange?.kvs[0];
    return (found?.modRevision.toNumber() ?? 0) !== guard.modRevision;
  });
  return { ok: false, failed: failed.map((guard) => guard.key) };
}

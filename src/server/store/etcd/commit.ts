import { type Commit, type CommitResult, type Guard, KvTooLargeError, KvUnavailableError } from '../kv.ts';
import type { EtcdCluster } from './cluster.ts';
import { faultKindOf } from './fault.ts';
import type { KeySpace } from './key-space.ts';
import { METHODS } from './messages.ts';
import { readEntry } from './range.ts';

/** etcd's own bound, `--max-txn-ops`; a commit is one transaction or it is not atomic, so it is never split. */
export const DEFAULT_MAX_TXN_OPS = 128;

export function requireThatItFits(commit: Commit, maxTxnOps: number): void {
  const writes = (commit.puts?.length ?? 0) + (commit.deletes?.length ?? 0);
  const guards = commit.guards?.length ?? 0;
  if (writes > maxTxnOps || guards > maxTxnOps) {
    throw new KvTooLargeError(
      `a commit of ${writes} writes and ${guards} guards is over etcd's limit of ${maxTxnOps} each (--max-txn-ops)`,
    );
  }
}

/** Commits that share a transaction often stand on the same record: it is compared once. */
function guardsOf(commits: readonly Commit[]): readonly Guard[] {
  const guards = new Map<string, Guard>();
  for (const commit of commits) for (const guard of commit.guards ?? []) guards.set(guard.key, guard);
  return [...guards.values()];
}

/** Undefined: nothing stood against this commit, and nothing of it was written, as another of the transaction had a conflict. */
export type GroupedResult = CommitResult | undefined;

/** Independent commits as one transaction: all are applied, under one revision, or none is. */
export async function commitTxn(
  cluster: EtcdCluster,
  keys: KeySpace,
  commits: readonly Commit[],
  timeoutMs: number,
): Promise<readonly GroupedResult[]> {
  const guards = guardsOf(commits);
  const request = { commits, guards, keys };
  const answer = await cluster
    .call(METHODS.txn, request, { repeatable: false, timeoutMs })
    .catch(async (error: unknown) => {
      if (faultKindOf(error) !== 'no-space') throw error;
      return await appliedAfterAll(cluster, keys, commits, guards, error);
    });
  if (typeof answer === 'number') return commits.map(() => ({ ok: true, revision: answer }));
  if (answer.succeeded) {
    const revision = answer.header.revision.toNumber();
    return commits.map(() => ({ ok: true, revision }));
  }
  const moved = new Set<string>();
  for (const [index, guard] of guards.entries()) {
    const found = answer.responses[index]?.responseRange?.kvs[0];
    if ((found?.modRevision.toNumber() ?? 0) !== guard.modRevision) moved.add(guard.key);
  }
  return commits.map((commit) => {
    const failed = (commit.guards ?? []).map((guard) => guard.key).filter((key) => moved.has(key));
    return failed.length === 0 ? undefined : { ok: false, failed };
  });
}

/**
 * The transaction that reaches the quota is refused for lack of space and applied all the same; those before it, at the door, and after it are
 * not. Records that were to replace those of their guards tell which it was: the revision under which all of them stand as they were sent,
 * or the refusal with what is certain of it.
 */
async function appliedAfterAll(
  cluster: EtcdCluster,
  keys: KeySpace,
  commits: readonly Commit[],
  guards: readonly Guard[],
  refusal: unknown,
): Promise<number> {
  const before = new Map(guards.map(({ key, modRevision }) => [key, modRevision]));
  const telling = commits.map(({ puts = [] }) => puts.filter(({ key }) => before.has(key)));
  const found = await Promise.all(
    telling.flat().map(async (put) => ({ put, entry: await readEntry(cluster, keys, put.key) })),
  ).catch(() => {
    throw refusal;
  });
  const revisionOf = ({ entry }: (typeof found)[number]): number => entry?.modRevision ?? 0;
  const isAsBefore = (one: (typeof found)[number]): boolean => revisionOf(one) === before.get(one.put.key);
  if (found.some(isAsBefore) && refusal instanceof Error)
    throw new KvUnavailableError(refusal.message, true, { cause: refusal.cause });
  const [revision, ...others] = new Set(found.map(revisionOf));
  const isOurs = others.length === 0 && found.every(({ put, entry }) => entry?.value === put.value);
  // A text that was there already, under a revision that the guard did not know, would speak for its own commit alone.
  if (revision === undefined || !isOurs || telling.some((puts) => puts.length === 0)) throw refusal;
  return revision;
}

import { describe, expect, it } from 'vitest';
import { type Commit, KvUnavailableError } from '../kv.ts';
import type { EtcdCluster } from './cluster.ts';
import { commitTxn } from './commit.ts';
import { errorOf, faultOf } from './fault.ts';
import { keySpaceUnder } from './key-space.ts';
import { METHODS } from './messages.ts';
import { CODE, WireError } from './wire.ts';

const NO_SPACE = new WireError(CODE.resourceExhausted, 'etcdserver: mvcc: database space exceeded', true);
const EVENT = { puts: [{ key: 'events/1', value: 'made' }] };
const WEB = {
  guards: [{ key: 'deployments/web', modRevision: 7 }],
  puts: [{ key: 'deployments/web', value: 'new' }, ...EVENT.puts],
};
const DB = {
  guards: [{ key: 'deployments/db', modRevision: 0 }],
  puts: [{ key: 'deployments/db', value: 'new' }],
};
const COMMITS: readonly Commit[] = [WEB, DB];

type Stored = Readonly<Record<string, readonly [value: string, modRevision: number]>>;

/** An etcd that refuses every transaction for lack of space, and has these records. */
function fullEtcd(stored: Stored | Error): EtcdCluster {
  const call = async (method: unknown, { key }: { readonly key: string }): Promise<unknown> => {
    if (method === METHODS.txn) throw errorOf(faultOf(NO_SPACE, 'etcd'), NO_SPACE);
    if (stored instanceof Error) throw stored;
    const [value, modRevision] = stored[key.slice('berth/deployments/'.length)] ?? [];
    if (value === undefined || modRevision === undefined) return { kvs: [] };
    return { kvs: [{ key, value, createRevision: 1, modRevision }] };
  };
  return { call } as unknown as EtcdCluster;
}

const sent = (stored: Stored | Error, commits = COMMITS) =>
  commitTxn(fullEtcd(stored), keySpaceUnder('berth/'), commits, 1000);

describe('a transaction that is refused for lack of space', () => {
  it('is acknowledged when it was applied all the same', async () => {
    expect(await sent({ web: ['new', 9], db: ['new', 9] })).toEqual([
      { ok: true, revision: 9 },
      { ok: true, revision: 9 },
    ]);
  });

  it('is certainly not applied when one of its records is as before', async () => {
    // That of the other was written before, under a revision that its guard did not know.
    const refusal = await sent({ web: ['new', 8] }).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(KvUnavailableError);
    expect(refusal).toMatchObject({ certainlyNotApplied: true, cause: NO_SPACE });
  });

  it.each<[string, Stored | Error, readonly Commit[]]>([
    ['somebody else wrote a record since', { web: ['other', 10], db: ['new', 9] }, COMMITS],
    ['the records are of two revisions', { web: ['new', 8], db: ['new', 9] }, COMMITS],
    ['a record is gone', { db: ['new', 9] }, COMMITS],
    ['etcd does not answer', new Error('no answer'), COMMITS],
    ['no record of a commit was guarded', { web: ['new', 9] }, [WEB, EVENT]],
    ['no record at all was guarded', {}, [EVENT]],
  ])('is uncertain when %s', async (_when, stored, commits) => {
    const refusal = await sent(stored, commits).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ certainlyNotApplied: false, cause: NO_SPACE });
  });
});

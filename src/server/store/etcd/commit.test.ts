import { describe, expect, it } from 'vitest';
import { type Commit, KvUnavailableError } from '../kv.ts';
import type { EtcdCluster } from './cluster.ts';
import { commitTxn } from './commit.ts';
import { errorOf, faultOf } from './fault.ts';
import { keySpaceUnder } from './key-space.ts';
import { METHODS } from './messages.ts';
import { CODE, WireError } from './wire.ts';

const NO_SPACE = new WireError(CODE.resourceExhausted, 'etcdserver: mvcc: database space exceeded', true);
const COMMITS: readonly Commit[] = [
  { puts: [{ key: 'events/1', value: 'made' }] },
  { guards: [{ key: 'deployments/web', modRevision: 7 }], puts: [{ key: 'deployments/web', value: 'new' }] },
];

/** An etcd that refuses every transaction for lack of space, and has this record of the deployment. */
function fullEtcd(found: { value: string; modRevision: number } | Error | undefined): EtcdCluster {
  const number = (value: number) => ({ toNumber: () => value });
  const call = async (method: unknown): Promise<unknown> => {
    if (method === METHODS.txn) throw errorOf(faultOf(NO_SPACE, 'etcd'), NO_SPACE);
    if (found instanceof Error) throw found;
    if (found === undefined) return { kvs: [] };
    const { value, modRevision } = found;
    return {
      kvs: [
        { key: 'berth/deployments/web', value, createRevision: number(1), modRevision: number(modRevision) },
      ],
    };
  };
  return { call } as unknown as EtcdCluster;
}

const sent = (found: Parameters<typeof fullEtcd>[0], commits = COMMITS) =>
  commitTxn(fullEtcd(found), keySpaceUnder('berth/'), commits, 1000);

describe('a transaction that is refused for lack of space', () => {
  it('is acknowledged when it was applied all the same', async () => {
    expect(await sent({ value: 'new', modRevision: 9 })).toEqual([
      { ok: true, revision: 9 },
      { ok: true, revision: 9 },
    ]);
  });

  it('is certainly not applied when its record is as before', async () => {
    const refusal = await sent({ value: 'old', modRevision: 7 }).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(KvUnavailableError);
    expect(refusal).toMatchObject({ certainlyNotApplied: true, cause: NO_SPACE });
  });

  it.each([
    ['somebody else wrote the record since', { value: 'other', modRevision: 8 }, COMMITS],
    ['the record is gone', undefined, COMMITS],
    ['etcd does not answer', new Error('no answer'), COMMITS],
    ['no record of it was guarded', { value: 'made', modRevision: 9 }, COMMITS.slice(0, 1)],
  ])('is uncertain when %s', async (_when, found, commits) => {
    const refusal = await sent(found, commits).catch((error: unknown) => error);
    expect(refusal).toMatchObject({ certainlyNotApplied: false, cause: NO_SPACE });
  });
});

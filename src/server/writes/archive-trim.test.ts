import { beforeEach, describe, expect, it } from 'vitest';
import type { TenantId } from '../../core/model/ids.ts';
import { createIds } from '../ids.ts';
import { Journal } from '../journal/journal.ts';
import { archiveId } from '../store/deployment-rows.ts';
import { createMemoryKv } from '../store/memory.ts';
import { Store, type TenantStore } from '../store/store.ts';
import { StoreView } from '../store/view.ts';
import { ArchiveTrim } from './archive-trim.ts';

const SHOP = 'shop' as TenantId;
const ACTOR = { requestId: 'r' };
const clock = { now: () => new Date('2026-01-01T00:00:00Z'), monotonicMs: () => 0 };

let tenant: TenantStore;
let trim: ArchiveTrim;

beforeEach(async () => {
  const kv = createMemoryKv();
  const store = new Store(kv, await StoreView.open(kv, { onProblem: () => undefined }));
  tenant = store.forTenant(SHOP);
  trim = new ArchiveTrim(store, new Journal(clock, createIds(clock)));
});

async function deployment(name: string, versions: number, state: 'living' | 'deleted'): Promise<void> {
  const transaction = tenant.transaction();
  if (state === 'living') transaction.put('deployments', name, { version: versions } as never);
  else transaction.put('last-versions', name, { version: versions });
  for (let version = 1; version <= versions; version += 1)
    transaction.putCold('archives', archiveId(name, version), { version } as never);
  await tenant.commit(transaction);
}

const free = (records: number, bytes = 0, least = { records: 0, bytes: 0 }) =>
  trim.free(SHOP, { records, bytes }, least, ACTOR);

/** Name and how many versions are left of it. */
async function left(): Promise<Readonly<Record<string, number>>> {
  const counts: Record<string, number> = {};
  for (const { id } of (await tenant.rangeCold('archives')).entries) {
    const name = id.slice(0, id.indexOf('/'));
    counts[name] = (counts[name] ?? 0) + 1;
  }
  return counts;
}

describe('history that goes', () => {
  it('is that of the deployment deleted first, oldest version first, and no more than wanted', async () => {
    await deployment('web', 30, 'living');
    await deployment('later', 3, 'deleted');
    await deployment('again', 2, 'deleted');
    await tenant.commit(tenant.transaction().put('last-versions', 'later', { version: 3 }));
    expect((await free(1)).records).toBe(1);
    expect(await left()).toEqual({ web: 30, later: 3, again: 1 });
    expect((await free(3)).records).toBe(3);
    expect(await left()).toEqual({ web: 30, later: 1 });
    const events = (await tenant.rangeCold('events')).entries.map(({ record }) => record);
    expect(events.map(({ kind, subject, details }) => [kind, subject.name, details])).toEqual([
      ['archive.trimmed', 'again', { from: 1, to: 1, versions: 1, deleted: true }],
      ['archive.trimmed', 'again', { from: 2, to: 2, versions: 1, deleted: true }],
      ['archive.trimmed', 'later', { from: 1, to: 2, versions: 2, deleted: true }],
    ]);
    expect((await tenant.rangeCold('audit')).entries).toHaveLength(3);
  });

  it('then that of living ones, down to 16 versions, the longest unchanged first', async () => {
    await deployment('old', 20, 'living');
    await deployment('new', 18, 'living');
    await deployment('small', 16, 'living');
    await deployment('gone', 1, 'deleted');
    expect((await free(6)).records).toBe(6);
    expect(await left()).toEqual({ old: 16, new: 17, small: 16 });
    expect((await free(100)).records).toBe(1);
    expect((await free(1)).records).toBe(0);
    expect(await left()).toEqual({ old: 16, new: 16, small: 16 });
    // One that was written since is looked at again.
    await deployment('old', 17, 'living');
    expect((await free(1)).records).toBe(1);
  });

  it('counts bytes, and is bounded for one write', async () => {
    await deployment('gone', 10, 'deleted');
    const went = await free(0, 30);
    expect([went.records, went.bytes >= 30]).toEqual([3, true]);
    await deployment('many', 2000, 'deleted');
    // 16 commits, into the first of which the rest of the other fits.
    expect((await free(2000)).records).toBe(7 + 16 * 64);
  });

  it('does not go at all when it would not be enough', async () => {
    await deployment('gone', 10, 'deleted');
    expect(await free(20, 0, { records: 11, bytes: 0 })).toEqual({ records: 0, bytes: 0 });
    expect(await left()).toEqual({ gone: 10 });
    expect((await free(20, 0, { records: 10, bytes: 0 })).records).toBe(10);
  });

  it('of many short-lived deployments goes in few commits', async () => {
    for (let at = 0; at < 100; at += 1) await deployment(`short-${at}`, 2, 'deleted');
    expect((await free(200)).records).toBe(200);
    expect([tenant.list('last-versions'), await left()]).toEqual([[], {}]);
  });

  it('takes the number along when nothing of the name is left or runs', async () => {
    await deployment('gone', 2, 'deleted');
    await deployment('runs', 2, 'deleted');
    await tenant.commit(tenant.transaction().put('instances', 'runs/i1', {} as never));
    await free(4);
    expect(tenant.list('last-versions').map(({ id }) => id)).toEqual(['runs']);
    expect(await left()).toEqual({});
    // A name that is used again is a living one.
    await deployment('runs', 1, 'living');
    expect((await free(1)).records).toBe(0);
  });
});

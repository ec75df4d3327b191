import { beforeEach, describe, expect, it } from 'vitest';
import type { DeploymentRecord } from '../../core/model/deployment.ts';
import type { IdKind, TenantId } from '../../core/model/ids.ts';
import type { Principal } from '../access/principal.ts';
import { createIds, lowestAt } from '../ids.ts';
import { archiveId } from '../store/deployment-rows.ts';
import { createMemoryKv } from '../store/memory.ts';
import { Store, type TenantStore } from '../store/store.ts';
import { StoreView } from '../store/view.ts';
import { type Actor, actorName, Journal } from './journal.ts';

const SHOP = 't1' as TenantId;
const PLATFORM = 't0' as TenantId;
const clock = { now: () => new Date('2026-01-01T00:00:00Z'), monotonicMs: () => 0 };
const principal: Principal = { tokenId: 'tok1', kind: 'pat', role: 'deployer', tenantId: SHOP };
const subject = { kind: 'Deployment', name: 'web' } as const;
let tenant: TenantStore;
let journal: Journal;

beforeEach(async () => {
  const kv = createMemoryKv();
  tenant = new Store(kv, await StoreView.open(kv, { onProblem: () => undefined })).forTenant(SHOP);
  journal = new Journal(clock, createIds(clock));
});

async function recorded(kind: 'events' | 'audit' | 'archives') {
  return (await tenant.rangeCold(kind)).entries;
}

describe('the journal', () => {
  it('writes with the change it tells of, or not at all', async () => {
    const transaction = tenant
      .transaction()
      .expect('quota', 'quota', { id: 'quota', record: {}, modRevision: 9, createRevision: 9 })
      .put('quota', 'quota', {});
    journal.event(transaction, SHOP, { kind: 'deployment.created', subject, message: 'm' });
    journal.audit(transaction, SHOP, { requestId: 'r' }, 'deployment.created', subject);
    expect((await tenant.commit(transaction)).ok).toBe(false);
    expect([...(await recorded('events')), ...(await recorded('audit'))]).toEqual([]);
  });

  it('keeps events in the order they were made, within one moment too', async () => {
    for (let index = 0; index < 20; index += 1) {
      const transaction = tenant.transaction();
      journal.event(transaction, SHOP, { kind: 'k', subject, message: String(index) });
      await tenant.commit(transaction);
    }
    const events = await recorded('events');
    expect(events.map(({ record }) => 'message' in record && record.message)).toEqual(
      Array.from({ length: 20 }, (_, index) => String(index)),
    );
    expect(events[0]?.record).toMatchObject({
      tenantId: SHOP,
      subject,
      details: {},
      at: '2026-01-01T00:00:00.000Z',
    });
  });

  it('gives no id of an earlier millisecond than the time that it writes', async () => {
    let ms = Date.parse('2026-01-01T00:00:00Z');
    const running = {
      now: () => {
        ms += 1;
        return new Date(ms);
      },
      monotonicMs: () => 0,
    };
    const late = new Journal(running, createIds(running));
    const transaction = tenant.transaction();
    late.event(transaction, SHOP, { kind: 'k', subject, message: 'm' });
    late.audit(transaction, SHOP, { requestId: 'r' }, 'a', subject);
    await tenant.commit(transaction);
    const begins = async (kind: 'events' | 'audit', ids: IdKind) =>
      (await recorded(kind)).map(({ id, record }) =>
        'at' in record ? id > lowestAt(ids, Date.parse(record.at)) : undefined,
      );
    expect([await begins('events', 'event'), await begins('audit', 'audit')]).toEqual([[true], [true]]);
  });

  it('says who acted, and from which tenant when it is another', async () => {
    const transaction = tenant.transaction();
    journal.audit(transaction, SHOP, { principal, requestId: 'r1' }, 'a', subject);
    journal.audit(
      transaction,
      SHOP,
      { principal: { ...principal, tenantId: PLATFORM }, requestId: 'r2' },
      'b',
      subject,
    );
    journal.audit(transaction, SHOP, { requestId: 'r3' }, 'c', subject);
    await tenant.commit(transaction);
    const lines = (await recorded('audit')).map(({ record }) => record);
    expect(lines[0]).toMatchObject({ actor: 'tok1', role: 'deployer', requestId: 'r1', result: 'accepted' });
    expect(lines[0]).not.toHaveProperty('actorTenantId');
    expect(lines[1]).toMatchObject({ actor: 'tok1', actorTenantId: PLATFORM });
    expect(lines[2]).toMatchObject({ actor: 'system', role: 'system' });
    expect(actorName({ requestId: 'x' })).toBe('system');
  });

  const write = async (actor: Actor, version: number, bytes: number): Promise<void> => {
    const spec = { name: 'web', environment: { A: 'x'.repeat(bytes) } };
    const record = { spec, specHash: 'h', version } as unknown as DeploymentRecord;
    const previous = tenant.get('deployments', 'web')?.record;
    const transaction = tenant.transaction();
    journal.version(transaction, actor, { previous, record, change: 'updated' });
    await tenant.commit(transaction);
  };
  const archived = async () => (await tenant.archives('web')).entries;

  it('keeps fewer versions of large specs, also after many small ones', async () => {
    for (let number = 1; number <= 60; number += 1) await write({ requestId: 'r' }, number, 10);
    expect(await archived()).toHaveLength(60);
    for (let number = 61; number <= 80; number += 1) await write({ requestId: 'r' }, number, 250_000);
    const kept = await archived();
    expect(kept.length).toBeLessThanOrEqual(21);
    expect(kept.length).toBeGreaterThanOrEqual(16);
    expect(kept.at(-1)?.id).toBe(archiveId('web', 80));
  });

  it('keeps archive versions in numerical order, the newest in the record alone', async () => {
    for (const number of [1, 9, 10, 100]) await write({ principal, requestId: 'r' }, number, 1);
    expect((await archived()).map(({ record }) => record.version)).toEqual([1, 9, 10, 100]);
    expect((await tenant.archives('web', { limit: 3 })).entries).toHaveLength(3);
    expect((await recorded('archives')).map(({ id }) => id)).toEqual(
      [1, 9, 10].map((number) => archiveId('web', number)),
    );
    for (const number of [9, 100])
      expect(await tenant.archived('web', number)).toMatchObject({
        version: number,
        by: 'tok1',
        specHash: 'h',
      });
    const after = (number: number) => tenant.archivesText('web', { after: archiveId('web', number) });
    expect((await after(9)).entries).toHaveLength(2);
    expect((await after(100)).entries).toEqual([]);
  });
});

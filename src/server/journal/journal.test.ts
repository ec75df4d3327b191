import { beforeEach, describe, expect, it } from 'vitest';
import type { DeploymentSpec } from '../../core/model/deployment.ts';
import type { IdKind, TenantId } from '../../core/model/ids.ts';
import type { Principal } from '../access/principal.ts';
import { createIds, lowestAt } from '../ids.ts';
import { createMemoryKv } from '../store/memory.ts';
import { Store, type TenantStore } from '../store/store.ts';
import { StoreView } from '../store/view.ts';
import { actorName, archiveId, Journal } from './journal.ts';

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

  it('keeps fewer versions of large specs, also after many small ones', async () => {
    const write = async (number: number, bytes: number): Promise<void> => {
      const transaction = tenant.transaction();
      const spec = { name: 'web', environment: { A: 'x'.repeat(bytes) } } as unknown as DeploymentSpec;
      journal.archive(transaction, { requestId: 'r' }, { number, change: 'updated', spec, specHash: 'h' });
      await tenant.commit(transaction);
    };
    for (let number = 1; number <= 60; number += 1) await write(number, 10);
    expect(await recorded('archives')).toHaveLength(60);
    for (let number = 61; number <= 80; number += 1) await write(number, 250_000);
    const kept = await recorded('archives');
    expect(kept.length).toBeLessThanOrEqual(21);
    expect(kept.length).toBeGreaterThanOrEqual(16);
    expect(kept.at(-1)?.id).toBe(archiveId('web', 80));
  });

  it('keeps archive versions in numerical order', async () => {
    for (const number of [10, 9, 100, 1]) {
      const transaction = tenant.transaction();
      journal.archive(
        transaction,
        { principal, requestId: 'r' },
        { number, change: 'updated', spec: { name: 'web' } as DeploymentSpec, specHash: 'h' },
      );
      await tenant.commit(transaction);
    }
    const versions = (await recorded('archives')).map(({ record }) => 'version' in record && record.version);
    expect(versions).toEqual([1, 9, 10, 100]);
    expect((await tenant.getCold('archives', archiveId('web', 9)))?.record).toMatchObject({
      by: 'tok1',
      specHash: 'h',
    });
  });
});

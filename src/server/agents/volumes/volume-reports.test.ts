import { pino } from 'pino';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Report, VolumeObservation } from '../../../core/protocol/agent-protocol.ts';
import type { NodeName, TenantId, VolumeId } from '../../../core/model/ids.ts';
import type { VolumeRecord } from '../../../core/model/volume.ts';
import { systemClock } from '../../clock.ts';
import { createIds } from '../../ids.ts';
import { Journal } from '../../journal/journal.ts';
import { idOf } from '../../store/record-ids.ts';
import type { Kv } from '../../store/kv.ts';
import { createMemoryKv } from '../../store/memory.ts';
import { Store } from '../../store/store.ts';
import { StoreView } from '../../store/view.ts';
import { PlacedVolumes } from '../assignments/placed-volumes.ts';
import type { AgentSession } from '../sessions/session.ts';
import { VolumeReports } from './volume-reports.ts';
import { NO_VOLUME_SIGNS } from '../../../../test/support/samples/volume-signs.ts';

const SHOP = '11111111-1111-4111-8111-111111111111' as TenantId;
const BANK = '22222222-2222-4222-8222-222222222222' as TenantId;
/** As etcd's `--max-txn-ops`. */
const MAX_OPERATIONS = 128;

let kv: Kv;
let store: Store;
let reports: VolumeReports;
let refused = 0;

function volume(tenantId: TenantId, id: string): VolumeRecord {
  return {
    id: id as VolumeId,
    tenantId,
    name: id,
    class: 'ephemeral',
    type: 'volume',
    phase: 'Ready',
    sizeBytes: 1,
    primaryNodeId: 'n' as NodeName,
    copies: 0,
    replicas: [],
    leaving: [],
    accessMode: 'ReadWriteOnce',
    epoch: 1,
    leaseMs: 1000,
    createdAt: '',
  };
}

beforeEach(async () => {
  kv = createMemoryKv();
  const commit = kv.commit.bind(kv);
  kv.commit = async (asked) => {
    const { guards = [], puts = [], deletes = [] } = asked;
    if (guards.length > MAX_OPERATIONS || puts.length + deletes.length > MAX_OPERATIONS) {
      refused += 1;
      throw new Error('etcdserver: too many operations in txn request');
    }
    return commit(asked);
  };
  refused = 0;
  store = new Store(kv, await StoreView.open(kv, { onProblem: () => undefined }));
  const placed = new PlacedVolumes(store.view);
  reports = new VolumeReports({
    store,
    placed,
    journal: new Journal(systemClock, createIds(systemClock)),
    clock: systemClock,
    signs: NO_VOLUME_SIGNS,
    log: pino({ enabled: false }),
  });
});

afterEach(async () => {
  reports.close();
  await kv.close();
});

async function stored(tenantId: TenantId, ids: readonly string[]): Promise<void> {
  const tenant = store.forTenant(tenantId);
  for (const id of ids)
    await tenant.commit(tenant.transaction().put('volumes', idOf('volumes', id), volume(tenantId, id)));
  await vi.waitFor(() => expect(tenant.list('volumes')).toHaveLength(ids.length));
}

function say(
  tenantId: TenantId,
  ids: readonly string[],
  diverged: number,
  measured: Pick<VolumeObservation, 'usedBytes' | 'sizeBytes' | 'copies'> = {},
): void {
  const session = { identity: { tenantId, node: 'n', epoch: 1 }, generation: 1 } as unknown as AgentSession;
  const kept = Array.from({ length: diverged }, (_, epoch) => ({ epoch, path: `/d/${epoch}` }));
  const report = {
    type: 'report',
    epoch: 1,
    generation: 1,
    volumes: ids.map((volumeId) => ({
      volumeId,
      role: 'primary',
      epoch: 1,
      state: 'ready',
      ...measured,
      ...(diverged > 0 && { diverged: kept }),
    })),
  } as unknown as Report;
  reports.take(session, report, 0);
}

it('stores what every tenant says, also beside a node that says far too much', async () => {
  const many = Array.from({ length: 50 }, (_, index) => `vol_${index}`);
  await stored(SHOP, many);
  await stored(BANK, ['vol_b']);
  say(SHOP, many, 256);
  say(BANK, ['vol_b'], 0);
  const seen = (tenantId: TenantId) => store.forTenant(tenantId).list('volume-observations');
  await vi.waitFor(() => expect(seen(BANK)).toHaveLength(1));
  await vi.waitFor(() => expect(seen(SHOP)).toHaveLength(many.length));
  expect(refused).toBe(0);
});

it('stores at once that a copy is far behind, and that its age is not known any more', async () => {
  await stored(SHOP, ['vol_a']);
  const seen = () => store.forTenant(SHOP).list('volume-observations')[0]?.record.copies?.[0];
  for (const age of [{ ageMs: 500 }, {}, { ageMs: 600 }, { ageMs: 60_001 }]) {
    say(SHOP, ['vol_a'], 0, { copies: [{ nodeId: 'n2', state: 'live', ...age }] });
    await vi.waitFor(() => expect(seen()).toEqual({ nodeId: 'n2', state: 'live', ...age }));
  }
});

it('tells once that a volume is nearly full, and once that it has room again', async () => {
  await stored(SHOP, ['vol_a']);
  const tenant = store.forTenant(SHOP);
  const told = async () =>
    (await tenant.rangeCold('events')).entries.map(({ record: { kind, details } }) => [
      kind,
      details['usedBytes'],
    ]);
  const seen = () => tenant.list('volume-observations')[0]?.record;
  const FULL = ['volume.nearly_full', 91];
  const ROOM = ['volume.has_room', 85];
  say(SHOP, ['vol_a'], 0, { sizeBytes: 100, usedBytes: 90 });
  await vi.waitFor(() => expect(seen()?.usedBytes).toBe(90));
  expect(await told()).toEqual([]);
  say(SHOP, ['vol_a'], 0, { sizeBytes: 100, usedBytes: 91 });
  await vi.waitFor(async () => expect(await told()).toEqual([FULL]));
  // About the mark, and not measured at all: nothing new.
  for (const usedBytes of [89, 95, 86]) say(SHOP, ['vol_a'], 0, { sizeBytes: 100, usedBytes });
  say(SHOP, ['vol_a'], 0);
  say(SHOP, ['vol_a'], 0, { sizeBytes: 100, usedBytes: 85 });
  await vi.waitFor(async () => expect(await told()).toEqual([FULL, ROOM]));
  expect(seen()).not.toHaveProperty('nearlyFull');
});

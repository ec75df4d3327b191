import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Report } from '../../../core/protocol/agent-protocol.ts';
import type { TenantId } from '../../../core/model/ids.ts';
import type { InstanceObservation, InstanceRecord } from '../../../core/model/instance.ts';
import type { VolumeRecord } from '../../../core/model/volume.ts';
import { systemClock } from '../../clock.ts';
import { createIds } from '../../ids.ts';
import { Journal } from '../../journal/journal.ts';
import type { Kv } from '../../store/kv.ts';
import { createMemoryKv } from '../../store/memory.ts';
import { Store } from '../../store/store.ts';
import { StoreView } from '../../store/view.ts';
import { PlacedInstances } from '../assignments/placed-instances.ts';
import { PlacedVolumes } from '../assignments/placed-volumes.ts';
import { Reports } from '../reports/reports.ts';
import type { AgentSession } from './session.ts';
import { VolumeReports } from '../volumes/volume-reports.ts';
import { NO_VOLUME_SIGNS } from '../../../../test/support/samples/volume-signs.ts';

/** Two control planes on one store: what the first one heard last is stored only while its session is the newest. */

const SHOP = '11111111-1111-4111-8111-111111111111' as TenantId;
const journal = new Journal(systemClock, createIds(systemClock));
const log = pino({ enabled: false });

class Plane {
  readonly store: Store;
  readonly reports: Reports;
  readonly volumes: VolumeReports;

  constructor(store: Store) {
    this.store = store;
    this.reports = new Reports({ store, placed: new PlacedInstances(store.view), journal, log });
    this.volumes = new VolumeReports({
      store,
      placed: new PlacedVolumes(store.view),
      journal,
      clock: systemClock,
      signs: NO_VOLUME_SIGNS,
      log,
    });
  }

  hear(epoch: number, message: string): void {
    const session = {
      identity: { tenantId: SHOP, node: 'n', epoch, tokenId: '', publicKey: '' },
      key: 'k',
      generation: 1,
    } as unknown as AgentSession;
    const report = {
      type: 'report',
      epoch,
      generation: 1,
      observations: [{ id: 'i', phase: 'running', message }],
      volumes: [{ volumeId: 'vol_1', role: 'primary', epoch: 1, state: 'ready', message }],
    } as unknown as Report;
    this.reports.take(session, report);
    this.volumes.take(session, report, 0);
  }

  get said(): readonly (string | undefined)[] {
    const tenant = this.store.forTenant(SHOP);
    const observation: InstanceObservation | undefined = tenant.get('observations', 'web/i')?.record;
    const seen = tenant.get('volume-observations', 'vol_1/n')?.record as { message?: string } | undefined;
    return [(observation as { message?: string } | undefined)?.message, seen?.message];
  }

  close(): void {
    this.reports.close();
    this.volumes.close();
    this.store.view.close();
  }
}

let kv: Kv;
let first: Plane;
let second: Plane;
/** The first process is stopped: its commits leave it, and what others store reaches it, only when it goes on. */
let stopped: PromiseWithResolvers<void> | undefined;

beforeEach(async () => {
  kv = createMemoryKv();
  stopped = undefined;
  const held: Kv = {
    ...kv,
    commit: async (commit) => {
      await stopped?.promise;
      return kv.commit(commit);
    },
    watch: (prefix, after, handlers) =>
      kv.watch(prefix, after, {
        ...handlers,
        onBatch: (batch) => {
          if (stopped === undefined) handlers.onBatch(batch);
          // After what was on its way, as the worst case is.
          else void stopped.promise.then(() => setTimeout(() => handlers.onBatch(batch), 10));
        },
      }),
  };
  const open = async (one: Kv) =>
    new Plane(new Store(one, await StoreView.open(one, { onProblem: () => undefined })));
  first = await open(held);
  second = await open(kv);
  const tenant = second.store.forTenant(SHOP);
  const instance = { id: 'i', deployment: 'web', nodeId: 'n', wanted: 'run' } as unknown as InstanceRecord;
  const volume = {
    id: 'vol_1',
    name: 'v',
    primaryNodeId: 'n',
    replicas: [],
    leaving: [],
    epoch: 1,
  } as unknown as VolumeRecord;
  await tenant.commit(
    tenant
      .transaction()
      .put('instances', 'web/i', instance)
      .put('volumes', 'vol_1', volume)
      .put('node-sessions', 'n', { controlPlane: 'cp_1', epoch: 1 }),
  );
});

afterEach(async () => {
  first.close();
  second.close();
  await kv.close();
});

describe('what an agent said in a session with one control plane', () => {
  it('is stored, also after that session closed', async () => {
    first.hear(1, 'said at first');
    await vi.waitFor(() => expect(second.said).toEqual(['said at first', 'said at first']));
    const tenant = second.store.forTenant(SHOP);
    const closed = { controlPlane: 'cp_1', epoch: 1, closed: { silentMs: 5 } };
    stopped = Promise.withResolvers();
    first.hear(1, 'its last words');
    await tenant.commit(tenant.transaction().put('node-sessions', 'n', closed));
    stopped.resolve();
    await vi.waitFor(() => expect(second.said).toEqual(['its last words', 'its last words']));
  });

  it('does not hide what it said later in a session with another', async () => {
    first.hear(1, 'said at first');
    await vi.waitFor(() => expect(second.said).toEqual(['said at first', 'said at first']));
    stopped = Promise.withResolvers();
    first.hear(1, 'old');
    // In the queue of a process that is stopped; its agent has gone to the other one.
    await new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
    const tenant = second.store.forTenant(SHOP);
    await tenant.commit(tenant.transaction().put('node-sessions', 'n', { controlPlane: 'cp_2', epoch: 2 }));
    second.hear(2, 'new');
    await vi.waitFor(() => expect(second.said).toEqual(['new', 'new']));
    stopped.resolve();
    await vi.waitFor(() => expect(first.said).toEqual(['new', 'new']));
    // Time for a second attempt of what was refused.
    await new Promise((resolve) => setTimeout(resolve, 200));
    expect(second.said).toEqual(['new', 'new']);
  });
});

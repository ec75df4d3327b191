import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { SeenVolume } from '../../../core/contract/volume-seen.ts';
import type { NodeName, VolumeId } from '../../../core/model/ids.ts';
import type { VolumeRecord } from '../../../core/model/volume.ts';
import { idOf } from '../../store/record-ids.ts';
import type { Kv } from '../../store/kv.ts';
import type { Transaction } from '../../store/transaction.ts';
import { Simulation, TENANT } from '../../../../test/support/simulation/controllers.ts';

const ID = 'vol_1';
const n = (name: string): NodeName => name as NodeName;
let sim: Simulation;

beforeEach(async () => {
  sim = await Simulation.start();
  for (const name of ['n1', 'n2', 'n3']) await sim.alterNode(name, { volumeEngines: ['btrfs'] });
});
afterEach(() => sim.stop());

function seen(fields: Partial<SeenVolume>): SeenVolume {
  return { volumeId: ID, role: 'replica', epoch: 1, state: 'ready', measuredAt: '', ...fields };
}

/** Primary on n1, a live copy on n2. */
async function copied(leaseMs = 15_000): Promise<void> {
  const record: VolumeRecord = {
    id: ID as VolumeId,
    tenantId: TENANT,
    name: 'data',
    class: 'replicated',
    type: 'volume',
    phase: 'Ready',
    sizeBytes: 2 ** 30,
    primaryNodeId: n('n1'),
    copies: 1,
    replicas: [{ nodeId: n('n2'), state: 'live' }],
    leaving: [],
    accessMode: 'ReadWriteOnce',
    epoch: 1,
    leaseMs,
    createdAt: sim.time.now().toISOString(),
  };
  const primary = seen({ role: 'primary', copies: [{ nodeId: 'n2', state: 'live', ageMs: 500 }] });
  const replica = seen({ copy: { epoch: 1, sequence: 3, takenAt: '2026-01-01T00:00:00.000Z' } });
  await sim.write((transaction) =>
    transaction
      .put('volumes', ID, record)
      .put('volume-observations', idOf('volume-observations', ID, 'n1'), primary)
      .put('volume-observations', idOf('volume-observations', ID, 'n2'), replica),
  );
  await sim.settle();
}

const volume = (): VolumeRecord | undefined => sim.tenant.get('volumes', ID)?.record;

/** Until the volume has its second epoch; answers how long that took. */
async function promotedAfter(limitMs: number): Promise<number> {
  const startMs = sim.time.monotonicMs();
  while (volume()?.epoch === 1) {
    if (sim.time.monotonicMs() - startMs > limitMs) throw new Error('not promoted');
    await sim.advance(250);
  }
  return sim.time.monotonicMs() - startMs;
}

/** What happens right before the first promotion is stored; answers whether it has. */
function beforePromotion(
  happens: (store: (change: Transaction) => Promise<unknown>) => Promise<unknown>,
): () => boolean {
  const { kv } = sim;
  const commit = kv.commit.bind(kv);
  let raced = false;
  (kv as { commit: Kv['commit'] }).commit = async (one) => {
    if (!raced && (one.puts?.some(({ value }) => value.includes('"epoch":2,')) ?? false)) {
      raced = true;
      await happens((change) => commit(change.toCommit()));
    }
    return commit(one);
  };
  return () => raced;
}

describe('a drain', () => {
  const at = () => sim.tenant.list('instances').map(({ record }) => [record.nodeId, record.wanted]);
  const say = (fields: Partial<SeenVolume>) =>
    sim.write((transaction) =>
      transaction.put(
        'volume-observations',
        idOf('volume-observations', ID, 'n1'),
        seen({ role: 'primary', ...fields }),
      ),
    );

  beforeEach(async () => {
    await sim.alterNode('n1', { features: ['volume_seal'] });
    await copied();
    await sim.write((transaction) => transaction.put('volume-claims', ID, { writer: 'db', readers: [] }));
    await sim.apply({
      name: 'db',
      volumes: [{ volumeId: ID, mountPath: '/data', readOnly: false }] as never,
    });
    await sim.advance(30_000);
    expect(at()).toEqual([['n1', 'run']]);
  });

  it('moves a volume with its writer, which stops before the last copy and starts after the promotion', async () => {
    await sim.alterNode('n1', { draining: true, schedulable: false });
    await sim.settle();
    expect(volume()).toMatchObject({
      primaryNodeId: 'n1',
      epoch: 1,
      switchover: { to: 'n2', step: 'copying' },
    });
    expect(at()).toEqual([]);
    const replaced = (await sim.events('instance.replaced')).map(({ message }) => message);
    expect(replaced).toEqual([expect.stringContaining('is replaced: its volume moves to another node')]);
    expect(sim.tenant.get('deployment-status', 'db')?.record.message).toContain('waiting for volume data');
    await say({ state: 'preparing', sealed: { attempt: 1, sequence: 4, on: ['n2'] } });
    await sim.advance(5000);
    expect(volume()).toMatchObject({ primaryNodeId: 'n2', epoch: 2 });
    expect(at()).toEqual([['n2', 'run']]);
    expect(await sim.events('node.drained')).toHaveLength(1);
  });

  it('leaves the volume and its writer where they were when it is ended in the middle', async () => {
    await sim.alterNode('n1', { draining: true, schedulable: false });
    await sim.settle();
    expect(at()).toEqual([]);
    await sim.alterNode('n1', { draining: false, schedulable: true });
    await sim.advance(5000);
    expect(volume()).toMatchObject({ primaryNodeId: 'n1', epoch: 1 });
    expect(volume()?.switchover).toBeUndefined();
    expect(at()).toEqual([['n1', 'run']]);
  });

  it('goes back to the old writer when the last copy is not made in time, also over a start of the control plane', async () => {
    await sim.alterNode('n1', { draining: true, schedulable: false });
    await sim.settle();
    await sim.restart();
    expect(volume()?.switchover?.step).toBe('copying');
    await sim.advance(31_000);
    expect(volume()).toMatchObject({ primaryNodeId: 'n1', epoch: 1, switchoverFailed: { to: 'n2' } });
    // The writer is back, and the drain leaves it alone.
    await sim.advance(60_000);
    expect(at()).toEqual([['n1', 'run']]);
    expect((await sim.events('volume.switchover_failed'))[0]?.message).toContain('last copy');
    // What was said for this move does not count for a later one.
    await say({ state: 'preparing', sealed: { attempt: 1, sequence: 4, on: ['n2'] } });
    await sim.advance(5000);
    expect(volume()).toMatchObject({ primaryNodeId: 'n1', epoch: 1 });
  });
});

describe('a promotion', () => {
  it('comes a lease and its margin after the last report that was answered', async () => {
    await sim.advance(60_000);
    await copied(30_000);
    sim.cut('n1');
    // The node is heard no more, but a report of it that was on its way was answered eight seconds later.
    await sim.advance(8000);
    sim.controllers.volumeSigns.leased(TENANT, n('n1'), sim.time.monotonicMs());
    const tookMs = await promotedAfter(60_000);
    expect(tookMs).toBeGreaterThanOrEqual(40_000);
    expect(tookMs).toBeLessThanOrEqual(41_000);
    expect(volume()).toMatchObject({ primaryNodeId: 'n2', epoch: 2 });
  });

  it('waits a whole lease after a start of the control plane, which does not know what was answered before', async () => {
    await sim.advance(60_000);
    await copied(45_000);
    sim.cut('n1');
    await sim.advance(14_000);
    const spans = { failedAfterMs: 15_000, replaceAfterMs: 300_000, startGraceMs: 1000, settleMs: 1000 };
    await sim.restart({ spans });
    const tookMs = await promotedAfter(120_000);
    expect(tookMs).toBeGreaterThanOrEqual(60_000);
    expect(tookMs).toBeLessThanOrEqual(61_500);
    const [event] = await sim.events('volume.promoted');
    expect(event?.details['lossBoundSeconds']).toBeNull();
  });

  it('gives the old primary no lease from its judgement until it is stored', async () => {
    await sim.advance(60_000);
    await copied();
    const { kv } = sim;
    const commit = kv.commit.bind(kv);
    let release: () => void = () => undefined;
    let held = false;
    const stored = new Promise<void>((resolve) => {
      release = resolve;
    });
    (kv as { commit: Kv['commit'] }).commit = async (one) => {
      if (one.puts?.some(({ value }) => value.includes('"epoch":2,')) ?? false) {
        held = true;
        await stored;
      }
      return commit(one);
    };
    const { volumeSigns } = sim.controllers;
    expect(volumeSigns.mayLease(TENANT, n('n1'))).toBe(true);
    sim.cut('n1');
    const advancing = sim.advance(40_000);
    while (!held) await new Promise((resolve) => setImmediate(resolve));
    expect(volumeSigns.mayLease(TENANT, n('n1'))).toBe(false);
    expect(volumeSigns.mayLease(TENANT, n('n2'))).toBe(true);
    release();
    await advancing;
    expect(volume()?.primaryNodeId).toBe('n2');
    expect(volumeSigns.mayLease(TENANT, n('n1'))).toBe(true);
  });

  it('is followed by the writer at once, and by a stop of the old one', async () => {
    await sim.advance(60_000);
    await copied();
    const volumes = [{ volumeId: ID, mountPath: '/data', readOnly: false }];
    await sim.write((transaction) => transaction.put('volume-claims', ID, { writer: 'app', readers: [] }));
    await sim.apply({ name: 'app', replicas: 1, volumes });
    await sim.advance(20_000);
    expect(sim.wanted('app').map(({ nodeId }) => nodeId)).toEqual(['n1']);
    sim.cut('n1');
    const tookMs = await promotedAfter(40_000);
    await sim.advance(250);
    expect(tookMs).toBeLessThan(30_000);
    expect(sim.wanted('app').map(({ nodeId }) => nodeId)).toEqual(['n2']);
    expect(sim.instances('app').map(({ nodeId, wanted }) => [nodeId, wanted])).toContainEqual(['n1', 'stop']);
  });
});

describe('among several control planes', () => {
  const self = 'cp_self';
  const other = { nodeName: 'elsewhere', startedAt: '', version: '', url: '', agentUrl: '' };

  /** n1 is connected to another process. */
  async function elsewhere(): Promise<void> {
    await sim.restart({ controlPlane: self });
    await sim.write((transaction) =>
      transaction
        .putGlobal('control-planes', 'cp_other', other)
        .put('node-sessions', 'n1', { controlPlane: 'cp_other', epoch: 1 }),
    );
    sim.cut('n1');
    await sim.advance(120_000);
    await copied();
  }

  it('a session with another one is leased there for as long as it is open', async () => {
    await elsewhere();
    await sim.advance(300_000);
    expect(volume()).toMatchObject({ primaryNodeId: 'n1', epoch: 1 });
  });

  it('its lease is counted from its last sign of life when it closes', async () => {
    await elsewhere();
    const closed = { silentMs: 15_000 };
    await sim.write((transaction) =>
      transaction.put('node-sessions', 'n1', { controlPlane: 'cp_other', epoch: 1, closed }),
    );
    const tookMs = await promotedAfter(60_000);
    expect(tookMs).toBeGreaterThanOrEqual(5000);
    expect(tookMs).toBeLessThanOrEqual(7000);
  });

  it('and from when its process was seen to be gone when it says nothing', async () => {
    await elsewhere();
    await sim.write((transaction) => transaction.deleteGlobal('control-planes', 'cp_other'));
    const tookMs = await promotedAfter(60_000);
    expect(tookMs).toBeGreaterThanOrEqual(20_000);
    expect(tookMs).toBeLessThanOrEqual(22_000);
  });

  it('a tenant that is taken over waits a whole lease: nobody knows what was answered before', async () => {
    await sim.advance(60_000);
    await copied(60_000);
    sim.cut('n1');
    await sim.advance(10_000);
    sim.controllers.abandon(TENANT);
    sim.controllers.adopt(TENANT);
    const tookMs = await promotedAfter(200_000);
    expect(tookMs).toBeGreaterThanOrEqual(80_000);
  });

  it('one that others may think has ended gives no leases', async () => {
    let certain = true;
    await sim.restart({ controlPlane: self, certain: () => certain });
    expect(sim.controllers.volumeSigns.mayLease(TENANT, n('n1'))).toBe(true);
    certain = false;
    expect(sim.controllers.volumeSigns.mayLease(TENANT, n('n1'))).toBe(false);
  });

  it('a process that comes back with its sessions while the promotion is being stored is judged anew', async () => {
    await elsewhere();
    // It was cut off from the store past its lease; its agents stayed with it.
    const hasRaced = beforePromotion((store) =>
      store(sim.tenant.transaction().putGlobal('control-planes', 'cp_other', other)),
    );
    await sim.write((transaction) => transaction.deleteGlobal('control-planes', 'cp_other'));
    await sim.advance(60_000);
    expect(hasRaced()).toBe(true);
    expect(volume()).toMatchObject({ primaryNodeId: 'n1', epoch: 1 });
  });

  it('a session that opens while the promotion is being stored is judged anew', async () => {
    await sim.advance(60_000);
    await copied();
    const hasRaced = beforePromotion(async (store) => {
      const stored = sim.tenant.get('nodes', 'n1');
      if (stored === undefined) throw new Error('n1 is gone');
      const record = { ...stored.record, sessionEpoch: stored.record.sessionEpoch + 1 };
      await store(sim.tenant.transaction().put('nodes', 'n1', record));
      sim.connect('n1');
    });
    sim.cut('n1');
    await sim.advance(60_000);
    expect(hasRaced()).toBe(true);
    expect(volume()).toMatchObject({ primaryNodeId: 'n1', epoch: 1 });
  });
});

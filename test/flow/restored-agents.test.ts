import { cpSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { instanceId } from '../../src/core/model/ids.ts';
import { loadConfig } from '../../src/server/config.ts';
import { makeBackup } from '../../src/server/recovery/backup.ts';
import { restoreBackup } from '../../src/server/recovery/restore.ts';
import { type Etcd, startEtcd } from '../support/harness/etcd.ts';
import { BEAT_MS, FENCED_MS, primary, PromotionStage, replica } from '../support/harness/promotion-stage.ts';
import { dialVolumeAgent, type VolumeAgent, volumeOnce } from '../support/agents/volume-agent.ts';

const folder = mkdtempSync(join(tmpdir(), 'berth-restored-'));
const dataDir = (name: string): readonly string[] => ['--data-dir', join(folder, name)];
const stages: PromotionStage[] = [];
let etcd: Etcd | undefined;
afterAll(async () => {
  for (const stage of stages) await stage.close();
  await etcd?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const STORES = {
  SQLite: () => Promise.resolve({}),
  etcd: async (name: string) => {
    etcd ??= await startEtcd();
    return {
      BERTH_STORE_KIND: 'etcd',
      BERTH_STORE_ETCD_ENDPOINTS: etcd.endpoints.join(),
      BERTH_STORE_ETCD_PREFIX: `/${name}/`,
    };
  },
} as const satisfies Record<string, (name: string) => Promise<Readonly<Record<string, string>>>>;

async function started(name: string, store: Readonly<Record<string, string>>): Promise<PromotionStage> {
  const stage = await PromotionStage.start(store, dataDir(name));
  stages.push(stage);
  return stage;
}

const leases = ({ agent }: VolumeAgent): number =>
  agent.received.filter(({ type }) => type === 'lease').length;
const orders = ({ agent }: VolumeAgent): number =>
  agent.received.filter(({ type }) => type === 'assignment').length;

const passphrase = 'a passphrase of this test';
const { signal } = new AbortController();

const KINDS: readonly (keyof typeof STORES)[] = ['SQLite', 'etcd'];

describe.each(KINDS)('a backup that is restored to %s under agents that live', (kind) => {
  it('holds them, lets no earlier lease write, tells what it lost, and orders under epochs that nobody had', async () => {
    const [before, after] = [`first-${kind}`, `second-${kind}`];
    const [from, into] = [await STORES[kind](before), await STORES[kind](after)];
    const first = await started(before, from);
    const tenant = await first.plane.tenant('restored');
    const one = await first.node(tenant, 'restored-1');
    const two = await first.node(tenant, 'restored-2');
    const id = await first.volume(tenant, 'data', [one, two]);
    // A lease is a node's: for this volume the second has one all the time.
    const other = await first.volume(tenant, 'other', [two, one]);
    const to = join(folder, `${kind}.backup`);
    const config = loadConfig(dataDir(before), from);
    await makeBackup({ config, to, passphrase, signal, cost: 1024 });

    // What the backup does not know: the copy has taken over.
    one.die();
    await volumeOnce(tenant.call, id, ({ epoch }) => epoch === 2);
    two.volumes = [primary(id, 2), primary(other, 1)];
    await first.close();
    stages.length = 0;

    const restoredMs = Date.now();
    const done = await restoreBackup({
      config: loadConfig(dataDir(after), into),
      from: to,
      passphrase,
      signal,
    });
    expect(done.nodes).toEqual(['restored-1', 'restored-2']);
    const beganMs = performance.now();
    const second = await started(after, into);
    const call = second.plane.as(tenant.token);
    const again = { id: tenant.id, call };
    const dialled = async ({ identity }: VolumeAgent): Promise<VolumeAgent> => {
      const agent = await dialVolumeAgent(second.flow, again, { ...identity, url: second.plane.url });
      second.keep(agent);
      agent.beatEvery(BEAT_MS);
      return agent;
    };
    const [old, promoted] = [await dialled(one), await dialled(two)];
    expect(old.agent.epoch).toBeGreaterThan(restoredMs);
    old.volumes = [primary(id, 1), replica(other, 1, 1)];
    promoted.volumes = [primary(id, 2), primary(other, 1)];
    promoted.agent.send({
      type: 'report',
      epoch: promoted.agent.epoch,
      generation: 1,
      full: true,
      observations: [
        { id: instanceId('inst_later'), phase: 'running', containerId: 'c1', containerName: 'berth-later-1' },
      ],
      beat: 1_000,
      volumes: promoted.volumes,
    });
    const told = await second.event(again, 'restored-2', 'node.not_in_store');
    expect(told.details).toMatchObject({ unknown: ['berth-later-1'], volumes: [] });
    expect((await second.event(again, 'restored-1', 'node.orders_held')).message).toContain(
      'restored from a backup',
    );

    // Whom the store has write it goes on; who was promoted since does not.
    const beat = old.report();
    await old.lease(beat);
    const leasesBefore = leases(promoted);
    promoted.report();
    await old.lease(old.report());
    expect([leasesBefore, leases(promoted)]).toEqual([0, 0]);
    expect([orders(old), orders(promoted)]).toEqual([0, 0]);

    // Orders come when leases of before the restore have certainly ended.
    expect((await call('POST', '/api/v1/nodes/restored-1/uncordon')).status).toBe(200);
    expect(performance.now() - beganMs).toBeGreaterThanOrEqual(FENCED_MS);
    const ordered = await old.assignment(({ volumes }) => volumes !== undefined);
    const raised = ordered.volumes?.find((volume) => volume.id === id)?.epoch ?? 0;
    expect(raised).toBeGreaterThan(restoredMs);
    expect(ordered.volumes).toContainEqual(expect.objectContaining({ id, role: 'primary', epoch: raised }));
    expect(leases(promoted)).toBe(0);
    expect((await call('POST', '/api/v1/nodes/restored-2/uncordon')).status).toBe(200);
    const demoted = await promoted.assignment(({ volumes }) => volumes !== undefined);
    expect(demoted.volumes).toContainEqual(expect.objectContaining({ id, role: 'replica', epoch: raised }));

    // Moved under this store, and then the same backup once more: no agent knows a newer epoch than it.
    const last = `third-${kind}`;
    const lastInto = await STORES[kind](last);
    await second.close();
    stages.length = 0;
    await restoreBackup({ config: loadConfig(dataDir(last), lastInto), from: to, passphrase, signal });
    const third = await started(last, lastInto);
    await volumeOnce(third.plane.as(tenant.token), id, ({ epoch }) => epoch > raised + 1);
  }, 60_000);
});

describe('an older copy of the folder that is put back', () => {
  it('says what becomes of volumes that moved, and is restored from a backup of itself under epochs that nobody had', async () => {
    const name = 'copied';
    const stop = async (stage: PromotionStage): Promise<void> => {
      await stage.close();
      stages.length = 0;
    };
    const store = join(folder, name, 'store');
    const copy = join(folder, 'copy');
    const first = await started(name, {});
    const tenant = await first.plane.tenant('copied');
    const one = await first.node(tenant, 'copied-1');
    const two = await first.node(tenant, 'copied-2');
    const id = await first.volume(tenant, 'data', [one, two]);
    await stop(first);
    cpSync(store, copy, { recursive: true });

    const second = await started(name, {});
    const dialled = async (
      stage: PromotionStage,
      { identity, volumes }: VolumeAgent,
    ): Promise<VolumeAgent> => {
      const again = { id: tenant.id, call: stage.plane.as(tenant.token) };
      const agent = await dialVolumeAgent(stage.flow, again, { ...identity, url: stage.plane.url });
      agent.volumes = volumes;
      stage.keep(agent);
      agent.beatEvery(BEAT_MS);
      return agent;
    };
    const [old, promoted] = [await dialled(second, one), await dialled(second, two)];
    await old.lease(old.report());
    old.die();
    await volumeOnce(second.plane.as(tenant.token), id, ({ epoch }) => epoch === 2);
    const { asOf } = await promoted.assignment(
      ({ volumes }) => volumes?.some((volume) => volume.id === id && volume.epoch === 2) ?? false,
    );
    await stop(second);

    rmSync(store, { recursive: true });
    cpSync(copy, store, { recursive: true });
    const third = await started(name, {});
    const call = third.plane.as(tenant.token);
    const held = third.flow.dial({ ...two.identity, url: third.plane.url });
    await held.welcome({ ...(asOf && { seen: asOf }) });
    const told = await third.event({ id: tenant.id, call }, 'copied-2', 'node.orders_held');
    expect(told.message).toContain('Replicated volumes that were promoted or moved since');
    await volumeOnce(call, id, ({ epoch }) => epoch === 1);
    await stop(third);

    const to = join(folder, 'copied.backup');
    await makeBackup({ config: loadConfig(dataDir(name), {}), to, passphrase, signal, cost: 1024 });
    const config = loadConfig(dataDir('copied-again'), {});
    const { nodes } = await restoreBackup({ config, from: to, passphrase, signal });
    expect(nodes).toEqual(['copied-1', 'copied-2']);
    const fourth = await started('copied-again', {});
    await volumeOnce(fourth.plane.as(tenant.token), id, ({ epoch }) => epoch > 2);
  }, 60_000);
});

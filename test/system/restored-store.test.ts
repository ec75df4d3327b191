import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { spawnSync } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { LONG_TIER } from '../support/fault-tier.ts';
import { always, type Cluster, startCluster, type Tenant } from '../support/harness/cluster.ts';
import { ensurePackages } from '../support/harness/packages.ts';
import { BERTH } from '../support/harness/program.ts';
import { PROMOTED_MS, VolumeStage } from '../support/harness/volume-stage.ts';

/**
 * A backup is restored while agents with real engines live, after a copy of a volume was promoted and a deployment was made that the backup
 * knows nothing of. `test/flow/restored-agents.test.ts` has the same with scripted agents, in every run.
 */
const WATCHED_MS = 6_000;
const LEASE_MS = 2_000;
const folder = mkdtempSync(join(tmpdir(), 'berth-restored-'));
const passphrase = join(folder, 'passphrase');
let cluster: Cluster;
let shop: Tenant;
let stage: VolumeStage;

describe.runIf(LONG_TIER)('a backup that is restored under live agents', () => {
  beforeAll(async () => {
    ensurePackages(['btrfs-progs', 'e2fsprogs', 'mount']);
    writeFileSync(passphrase, 'correct horse battery\n', { mode: 0o600 });
    // What ran on the node that is cut off is not replaced meanwhile.
    cluster = await startCluster({
      BERTH_DVM_LEASE: `${LEASE_MS}ms`,
      BERTH_TIMERS_REPLACE_AFTER: '5m',
    });
    shop = await cluster.plane.tenant('shop');
    for (const name of ['n1', 'n2', 'n3']) await cluster.node(name, shop);
    stage = new VolumeStage(cluster, shop);
  }, 300_000);
  afterAll(async () => {
    await cluster?.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  function type(...words: readonly string[]): string {
    const { dataDir } = cluster.plane;
    const all = ['server', ...words, '--data-dir', dataDir, '--passphrase-file', passphrase];
    const { status, stdout, stderr } = spawnSync(BERTH, all, { encoding: 'utf8' });
    expect(status, stderr).toBe(0);
    return stdout;
  }

  it('touches no container, tells what it lost, and has one writer at any moment', async () => {
    await cluster.deploy(shop, { name: 'kept', replicas: 3 });
    await cluster.phase(shop, 'kept', 'Running');
    const { id, primary } = await stage.written('db');
    const backup = join(folder, 'one.backup');
    type('backup', '--to', backup);

    // What the backup does not know.
    await cluster.deploy(shop, { name: 'later', replicas: 3 });
    await cluster.phase(shop, 'later', 'Running');
    const old = stage.nodeOf(primary);
    old.cut();
    const promoted = await stage.promotedFrom(id, primary);
    await cluster.phase(shop, 'db', 'Running', PROMOTED_MS);
    await stage.linesAfter(promoted, id, 3);
    const before = { ...(await cluster.pids('kept')), ...(await cluster.pids('later')) };
    expect(Object.keys(before)).toHaveLength(6);

    const restoredMs = Date.now();
    await cluster.plane.end('SIGTERM');
    renameSync(join(cluster.plane.dataDir, 'store'), join(folder, 'store'));
    expect(type('restore', backup)).toContain(
      'held until you uncordon them, with all that they run: 3 nodes',
    );
    await cluster.plane.start();
    old.heal();
    expect((await shop.call('GET', '/api/v1/deployments/later')).status).toBe(404);
    for (const { name } of cluster.nodes) {
      const [told] = await eventually(
        `what is lost of ${name} is told`,
        () => cluster.events(shop, 'node.not_in_store', name),
        (events) => events.length > 0,
        PROMOTED_MS,
      );
      expect(told?.message).toContain('later');
    }
    // Its lease is renewed by nobody: what the store has another node write ends.
    await eventually(
      'who was promoted since writes no more',
      () => promoted.pids('db'),
      (pids) => Object.keys(pids).length === 0,
      PROMOTED_MS,
    );
    await always(
      'every other container keeps its process',
      async () => ({ ...(await cluster.pids('kept')), ...(await cluster.pids('later')) }),
      (pids) => JSON.stringify(pids) === JSON.stringify(before),
      WATCHED_MS,
    );
    expect(Object.keys(await promoted.pids('db'))).toEqual([]);

    expect((await shop.call('POST', `/api/v1/nodes/${primary}/uncordon`)).status).toBe(200);
    for (const { name } of cluster.nodes)
      expect((await shop.call('POST', `/api/v1/nodes/${name}/uncordon`)).status).toBe(200);
    const record = await eventually(
      'the others are copies of it again',
      () => stage.record(id),
      ({ replicas }) =>
        replicas.length === 2 && replicas.every((one: { state: string }) => one.state === 'live'),
      PROMOTED_MS,
    );
    expect(record.primaryNodeId).toBe(primary);
    expect(record.epoch).toBeGreaterThan(restoredMs);
    // What was written in between is kept, and told.
    const diverged = await eventually(
      'what was written in between is told',
      () => cluster.events(shop, 'volume.diverged', id),
      (events) => events.some(({ details }) => details?.['nodeId'] === promoted.name),
      PROMOTED_MS,
    );
    expect(diverged.map(({ details }) => details)).toContainEqual(
      expect.objectContaining({ nodeId: promoted.name, epoch: 2 }),
    );
    await eventually(
      'what the backup does not know of is gone',
      () => cluster.containers('later'),
      (all) => all.length === 0,
      PROMOTED_MS,
    );
    // On the machine's one clock: between the first and the last line of the promoted one the other wrote none, and it went on after them.
    const log = join(promoted.agent.dataDir, 'volumes', id, 'mnt', 'diverged-2', 'log');
    const words = readFileSync(log, 'utf8')
      .trimEnd()
      .split('\n')
      .map((line) => line.split(' '));
    const own = words.filter(([, , by]) => by === words.at(-1)?.[2]).map(([, at]) => Number(at));
    const [firstOld = 0, lastOld = 0] = [own[0], own.at(-1)];
    expect(own.length).toBeGreaterThan(3);
    const lines = await eventually(
      'the primary of the backup writes under an epoch that nobody had',
      () => stage.lines(old, id, record.epoch),
      (all) => (all.at(-1)?.at ?? 0) > lastOld,
      PROMOTED_MS,
    );
    expect(lines.filter(({ at }) => at >= firstOld && at <= lastOld)).toEqual([]);
    const firstNew = lines.find(({ at }) => at > lastOld)?.at;
    const kept = await cluster.pids('kept');
    for (const [instance, pid] of Object.entries(kept)) expect(before[instance]).toBe(pid);
    console.log(
      `restored: ${JSON.stringify({ untouched: Object.keys(kept).length, firstOld, lastOld, firstNew })}`,
    );
  }, 300_000);
});

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { TokenId } from '../../../core/model/ids.ts';
import { drainReport } from '../../placement/drain-report.ts';
import { explainDeployment, planPlacement } from '../../placement/explanation.ts';
import { hashSpec, Simulation, TENANT } from '../../../../test/support/simulation/controllers.ts';

const CHECK = { type: 'exec', command: ['probe'] } as const;
const ROUND_MS = 600_000;

describe('housekeeping controllers', () => {
  let sim: Simulation;
  beforeEach(async () => {
    sim = await Simulation.start();
  });
  afterEach(async () => {
    await sim.stop();
    expect(sim.problems).toEqual([]);
  });

  const snapshots = () => sim.tenant.list('specs').map(({ record }) => record.image);

  it('keeps the specs that something runs or may return to, and removes the others', async () => {
    await sim.apply({ name: 'web', healthCheck: CHECK });
    await sim.apply({ name: 'web', image: 'shop/web:2' });
    await sim.apply({ name: 'web', image: 'shop/web:3' });
    await sim.advance(10_000);
    expect(snapshots()).toHaveLength(2);
    expect(snapshots()).toEqual(expect.arrayContaining(['shop/web:2', 'shop/web:3']));
    sim.behaviour = () => ({ phase: 'running', health: 'unhealthy' });
    await sim.apply({ name: 'web', image: 'shop/web:4' });
    await sim.advance(10_000);
    expect(snapshots()).toEqual(expect.arrayContaining(['shop/web:3', 'shop/web:4']));
    await sim.remove('web');
    await sim.advance(10_000);
    expect(snapshots()).toEqual([]);
  });

  it('tells once when a draining node is empty', async () => {
    await sim.apply({ name: 'web', replicas: 3, healthCheck: CHECK });
    await sim.alterNode('n2', { draining: true });
    expect(await sim.events('node.drained')).toHaveLength(1);
    await sim.restart();
    expect(await sim.events('node.drained')).toHaveLength(1);
    await sim.alterNode('n2', { draining: false });
    await sim.alterNode('n2', { draining: true });
    expect(await sim.events('node.drained')).toHaveLength(2);
  });

  it('keeps the newest ten thousand events of the last seven days', async () => {
    const put = async (count: number) => {
      for (let at = 0; at < count; at += 100) {
        await sim.write((transaction) => {
          for (let n = at; n < Math.min(count, at + 100); n += 1) {
            const id = sim.ids.next('event');
            const subject = { kind: 'Tenant', name: 't' } as const;
            const at = sim.time.now().toISOString();
            transaction.putCold('events', id, {
              id,
              at,
              kind: 'test',
              tenantId: TENANT,
              subject,
              message: '',
              details: {},
            });
          }
        });
      }
    };
    await put(10_300);
    const before = await sim.events();
    await sim.time.advance(ROUND_MS, () => sim.settle());
    await sim.controllers.stop();
    const after = await sim.events('test');
    expect(after.length).toBeLessThanOrEqual(10_000);
    expect(after.length).toBeGreaterThan(9_990);
    expect(after.at(-1)?.id).toBe(before.at(-1)?.id);
  });

  it('removes events and kept answers that are too old', async () => {
    await sim.apply({ name: 'web' });
    const answer = { requestDigest: '', status: 200, body: '{}' };
    const soon = new Date(sim.time.now().getTime() + 60_000).toISOString();
    const later = new Date(sim.time.now().getTime() + 3_600_000).toISOString();
    await sim.write((transaction) => {
      for (let n = 0; n < 120; n += 1) {
        transaction.putCold('idempotency', `k${n}`, { ...answer, expiresAt: n % 2 === 0 ? soon : later });
      }
    });
    await sim.time.advance(ROUND_MS, () => sim.settle());
    expect((await sim.tenant.rangeCold('idempotency')).entries).toHaveLength(60);
    expect(await sim.events('deployment.running')).toHaveLength(1);
    sim.time.jumpWall(8 * 86_400_000);
    await sim.time.advance(ROUND_MS, () => sim.settle());
    expect(await sim.events('deployment.running')).toHaveLength(0);
  });

  it('removes sessions that are over', async () => {
    const at = (ms: number) => new Date(sim.time.now().getTime() + ms).toISOString();
    const session = { tokenId: 'tok1' as TokenId, tenantId: TENANT, createdAt: at(0), lastUsedAt: at(0) };
    await sim.write((transaction) => {
      transaction.putGlobal('sessions', 'over', { ...session, expiresAt: at(60_000) });
      transaction.putGlobal('sessions', 'open', { ...session, expiresAt: at(3_600_000) });
    });
    await sim.time.advance(ROUND_MS, () => sim.settle());
    await sim.controllers.stop();
    expect(sim.store.listGlobal('sessions').map(({ id }) => id)).toEqual(['open']);
  });
});

describe('questions about placement', () => {
  let sim: Simulation;
  beforeEach(async () => {
    sim = await Simulation.start();
  });
  afterEach(async () => {
    await sim.stop();
  });

  const spec = (name: string, replicas: number) =>
    ({ kind: 'Deployment', name, image: 'shop/web:9', replicas, secrets: [], secretsVersion: 0 }) as const;

  it('plans where a new deployment would go, and changes nothing', async () => {
    const plan = planPlacement(sim.clusters, sim.tenant, spec('web', 3), 'hash');
    expect(plan.instances.map(({ node }) => node).sort()).toEqual(['n1', 'n2', 'n3']);
    expect(plan.instances[0]?.why).toContain('runs no instance of web yet');
    expect(plan.unplaced).toBeUndefined();
    expect(sim.clusters.of(TENANT).containers).toBe(0);
  });

  it('plans an update as if its old instances were gone, and a larger number beside what runs', async () => {
    await sim.apply({ name: 'edge', replicas: 3, ports: [{ container: 80, host: 80 }] });
    const stored = sim.tenant.get('deployments', 'edge')?.record;
    if (stored === undefined) throw new Error('not stored');
    const changed = { ...stored.spec, image: 'shop/edge:2' };
    const update = planPlacement(sim.clusters, sim.tenant, changed, hashSpec(changed));
    expect(update.instances).toHaveLength(3);
    expect(update.instances[0]?.why).toContain('runs no instance of the changed edge yet');
    const grown = planPlacement(sim.clusters, sim.tenant, { ...stored.spec, replicas: 5 }, stored.specHash);
    expect(grown.instances).toEqual([]);
    expect(grown.unplaced).toMatchObject({
      count: 2,
      nodes: [{ node: 'n1', reasons: [{ filter: 'host-port' }] }, {}, {}],
    });
    expect(sim.clusters.of(TENANT).containers).toBe(3);
  });

  it('explains every node and tells what is waited for', async () => {
    await sim.apply({ name: 'web', nodeId: 'n2', dependsOn: { db: 'started' } });
    const record = sim.tenant.get('deployments', 'web')?.record;
    if (record === undefined) throw new Error('not stored');
    const explained = explainDeployment(sim.clusters, sim.tenant, record, { limit: 9, failed: false });
    expect(explained.nodes.map(({ node, fits }) => [node, fits])).toEqual([
      ['n1', false],
      ['n2', true],
      ['n3', false],
    ]);
    expect(explained.chosen?.node).toBe('n2');
    expect(explained.waitingFor).toEqual(['waiting for db (no such deployment yet)']);
  });

  it('reports what a drain would move and what it would not, with why', async () => {
    await sim.apply({ name: 'web', replicas: 3 });
    await sim.apply({ name: 'pinned', nodeId: 'n1' });
    const report = drainReport(sim.clusters, sim.tenant, 'n1' as never);
    expect(report.movable).toMatchObject([{ deployment: 'web', how: 'start-first' }]);
    expect(report.movable[0]?.to).not.toBe('n1');
    expect(report.blocked).toMatchObject([
      { deployment: 'pinned', nodes: [{ node: 'n1' }, { node: 'n2' }, { node: 'n3' }] },
    ]);
    expect(report.blocked[0]?.nodes[1]?.reasons).toMatchObject([{ filter: 'named-node' }]);
  });

  it('moves one by one, each stopped first, where the quota has no room for both, and says so before', async () => {
    await sim.apply({ name: 'web', replicas: 3, healthCheck: CHECK });
    await sim.write((transaction) => transaction.put('quota', 'quota', { containers: 3 }));
    const report = drainReport(sim.clusters, sim.tenant, 'n1' as never);
    expect(report.blocked).toEqual([]);
    expect(report.movable).toMatchObject([{ deployment: 'web', how: 'stop-first' }]);
    expect(report.movable[0]?.why).toContain('quota');
    expect(sim.clusters.of(TENANT).containers).toBe(3);
    await sim.alterNode('n1', { draining: true, schedulable: false });
    await sim.advance(30_000);
    expect(sim.clusters.instancesOn(TENANT, 'n1' as never)).toEqual([]);
    expect(sim.tenant.list('instances')).toHaveLength(3);
    expect(await sim.events('node.drained')).toHaveLength(1);
    expect(drainReport(sim.clusters, sim.tenant, 'n1' as never)).toEqual({
      movable: [],
      blocked: [],
      volumes: [],
      stopping: 0,
    });
  });
});

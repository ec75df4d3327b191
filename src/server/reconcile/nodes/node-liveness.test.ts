import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { NodeName } from '../../../core/model/ids.ts';
import { Simulation } from '../../../../test/support/simulation/controllers.ts';

describe('node liveness controller', () => {
  let sim: Simulation;
  beforeEach(async () => {
    sim = await Simulation.start();
  });
  afterEach(async () => {
    await sim.stop();
  });

  const statusOf = (node: string) => sim.tenant.get('node-liveness', node)?.record;

  it('calls a node ready with its first sign of life and failed after fifteen seconds of silence', async () => {
    expect(statusOf('n1')?.status).toBe('ready');
    await sim.advance(40_000);
    sim.cut('n1');
    await sim.advance(12_000);
    expect(statusOf('n1')?.status).toBe('ready');
    await sim.advance(5_000);
    expect(statusOf('n1')?.status).toBe('failed');
    const silentMs = sim.time.now().getTime() - Date.parse(statusOf('n1')?.lastSeenAt ?? '');
    expect(silentMs).toBeGreaterThanOrEqual(15_000);
    expect(silentMs).toBeLessThan(20_000);
    sim.connect('n1');
    await sim.settle();
    expect(statusOf('n1')?.status).toBe('ready');
    expect(
      (await sim.events()).filter((event) => event.subject.name === 'n1').map((event) => event.kind),
    ).toEqual(['node.ready', 'node.failed', 'node.ready']);
  });

  it('replaces the instances of a lost node after a minute, and leaves exactly the wanted number when it returns', async () => {
    await sim.apply({ name: 'web', replicas: 3 });
    await sim.advance(40_000);
    sim.cut('n1');
    await sim.advance(55_000);
    expect(sim.wanted('web')).toHaveLength(3);
    expect(sim.status('web')).toMatchObject({ phase: 'Degraded', running: 2 });
    expect(sim.status('web')?.message).toContain('node n1 does not answer');
    await sim.advance(10_000);
    expect([...sim.containers.values()].filter(({ node }) => node !== 'n1')).toHaveLength(3);
    expect(sim.status('web')?.phase).toBe('Running');
    sim.connect('n1');
    await sim.advance(5_000);
    expect(sim.containers.size).toBe(3);
    expect(sim.instances('web')).toHaveLength(3);
    expect(await sim.events('instance.replaced')).toHaveLength(1);
  });

  it('keeps what runs on a node that returns before its replacement is there', async () => {
    await sim.apply({ name: 'web', replicas: 3, healthCheck: { type: 'exec', command: ['probe'] } });
    const before = sim.wanted('web').map((record) => record.id);
    await sim.advance(40_000);
    sim.behaviour = (instance) => ({
      phase: 'running',
      health: before.includes(instance.id) ? 'healthy' : 'starting',
    });
    sim.cut('n1');
    await sim.advance(65_000);
    expect(sim.wanted('web')).toHaveLength(4);
    sim.connect('n1');
    await sim.advance(5_000);
    expect(sim.instances('web').map((record) => record.id)).toEqual(before);
    expect(sim.status('web')?.phase).toBe('Running');
  });

  it('stops nothing when there is no other node', async () => {
    await sim.stop();
    sim = await Simulation.start(['only', 'spare']);
    await sim.alterNode('spare', { schedulable: false });
    await sim.apply({ name: 'web', replicas: 2 });
    const before = sim.wanted('web').map((record) => record.id);
    await sim.advance(40_000);
    sim.cut('only');
    await sim.advance(120_000);
    expect(sim.wanted('web').map((record) => record.id)).toEqual(before);
    expect(sim.containers.size).toBe(2);
    sim.connect('only');
    await sim.advance(5_000);
    expect(sim.wanted('web').map((record) => record.id)).toEqual(before);
    expect(sim.status('web')?.phase).toBe('Running');
  });

  it('replaces nothing while more than 55 % of the nodes are silent at once', async () => {
    await sim.apply({ name: 'web', replicas: 3 });
    await sim.advance(40_000);
    sim.cut('n1');
    sim.cut('n2');
    await sim.advance(300_000);
    expect(sim.instances('web')).toHaveLength(3);
    expect(await sim.events('scheduler.brake_on')).toHaveLength(1);
    sim.connect('n2');
    await sim.advance(10_000);
    expect(await sim.events('scheduler.brake_off')).toHaveLength(1);
    expect([...sim.containers.values()].filter(({ node }) => node !== 'n1')).toHaveLength(3);
  });

  it('fails no node when one that returns is judged before the first tick after a suspension', async () => {
    await sim.advance(40_000);
    sim.cut('n1');
    await sim.advance(20_000);
    expect(statusOf('n1')?.status).toBe('failed');
    sim.time.suspend(90_000);
    sim.connect('n1');
    await sim.settle();
    expect(['n1', 'n2', 'n3'].map((node) => statusOf(node)?.status)).toEqual(['ready', 'ready', 'ready']);
    await sim.advance(30_000);
    expect((await sim.events('node.failed')).map(({ subject }) => subject.name)).toEqual(['n1']);
    expect(await sim.events('scheduler.brake_on')).toEqual([]);
  });

  it('fails no node after a start, a suspension or a jump of the wall clock', async () => {
    await sim.apply({ name: 'web', replicas: 3 });
    await sim.advance(40_000);
    sim.time.suspend(90_000);
    await sim.advance(5_000);
    sim.time.jumpWall(86_400_000);
    await sim.advance(30_000);
    sim.time.jumpWall(-2 * 86_400_000);
    await sim.advance(30_000);
    const online = [...sim.online];
    for (const node of online) sim.cut(node);
    await sim.restart();
    await sim.advance(29_000);
    for (const node of online) sim.connect(node);
    await sim.advance(60_000);
    expect(await sim.events('node.failed')).toEqual([]);
    expect(await sim.events('instance.replaced')).toEqual([]);
    expect(await sim.events('instance.created')).toHaveLength(3);
  });

  it('replaces each slot at most once however often a node flaps', async () => {
    await sim.apply({ name: 'web', replicas: 3 });
    await sim.advance(40_000);
    for (let flap = 0; flap < 30; flap += 1) {
      sim.cut('n1');
      await sim.advance(20_000);
      sim.connect('n1');
      await sim.advance(5_000);
    }
    expect(await sim.events('instance.created')).toHaveLength(3);
    const changes = (await sim.events()).filter((event) => event.subject.name === 'n1');
    expect(changes.length).toBeLessThan(10);
  });

  it('never counts the node of the control plane as impaired', async () => {
    await sim.advance(40_000);
    await sim.restart({ controlPlaneNode: 'n1' as NodeName });
    sim.cut('n1');
    await sim.advance(120_000);
    expect(statusOf('n1')?.status).toBe('ready');
  });

  it('forgets a node that is enrolled no more, and replaces what was on it at once', async () => {
    await sim.apply({ name: 'web', replicas: 3 });
    sim.cut('n1');
    await sim.write((transaction) => transaction.delete('nodes', 'n1'));
    await sim.advance(2_000);
    expect(statusOf('n1')).toBeUndefined();
    expect(sim.instances('web').map((record) => record.nodeId)).not.toContain('n1');
    expect(sim.status('web')).toMatchObject({ phase: 'Running', running: 3 });
  });

  it('asks nothing of a tenant without a node until it has one again', async () => {
    const nodes = ['n1', 'n2', 'n3'];
    for (const name of nodes) sim.cut(name);
    await sim.write((transaction) => nodes.map((name) => transaction.delete('nodes', name)));
    await sim.advance(5_000);
    const asked = vi.spyOn(sim.store.view, 'tenant');
    await sim.advance(10_000);
    expect(asked.mock.calls.filter(([, kind]) => kind === 'node-liveness')).toEqual([]);
    asked.mockRestore();
    await sim.enrol('n1');
    sim.connect('n1');
    await sim.advance(40_000);
    expect(statusOf('n1')?.status).toBe('ready');
    sim.cut('n1');
    await sim.advance(17_000);
    expect(statusOf('n1')?.status).toBe('failed');
  });

  it('judges a node that was not heard since a start once, and again when its silence counts', async () => {
    await sim.advance(40_000);
    for (const name of ['n1', 'n2', 'n3']) sim.cut(name);
    await sim.restart();
    await sim.advance(3_000);
    const asked = vi.spyOn(sim.store.view, 'tenant');
    await sim.advance(5_000);
    // Of the tenant, for orphans, with each tick: not of every node.
    expect(asked.mock.calls.filter(([, kind]) => kind === 'node-liveness').length).toBeLessThan(15);
    asked.mockRestore();
    await sim.advance(60_000);
    expect(statusOf('n1')?.status).toBe('failed');
  });

  it('replaces what a lost node had although the quota is used up', async () => {
    await sim.write((transaction) => transaction.put('quota', 'quota', { containers: 3 }));
    await sim.apply({ name: 'web', replicas: 3 });
    await sim.advance(40_000);
    sim.cut('n1');
    await sim.advance(70_000);
    expect(sim.status('web')).toMatchObject({ phase: 'Running', running: 3 });
    sim.connect('n1');
    await sim.advance(5_000);
    expect(sim.instances('web')).toHaveLength(3);
  });
});

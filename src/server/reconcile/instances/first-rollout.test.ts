import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Behaviour, Simulation } from '../../../../test/support/simulation/controllers.ts';

const CHECK = { type: 'exec', command: ['probe'] } as const;
const BROKEN: Behaviour = (_instance, { image }) => ({
  phase: 'running',
  health: image === 'shop/web:2' ? 'unhealthy' : 'healthy',
});

describe('the first rollout', () => {
  let sim: Simulation;
  beforeEach(async () => {
    sim = await Simulation.start();
  });
  afterEach(async () => {
    await sim.stop();
    expect(sim.problems).toEqual([]);
  });

  const row = () => sim.tenant.get('rollouts', 'web');
  const part = () => sim.tenant.get('deployment-status', 'web')?.record.rollout;

  it('is part of the status until it changes', async () => {
    sim.behaviour = () => ({ phase: 'creating' });
    await sim.apply({ name: 'web', replicas: 2 });
    expect(row()).toBeUndefined();
    expect(part()).toMatchObject({ state: 'progressing', version: 1, placed: true, generation: 1 });
    // The status says something else meanwhile, and keeps it.
    sim.behaviour = () => ({ phase: 'failed', message: 'no such file' });
    await sim.settle();
    expect(sim.status('web')?.phase).toBe('Degraded');
    expect(row()).toBeUndefined();
    sim.behaviour = () => ({ phase: 'running' });
    await sim.settle();
    await sim.advance(15_000);
    expect(row()?.record).toMatchObject({ state: 'complete', version: 1, generation: 1 });
    expect(part()).toBeUndefined();
  });

  it('is a row from the beginning while a control plane of an earlier format takes part', async () => {
    sim.derivesRows = false;
    await sim.restart();
    sim.behaviour = () => ({ phase: 'creating' });
    for (const write of [() => sim.apply({ name: 'web' }), () => sim.create({ name: 'api' })]) await write();
    expect(sim.tenant.list('rollouts').map(({ id, record }) => [id, record.state])).toEqual([
      ['api', 'progressing'],
      ['web', 'progressing'],
    ]);
    expect(sim.tenant.list('deployment-status').map(({ record }) => record.rollout)).toEqual([
      undefined,
      undefined,
    ]);
  });

  it('is carried over a restart, and no reason is told twice', async () => {
    for (const node of ['n1', 'n2', 'n3']) await sim.alterNode(node, { draining: true });
    await sim.apply({ name: 'web' });
    expect(part()).toMatchObject({ placed: false });
    await sim.restart();
    await sim.advance(5000);
    expect(await sim.events('deployment.unschedulable')).toHaveLength(1);
    expect(row()).toBeUndefined();
    await sim.alterNode('n1', { draining: false });
    await sim.advance(1000);
    expect(sim.status('web')?.phase).toBe('Running');
    expect(row()?.record.placed).toBe(true);
  });

  it('is what a later version goes back to, whose spec stays until then', async () => {
    await sim.apply({ name: 'web', replicas: 0 });
    expect(part()).toMatchObject({ state: 'complete' });
    const specHash = part()?.specHash;
    sim.behaviour = BROKEN;
    const update = { progressDeadline: '10s', onFailure: 'rollback' } as const;
    await sim.apply({ name: 'web', image: 'shop/web:2', replicas: 1, healthCheck: CHECK, update });
    expect(row()?.record).toMatchObject({ state: 'progressing', from: { specHash, version: 1 } });
    await sim.advance(8000);
    expect(sim.tenant.list('specs').map(({ id }) => id)).toContain(`web/${specHash}`);
    await sim.advance(15_000);
    expect(row()?.record).toMatchObject({ isRollback: true, version: 3 });
    expect(sim.wanted('web')).toHaveLength(1);
  });

  it('that nobody returns to frees its spec', async () => {
    sim.behaviour = () => ({ phase: 'creating' });
    await sim.apply({ name: 'web' });
    const specHash = part()?.specHash;
    sim.behaviour = () => ({ phase: 'running' });
    await sim.apply({ name: 'web', image: 'shop/web:2' });
    await sim.advance(30_000);
    expect(row()?.record).toMatchObject({ state: 'complete', version: 2 });
    expect(sim.tenant.list('specs').map(({ id }) => id)).not.toContain(`web/${specHash}`);
  });

  it.each([
    { replicas: 2, while: 'a process runs' },
    { replicas: 0, while: 'a process runs' },
    { replicas: 2, while: 'none runs' },
    { replicas: 0, while: 'none runs' },
  ])(
    'leaves nothing when the deployment of $replicas instances is removed while $while',
    async ({ replicas, while: when }) => {
      sim.behaviour = () => ({ phase: 'creating' });
      await sim.apply({ name: 'web', replicas });
      expect(part()).toBeDefined();
      if (when === 'none runs') await sim.controllers.stop();
      await sim.remove('web');
      if (when === 'none runs') await sim.restart();
      await sim.advance(10_000);
      for (const kind of ['instances', 'rollouts', 'deployment-status', 'failures'] as const)
        expect(sim.tenant.list(kind), kind).toEqual([]);
    },
  );
});

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ScalingPolicy } from '../../../core/model/scaling.ts';
import { idOf } from '../../store/record-ids.ts';
import { Simulation, TENANT } from '../../../../test/support/simulation/controllers.ts';

const CHECK = { type: 'exec', command: ['probe'] } as const;
const POLICY: ScalingPolicy = { minReplicas: 1, maxReplicas: 6, targetCpuPercent: 50, cooldown: '30s' };

describe('the scaling controller', () => {
  let sim: Simulation;

  beforeEach(async () => {
    sim = await Simulation.start();
  });

  afterEach(async () => {
    await sim.stop();
    expect(sim.problems).toEqual([]);
  });

  async function scaled(policy: Partial<ScalingPolicy> = {}, spec = {}): Promise<void> {
    await sim.apply({ name: 'web', replicas: 1, healthCheck: CHECK, ...spec });
    const record = { ...POLICY, ...policy, createdAt: '', updatedAt: '' };
    await sim.write((transaction) =>
      transaction.put('scaling-policies', idOf('scaling-policies', 'web'), record),
    );
    await sim.settle();
  }

  const replicas = () => sim.tenant.get('deployments', idOf('deployments', 'web'))?.record.spec.replicas;

  it('goes up with the load and down again, and no instance that stays is touched', async () => {
    await scaled();
    const first = sim.wanted('web').map(({ id }) => id);
    sim.load = () => 100;
    await sim.advance(120_000);
    expect(replicas()).toBe(6);
    expect(sim.wanted('web')).toHaveLength(6);
    expect(sim.wanted('web').map(({ id }) => id)).toEqual(expect.arrayContaining([...first]));
    const [up] = await sim.events('deployment.scaled');
    expect(up?.message).toBe(
      'web scaled from 1 to 2: CPU is 100 % of 1 core per instance (1 of 1 measured), the target 50 %',
    );
    expect(up?.details).toMatchObject({
      from: 1,
      to: 2,
      cause: 'load',
      cpuPercent: 100,
      targetCpuPercent: 50,
    });
    sim.load = () => 0;
    await sim.advance(180_000);
    expect(replicas()).toBe(1);
    // Surplus instances go newest first, so the oldest one is the one that stays.
    expect(sim.wanted('web').map(({ id }) => id)).toEqual(first);
    const down = (await sim.events('deployment.scaled')).at(-1);
    expect(down?.message).toContain('CPU is 0 % of 1 core');
    expect(await sim.events('deployment.rollout_started')).toEqual([]);
    // The version is as it was written, whatever the number of instances is now.
    const versions = (await sim.tenant.archives('web')).entries.map(({ record }) => record);
    expect(versions.map(({ version, by, spec }) => [version, by, spec.replicas])).toEqual([[1, 'sim', 1]]);
    const restored = sim.tenant.get('deployments', 'web')?.record;
    expect(restored?.newest).toBeUndefined();
    expect(sim.tenant.list('specs').map(({ id }) => id)).toEqual([`web/${restored?.specHash}`]);
  });

  it('measures against the limit, else the request, else one core', async () => {
    await scaled({}, { resources: { limits: { cpu: 4 }, requests: { cpu: 1 } } });
    sim.load = () => 100;
    await sim.advance(120_000);
    expect(replicas()).toBe(1);
    await sim.apply({ name: 'web', resources: { requests: { cpu: 0.5 } } });
    await sim.advance(60_000);
    expect(replicas()).toBeGreaterThan(1);
    expect((await sim.events('deployment.scaled'))[0]?.message).toContain('200 % of 0.5 cores');
  });

  it('goes no further than the quota, and says so once', async () => {
    await sim.write((transaction) => transaction.put('quota', 'quota', { containers: 2 }));
    await scaled();
    sim.load = () => 100;
    await sim.advance(300_000);
    expect(replicas()).toBe(2);
    expect(sim.status('web')?.phase).toBe('Running');
    const [limited, ...more] = await sim.events('deployment.scaling_limited');
    expect(limited?.message).toContain('the tenant has 2 of 2 allowed');
    expect(more).toEqual([]);
    expect(sim.controllers.scalingView(TENANT, 'web')).toMatchObject({ state: 'active', replicas: 2 });
    await sim.write((transaction) => transaction.put('quota', 'quota', {}));
    await sim.advance(120_000);
    expect(replicas()).toBe(6);
  });

  it('pauses without measurements, while unhealthy, during a rollout and beside a canary', async () => {
    await scaled({ minReplicas: 2 }, { replicas: 2 });
    const paused = (words: string) =>
      expect(sim.controllers.scalingView(TENANT, 'web')).toMatchObject({
        state: 'paused',
        message: expect.stringContaining(words) as string,
      });
    await sim.advance(120_000);
    paused('no instance has a recent measurement');
    sim.load = () => 100;
    sim.behaviour = () => ({ phase: 'running', health: 'unhealthy' });
    await sim.advance(120_000);
    paused('Degraded');
    await sim.apply({ name: 'web', image: 'shop/web:2' });
    await sim.advance(60_000);
    paused('a rollout is under way');
    expect(replicas()).toBe(2);
    sim.behaviour = () => ({ phase: 'running', health: 'healthy' });
    await sim.advance(20_000);
    await sim.startCanary('web', { image: 'shop/web:3' });
    await sim.advance(120_000);
    paused('a canary runs');
    expect(replicas()).toBe(2);
  });

  it('moves into its bounds, leaves a stopped deployment stopped, and ends with its record', async () => {
    await scaled({ minReplicas: 3 });
    expect(replicas()).toBe(3);
    expect((await sim.events('deployment.scaled'))[0]?.message).toBe(
      'web scaled from 1 to 3: 1 is outside the bounds 3 to 6',
    );
    await sim.apply({ name: 'web', replicas: 0 });
    await sim.advance(60_000);
    expect(replicas()).toBe(0);
    await sim.write((transaction) => transaction.delete('scaling-policies', idOf('scaling-policies', 'web')));
    await sim.settle();
    expect(sim.controllers.scalingView(TENANT, 'web')).toBeUndefined();
  });

  it('waits a whole cooldown again after a restart of the control plane', async () => {
    await scaled({ cooldown: '60s' });
    sim.load = () => 100;
    await sim.advance(50_000);
    await sim.restart();
    for (const node of ['n1', 'n2', 'n3']) sim.connect(node);
    await sim.advance(50_000);
    expect(replicas()).toBe(1);
    await sim.advance(30_000);
    expect(replicas()).toBe(2);
  });

  it('never goes down while one of the instances is not measured', async () => {
    await scaled({}, { replicas: 4 });
    const [silent] = sim.wanted('web');
    sim.load = ({ id }) => (id === silent?.id ? undefined : 0);
    await sim.advance(600_000);
    expect(replicas()).toBe(4);
    sim.load = () => 0;
    await sim.advance(120_000);
    expect(replicas()).toBe(1);
  });
});

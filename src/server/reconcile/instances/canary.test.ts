import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { NodeName } from '../../../core/model/ids.ts';
import { volumeSample } from '../../../../test/support/samples/volume.ts';
import { idOf } from '../../store/record-ids.ts';
import { Simulation, TENANT } from '../../../../test/support/simulation/controllers.ts';

const CHECK = { type: 'exec', command: ['probe'] } as const;

describe('a canary', () => {
  let sim: Simulation;

  beforeEach(async () => {
    sim = await Simulation.start();
    await sim.apply({ name: 'web', replicas: 3, healthCheck: CHECK });
  });

  afterEach(async () => {
    await sim.stop();
    expect(sim.problems).toEqual([]);
  });

  const ids = (canary: boolean) =>
    sim
      .wanted('web')
      .filter((record) => (record.canary === true) === canary)
      .map(({ id }) => id)
      .sort();
  const record = () => sim.tenant.get('canaries', idOf('canaries', 'web'))?.record;
  const aborts = async () =>
    (await sim.events('deployment.canary_aborted')).map(({ details, message }) => [
      details['reason'],
      message,
    ]);

  it('runs beside the stable instances and is counted apart from them', async () => {
    const stable = ids(false);
    const before = sim.status('web');
    await sim.startCanary('web', { image: 'shop/web:2' }, 2);
    expect(ids(false)).toEqual(stable);
    expect(ids(true)).toHaveLength(2);
    const { canary, ...rest } = sim.status('web') ?? {};
    expect(rest).toEqual(before);
    expect(canary).toMatchObject({
      desired: 2,
      placed: 2,
      running: 2,
      healthy: 2,
      message: '2 of 2 healthy',
    });
    const [one] = sim.instances('web').filter((instance) => instance.canary === true);
    expect(one?.specHash).toBe(record()?.specHash);
    await sim.advance(30_000);
    expect(sim.tenant.list('specs')).toHaveLength(2);
    expect(ids(true)).toHaveLength(2);
  });

  it('that reads a volume follows its primary at once, as the stable readers do', async () => {
    const volume = volumeSample({ tenantId: TENANT, primaryNodeId: 'n2' as NodeName });
    await sim.write((transaction) =>
      transaction
        .put('volumes', 'vol_1', volume)
        .put('volume-claims', 'vol_1', { writer: 'db', readers: ['web'] }),
    );
    const volumes = [{ volumeId: 'vol_1', mountPath: '/data', readOnly: true }];
    await sim.apply({ name: 'web', replicas: 2, volumes });
    await sim.startCanary('web', { image: 'shop/web:2' }, 1);
    await sim.advance(30_000);
    const nodes = () => sim.wanted('web').map(({ nodeId, canary = false }) => [nodeId, canary]);
    const on = (node: string) => [
      [node, false],
      [node, false],
      [node, true],
    ];
    expect(nodes()).toEqual(on('n2'));
    sim.cut('n2');
    const stored = sim.tenant.get('volumes', 'vol_1')?.record ?? volume;
    await sim.write((transaction) =>
      transaction.put('volumes', 'vol_1', { ...stored, primaryNodeId: 'n3' as NodeName, epoch: 2 }),
    );
    await sim.advance(5_000);
    expect(nodes().sort()).toEqual(on('n3'));
  });

  it('goes with its record, and the stable instances stay', async () => {
    const stable = ids(false);
    await sim.startCanary('web', { image: 'shop/web:2' }, 2);
    await sim.write((transaction) => transaction.delete('canaries', idOf('canaries', 'web')));
    await sim.settle();
    expect(
      sim
        .instances('web')
        .map(({ id }) => id)
        .sort(),
    ).toEqual(stable);
    expect(sim.status('web')?.canary).toBeUndefined();
    await sim.advance(10_000);
    expect(sim.tenant.list('specs')).toHaveLength(1);
  });

  it('gives its instances to the deployment when its spec becomes the deployment’s', async () => {
    await sim.startCanary('web', { image: 'shop/web:2' }, 1);
    const canary = ids(true);
    await sim.write((transaction) => transaction.delete('canaries', idOf('canaries', 'web')));
    // As a promotion does in one commit; the look in between must not have stopped it.
    await sim.apply({ name: 'web', image: 'shop/web:2' });
    await sim.advance(20_000);
    expect(sim.wanted('web')).toHaveLength(3);
    expect(ids(true)).toEqual([]);
    expect(sim.status('web')).toMatchObject({ phase: 'Running', healthy: 3, updated: 3 });
    expect(canary).toHaveLength(1);
  });

  it('is promoted in one commit without a restart of its instances', async () => {
    await sim.startCanary('web', { image: 'shop/web:2' }, 2);
    const canary = ids(true);
    await sim.promote('web');
    await sim.advance(20_000);
    expect(ids(false)).toEqual(expect.arrayContaining([...canary]));
    expect(ids(false)).toHaveLength(3);
    expect(sim.wanted('web').some((instance) => instance.canary === true)).toBe(false);
    expect(sim.status('web')).toMatchObject({ phase: 'Running', healthy: 3, updated: 3 });
    expect(await sim.events('deployment.rollout_completed')).toHaveLength(1);
  });

  it('is aborted when it becomes unhealthy or exits, and the event says which instance and why', async () => {
    const stable = ids(false);
    for (const [seen, words] of [
      [{ phase: 'running', health: 'unhealthy' }, 'is unhealthy'],
      [{ phase: 'exited', exitCode: 3 }, 'exited with code 3'],
    ] as const) {
      sim.behaviour = ({ canary }) => (canary === true ? seen : { phase: 'running', health: 'healthy' });
      await sim.startCanary('web', { image: 'shop/web:2' }, 1);
      expect(record()).toBeUndefined();
      const [reason, message] = (await aborts()).at(-1) ?? [];
      expect(reason).toBe('unhealthy');
      expect(message).toContain(words);
      expect(
        sim
          .instances('web')
          .map(({ id }) => id)
          .sort(),
      ).toEqual(stable);
    }
    expect(sim.status('web')?.phase).toBe('Running');
    const audit = await sim.tenant.rangeCold('audit');
    expect(audit.entries.map((entry) => entry.record.action)).toEqual([
      'deployment.canary-aborted',
      'deployment.canary-aborted',
    ]);
  });

  it('waits for what the agent tries again, until the deadline', async () => {
    await sim.apply({ name: 'web', update: { progressDeadline: '60s' } });
    sim.behaviour = ({ canary }) =>
      canary === true
        ? { phase: 'pending', reason: 'image_pull_failed', message: 'no such host' }
        : { phase: 'running', health: 'healthy' };
    await sim.startCanary('web', { image: 'shop/web:2' }, 1);
    await sim.advance(50_000);
    expect(record()).toBeDefined();
    expect(sim.status('web')?.canary?.message).toContain('no such host');
    await sim.advance(15_000);
    expect(record()).toBeUndefined();
    expect(await aborts()).toEqual([
      ['progress_deadline', expect.stringContaining('not healthy within 60 s')],
    ]);
  });

  it('is aborted when the deployment is changed or stopped, and goes with it when it is deleted', async () => {
    await sim.startCanary('web', { image: 'shop/web:2' }, 1);
    await sim.apply({ name: 'web', image: 'shop/web:3' });
    expect(record()).toBeUndefined();
    await sim.startCanary('web', { image: 'shop/web:4' }, 1);
    await sim.apply({ name: 'web', replicas: 5 });
    expect(record()).toBeDefined();
    await sim.apply({ name: 'web', replicas: 0 });
    expect((await aborts()).map(([reason]) => reason)).toEqual(['deployment_changed', 'deployment_stopped']);
    await sim.advance(10_000);
    expect(sim.instances('web')).toEqual([]);
    await sim.apply({ name: 'web', replicas: 1 });
    await sim.startCanary('web', { image: 'shop/web:5' }, 3);
    await sim.write((transaction) =>
      transaction
        .delete('deployments', idOf('deployments', 'web'))
        .delete('canaries', idOf('canaries', 'web')),
    );
    await sim.settle();
    expect(sim.instances('web')).toEqual([]);
  });

  it('counts against the quota, says so, and starts when there is room', async () => {
    await sim.write((transaction) => transaction.put('quota', 'quota', { containers: 4 }));
    await sim.startCanary('web', { image: 'shop/web:2' }, 2);
    expect(sim.status('web')?.canary).toMatchObject({
      placed: 1,
      message: expect.stringContaining('quota: needs ') as string,
    });
    expect(sim.status('web')?.phase).toBe('Running');
    await sim.write((transaction) => transaction.put('quota', 'quota', {}));
    await sim.advance(1000);
    expect(sim.status('web')?.canary).toMatchObject({ placed: 2, healthy: 2 });
  });

  it('moves with its node, survives a restart of the control plane, and settles without a health check', async () => {
    await sim.apply({ name: 'plain', replicas: 1 });
    await sim.startCanary('plain', { image: 'shop/web:2' }, 1);
    const [first] = sim.wanted('plain').filter(({ canary }) => canary === true);
    await sim.restart();
    for (const node of ['n1', 'n2', 'n3']) sim.connect(node);
    expect(sim.wanted('plain').filter(({ canary }) => canary === true)).toEqual([first]);
    await sim.alterNode(first?.nodeId ?? '', { draining: true });
    await sim.advance(20_000);
    const [moved, ...others] = sim.wanted('plain').filter(({ canary }) => canary === true);
    expect(others).toEqual([]);
    expect(moved?.nodeId).not.toBe(first?.nodeId);
    expect(sim.tenant.get('canaries', idOf('canaries', 'plain'))).toBeDefined();
  });

  it('is started once although two processes decide', async () => {
    const stop = await sim.rival();
    await sim.startCanary('web', { image: 'shop/web:2' }, 5);
    await sim.advance(10_000);
    expect(ids(true)).toHaveLength(5);
    await sim.promote('web');
    await sim.advance(20_000);
    expect(sim.instances('web')).toHaveLength(3);
    await stop();
  });

  it('stays within one commit when it is large', async () => {
    await sim.startCanary('web', { image: 'shop/web:2' }, 90);
    expect(ids(true)).toHaveLength(90);
    await sim.promote('web');
    await sim.advance(20_000);
    expect(sim.wanted('web')).toHaveLength(3);
    expect(sim.wanted('web').some(({ canary }) => canary === true)).toBe(false);
  });
});

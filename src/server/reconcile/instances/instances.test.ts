import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { volumeSample } from '../../../../test/support/samples/volume.ts';
import type { NodeName } from '../../../core/model/ids.ts';
import { archiveId } from '../../store/deployment-rows.ts';
import { KvUnavailableError } from '../../store/kv.ts';
import { type Behaviour, Simulation, TENANT } from '../../../../test/support/simulation/controllers.ts';

const CHECK = { type: 'exec', command: ['probe'] } as const;

function kinds(events: readonly { readonly kind: string }[], kind: string): number {
  return events.filter((event) => event.kind === kind).length;
}

const BROKEN: Behaviour = (_instance, spec) =>
  spec.image === 'shop/web:2'
    ? { phase: 'running', health: 'unhealthy', message: 'probe says no' }
    : { phase: 'running', ...(spec.healthCheck && { health: 'healthy' }) };

describe('instances controller', () => {
  let sim: Simulation;
  beforeEach(async () => {
    sim = await Simulation.start();
  });
  afterEach(async () => {
    await sim.stop();
    expect(sim.problems).toEqual([]);
  });

  it('places a new deployment and reports it running', async () => {
    await sim.apply({ name: 'web', replicas: 3 });
    expect(
      sim
        .wanted('web')
        .map((record) => record.nodeId)
        .sort(),
    ).toEqual(['n1', 'n2', 'n3']);
    expect(sim.status('web')).toMatchObject({
      phase: 'Running',
      desired: 3,
      placed: 3,
      running: 3,
      healthy: 3,
      updated: 3,
    });
    const events = await sim.events();
    expect(kinds(events, 'instance.created')).toBe(3);
    expect(kinds(events, 'instance.started')).toBe(3);
    expect(kinds(events, 'deployment.placed')).toBe(1);
    expect(kinds(events, 'deployment.running')).toBe(1);
  });

  it('holds what it placed to the deadline though nothing is ever heard of it', async () => {
    for (const node of ['n1', 'n2', 'n3']) sim.cut(node);
    await sim.apply({ name: 'web', update: { progressDeadline: '10s' } });
    await sim.advance(15_000);
    expect(sim.status('web')).toMatchObject({ phase: 'Degraded', placed: 1 });
  });

  it('scales up in batches and down to the oldest, to nothing without deleting, and cleans up after deletion', async () => {
    await sim.apply({ name: 'web', replicas: 1 });
    const [first] = sim.wanted('web');
    await sim.apply({ name: 'web', replicas: 100 });
    expect(sim.status('web')).toMatchObject({ phase: 'Running', running: 100 });
    await sim.apply({ name: 'web', replicas: 1 });
    expect(sim.instances('web').map((record) => record.id)).toEqual([first?.id]);
    await sim.apply({ name: 'web', replicas: 0 });
    expect(sim.instances('web')).toEqual([]);
    expect(sim.status('web')).toMatchObject({ phase: 'Stopped', desired: 0, placed: 0 });
    await sim.apply({ name: 'web', replicas: 2 });
    await sim.remove('web');
    expect(sim.instances('web')).toEqual([]);
    expect(sim.status('web')).toBeUndefined();
    expect(sim.tenant.list('rollouts')).toEqual([]);
    expect(sim.tenant.list('observations')).toEqual([]);
    expect(sim.containers.size).toBe(0);
  });

  it('scales down what is unhealthy first', async () => {
    await sim.apply({ name: 'web', replicas: 3, healthCheck: CHECK });
    const [oldest, , newest] = sim.wanted('web');
    sim.behaviour = (instance) => ({
      phase: 'running',
      health: instance.id === oldest?.id ? 'unhealthy' : 'healthy',
    });
    await sim.settle();
    expect(sim.status('web')?.phase).toBe('Degraded');
    await sim.apply({ name: 'web', replicas: 2 });
    const left = sim.wanted('web').map((record) => record.id);
    expect(left).not.toContain(oldest?.id);
    expect(left).toContain(newest?.id);
    expect(sim.status('web')?.phase).toBe('Running');
  });

  it('rolls out a new spec one by one behind the health check', async () => {
    await sim.apply({ name: 'web', replicas: 3, healthCheck: CHECK });
    const old = sim.wanted('web').map((record) => record.id);
    let lowest = 3;
    const stop = sim.store.view.onChange(() => {
      const healthy = [...sim.containers.values()].filter(
        ({ observation }) => observation.health === 'healthy',
      ).length;
      lowest = Math.min(lowest, healthy);
    });
    await sim.apply({ name: 'web', image: 'shop/web:2' });
    stop();
    expect(sim.wanted('web')).toHaveLength(3);
    expect(sim.wanted('web').some((record) => old.includes(record.id))).toBe(false);
    expect(lowest).toBe(3);
    expect(sim.status('web')).toMatchObject({ phase: 'Running', updated: 3 });
    const events = await sim.events();
    expect(kinds(events, 'deployment.rollout_started')).toBe(1);
    expect(kinds(events, 'deployment.rollout_completed')).toBe(1);
  });

  it('trusts an instance without a health check only after it has run for ten seconds', async () => {
    await sim.apply({ name: 'web' });
    const [old] = sim.wanted('web');
    await sim.apply({ name: 'web', image: 'shop/web:2' });
    await sim.advance(9_000);
    expect(sim.wanted('web').map((record) => record.id)).toContain(old?.id);
    await sim.advance(1_000);
    expect(sim.wanted('web')).toHaveLength(1);
    expect(sim.wanted('web')[0]?.id).not.toBe(old?.id);
    expect(sim.status('web')?.phase).toBe('Running');
  });

  it('keeps what serves when the new spec never becomes healthy, and says which instance and why', async () => {
    await sim.apply({ name: 'web', replicas: 2, healthCheck: CHECK });
    const old = sim.wanted('web').map((record) => record.id);
    sim.behaviour = BROKEN;
    await sim.apply({ name: 'web', image: 'shop/web:2', update: { progressDeadline: '1m' } });
    const bad = sim.wanted('web').find((record) => !old.includes(record.id));
    await sim.advance(59_000);
    expect(await sim.events('deployment.rollout_failed')).toHaveLength(0);
    await sim.advance(10_000);
    expect(sim.wanted('web').map((record) => record.id)).toEqual(expect.arrayContaining(old));
    expect(sim.wanted('web')).toHaveLength(3);
    expect(sim.status('web')).toMatchObject({ phase: 'Degraded', healthy: 0, placed: 1 });
    expect(sim.status('web')?.message).toContain(`${bad?.id} on ${bad?.nodeId} is unhealthy: probe says no`);
    expect(await sim.events('deployment.rollout_failed')).toHaveLength(1);
    expect(await sim.events('deployment.rolled_back')).toHaveLength(0);
  });

  it('returns to the last complete spec when asked to, once, with an archive version', async () => {
    await sim.apply({ name: 'web', replicas: 2, healthCheck: CHECK });
    const old = sim.wanted('web').map((record) => record.id);
    const before = sim.tenant.get('deployments', 'web')?.record;
    sim.behaviour = BROKEN;
    await sim.apply({
      name: 'web',
      image: 'shop/web:2',
      update: { progressDeadline: '1m', onFailure: 'rollback' },
    });
    await sim.advance(65_000);
    expect(sim.wanted('web').map((record) => record.id)).toEqual(old);
    expect(sim.status('web')?.phase).toBe('Running');
    const after = sim.tenant.get('deployments', 'web')?.record;
    expect(after).toMatchObject({ specHash: before?.specHash, version: 3 });
    expect(after?.spec.update?.onFailure).toBe('rollback');
    const { entries } = await sim.tenant.archives('web');
    expect(entries.map(({ record }) => [record.version, record.change, record.by])).toEqual([
      [1, 'updated', 'sim'],
      [2, 'updated', 'sim'],
      [3, 'rolled-back', 'system'],
    ]);
    expect(await sim.events('deployment.rolled_back')).toHaveLength(1);
  });

  it('does not return to a spec whose residency would take the copy of a volume from another deployment', async () => {
    const labels = { 'berth.io/country': 'DE' };
    await sim.alterNode('n2', { labels });
    await sim.write((transaction) =>
      transaction
        .put('volumes', 'vol_1', {
          ...volumeSample({ tenantId: TENANT, primaryNodeId: 'n2' as NodeName }),
          copies: 1,
          replicas: [{ nodeId: 'n3' as NodeName, state: 'live' }],
        })
        .put('volume-claims', 'vol_1', { writer: 'db', readers: ['web'] }),
    );
    await sim.apply({
      name: 'web',
      healthCheck: CHECK,
      volumes: [{ volumeId: 'vol_1', mountPath: '/data', readOnly: true }],
      placement: { residency: { country: 'DE' } },
    });
    expect(sim.status('web')?.phase).toBe('Running');
    sim.behaviour = BROKEN;
    await sim.apply({
      name: 'web',
      image: 'shop/web:2',
      placement: {},
      update: { progressDeadline: '1m', onFailure: 'rollback' },
    });
    await sim.advance(65_000);
    expect(sim.tenant.get('deployments', 'web')?.record.version).toBe(2);
    expect(sim.status('web')?.phase).toBe('Degraded');
    expect(await sim.events('deployment.rolled_back')).toHaveLength(0);
    expect(sim.tenant.get('volumes', 'vol_1')?.record.replicas.map(({ nodeId }) => nodeId)).toEqual(['n3']);
  });

  it('keeps the archive within its bounds when it returns to an older spec', async () => {
    await sim.apply({ name: 'web', replicas: 1, healthCheck: CHECK });
    const stored = sim.tenant.get('deployments', 'web')?.record;
    if (stored === undefined) throw new Error('not stored');
    const { spec, specHash } = stored;
    const version = (number: number) => archiveId('web', number);
    await sim.write((transaction) => {
      transaction.put('deployments', 'web', { ...stored, version: 101 });
      for (const number of [2, 3, 101])
        transaction.putCold('archives', version(number), {
          version: number,
          change: 'updated',
          at: '',
          by: '',
          spec,
          specHash,
        });
    });
    sim.behaviour = BROKEN;
    // Version 102 fails, and version 103 is what it returns to.
    await sim.apply({
      name: 'web',
      image: 'shop/web:2',
      update: { progressDeadline: '1m', onFailure: 'rollback' },
    });
    await sim.advance(65_000);
    expect(sim.tenant.get('deployments', 'web')?.record.version).toBe(103);
    const { entries } = await sim.tenant.archives('web');
    expect(entries.map(({ record }) => record.version)).toEqual([2, 101, 102, 103]);
  });

  it('returns to it though nothing of it is left on any node', async () => {
    await sim.apply({ name: 'web', healthCheck: CHECK, update: { progressDeadline: '1m' } });
    sim.behaviour = BROKEN;
    await sim.apply({ name: 'web', image: 'shop/web:2' });
    await sim.advance(65_000);
    const names = [...sim.tenant.collection('nodes').ids()];
    for (const name of names) sim.cut(name);
    await sim.write((transaction) => {
      for (const name of names) transaction.delete('nodes', name).delete('node-liveness', name);
      return transaction;
    });
    await sim.advance(20_000);
    expect(sim.instances('web')).toEqual([]);
    await sim.apply({ name: 'web', update: { progressDeadline: '1m', onFailure: 'rollback' } });
    await sim.advance(20_000);
    expect(sim.tenant.get('deployments', 'web')?.record.spec.image).toBe('shop/web:1');
    expect(await sim.events('deployment.rolled_back')).toHaveLength(1);
  });

  it('lets a new spec supersede a rollout at once', async () => {
    await sim.apply({ name: 'web', replicas: 2, healthCheck: CHECK });
    sim.behaviour = BROKEN;
    await sim.apply({ name: 'web', image: 'shop/web:2' });
    expect(sim.wanted('web')).toHaveLength(3);
    await sim.apply({ name: 'web', image: 'shop/web:3' });
    const { specHash } = sim.tenant.get('deployments', 'web')?.record ?? {};
    expect(sim.wanted('web').map((record) => record.specHash)).toEqual([specHash, specHash]);
    expect(sim.status('web')?.phase).toBe('Running');
  });

  it('goes on with a rollout after the controllers were restarted', async () => {
    await sim.apply({ name: 'web', replicas: 3 });
    await sim.apply({ name: 'web', image: 'shop/web:2' });
    await sim.advance(11_000);
    expect(sim.status('web')?.phase).toBe('Progressing');
    await sim.restart();
    const { specHash } = sim.tenant.get('deployments', 'web')?.record ?? {};
    await sim.advance(60_000);
    expect(sim.wanted('web').map((record) => record.specHash)).toEqual([specHash, specHash, specHash]);
    expect(sim.status('web')?.phase).toBe('Running');
    expect(await sim.events('deployment.rollout_started')).toHaveLength(1);
    expect(await sim.events('deployment.rollout_completed')).toHaveLength(1);
  });

  it('replaces an instance that holds a host port where no other node is free', async () => {
    await sim.apply({ name: 'edge', replicas: 3, ports: [{ container: 80, host: 80 }], healthCheck: CHECK });
    const old = sim.wanted('edge').map((record) => record.id);
    await sim.apply({ name: 'edge', image: 'shop/web:2' });
    expect(sim.wanted('edge')).toHaveLength(3);
    expect(sim.wanted('edge').some((record) => old.includes(record.id))).toBe(false);
    expect(
      sim
        .wanted('edge')
        .map((record) => record.nodeId)
        .sort(),
    ).toEqual(['n1', 'n2', 'n3']);
  });

  it('stops the writer of a volume before the next one starts', async () => {
    const volumes = [{ volumeId: 'vol_1', mountPath: '/data', readOnly: false }];
    await sim.write((transaction) =>
      transaction.put('volumes', 'vol_1', {
        id: 'vol_1' as never,
        tenantId: TENANT,
        name: 'data',
        class: 'replicated',
        type: 'volume',
        phase: 'Ready',
        sizeBytes: 1,
        primaryNodeId: 'n2' as NodeName,
        replicas: [],
        accessMode: 'ReadWriteOnce',
        epoch: 1,
        copies: 0,
        leaving: [],
        leaseMs: 15_000,
        createdAt: new Date(0).toISOString(),
      }),
    );
    await sim.apply({ name: 'db', volumes });
    let most = 0;
    const stop = sim.store.view.onChange(() => {
      most = Math.max(most, sim.instances('db').length);
    });
    await sim.apply({ name: 'db', image: 'shop/db:2' });
    stop();
    expect(most).toBe(1);
    expect(sim.wanted('db').map((record) => record.nodeId)).toEqual(['n2']);
    expect(sim.status('db')?.phase).toBe('Running');
  });

  it('waits for dependencies, in words, and starts when they are healthy', async () => {
    sim.behaviour = (_instance, spec) => ({
      phase: 'running',
      ...(spec.name === 'db' && { health: 'starting' }),
    });
    await sim.apply({ name: 'web', dependsOn: { db: 'healthy' } });
    expect(sim.status('web')).toMatchObject({
      phase: 'Waiting',
      message: 'waiting for db (no such deployment yet)',
    });
    await sim.apply({ name: 'db', healthCheck: CHECK });
    expect(sim.status('web')?.message).toMatch(
      /^waiting for db \(unhealthy, Progressing since .*: 1 of 1 running, 0 healthy\)$/,
    );
    expect(sim.instances('web')).toEqual([]);
    sim.behaviour = (_instance, spec) => ({
      phase: 'running',
      ...(spec.healthCheck && { health: 'healthy' }),
    });
    await sim.settle();
    expect(sim.status('web')?.phase).toBe('Running');
    sim.behaviour = (_instance, spec) => ({
      phase: 'running',
      ...(spec.healthCheck && { health: 'unhealthy' }),
    });
    await sim.settle();
    expect(sim.wanted('web')).toHaveLength(1);
  });

  it('publishes every node with every reason once per change of the reasons', async () => {
    await sim.apply({ name: 'web', placement: { constraints: { disk: 'ssd' } } });
    expect(sim.instances('web')).toEqual([]);
    expect(sim.status('web')).toMatchObject({ phase: 'Pending', placed: 0 });
    await sim.advance(60_000);
    const [first, ...others] = await sim.events('deployment.unschedulable');
    expect(others).toEqual([]);
    expect(first?.details).toMatchObject({
      summary: sim.status('web')?.message.replace('no node takes it: ', ''),
      nodes: ['n1', 'n2', 'n3'].map((node) => ({ node, reasons: [{ filter: 'constraints' }] })),
    });
    await sim.restart();
    expect(await sim.events('deployment.unschedulable')).toHaveLength(1);
    await sim.alterNode('n2', { labels: { disk: 'hdd' } });
    await sim.advance(1000);
    expect(await sim.events('deployment.unschedulable')).toHaveLength(2);
    await sim.alterNode('n2', { labels: { disk: 'ssd' } });
    await sim.advance(1000);
    expect(sim.status('web')?.phase).toBe('Running');
  });

  it('waits for residency', async () => {
    await sim.apply({ name: 'web', placement: { residency: { country: 'DE' } } });
    expect(sim.status('web')).toMatchObject({ phase: 'Waiting', placed: 0 });
    await sim.alterNode('n3', { labels: { 'berth.io/country': 'DE' } });
    await sim.advance(1000);
    expect(sim.wanted('web').map((record) => record.nodeId)).toEqual(['n3']);
  });

  it('publishes no reasons for a new spec while instances of the one before serve', async () => {
    await sim.apply({ name: 'web', replicas: 3 });
    await sim.settle();
    await sim.write((transaction) => transaction.put('quota', 'quota', { containers: 1 }));
    await sim.apply({ name: 'web', replicas: 3, environment: { MODE: 'fast' } });
    await sim.advance(60_000);
    expect(sim.status('web')?.message).toContain('quota: needs ');
    expect(await sim.events('deployment.unschedulable')).toEqual([]);
  });

  it('never places more than the quota allows, however many deployments come at once', async () => {
    await sim.write((transaction) => transaction.put('quota', 'quota', { containers: 5 }));
    await Promise.all(Array.from({ length: 8 }, (_, n) => sim.apply({ name: `app-${n}`, replicas: 2 })));
    await sim.settle();
    expect(sim.tenant.list('instances')).toHaveLength(5);
    await sim.write((transaction) => transaction.put('quota', 'quota', { containers: 9 }));
    await sim.advance(1000);
    expect(sim.tenant.list('instances')).toHaveLength(9);
  });

  it('is Degraded without a container while secrets cannot be resolved', async () => {
    sim.behaviour = () => ({ phase: 'failed', reason: 'secret_unresolved', message: 'resources/db: 403' });
    await sim.apply({ name: 'web' });
    const [instance] = sim.wanted('web');
    expect(sim.status('web')).toMatchObject({ phase: 'Degraded', running: 0 });
    expect(sim.status('web')?.message).toBe(
      `instance ${instance?.id} on ${instance?.nodeId} has no container, its secrets cannot be resolved: resources/db: 403`,
    );
    await sim.advance(30_000);
    expect((await sim.events('instance.failed')).map((event) => event.details)).toMatchObject([
      { deployment: 'web', reason: 'secret_unresolved' },
    ]);
  });

  it('moves instances off a draining node without a gap', async () => {
    await sim.apply({ name: 'web', replicas: 3, healthCheck: CHECK });
    let lowest = 3;
    const stop = sim.store.view.onChange(() => {
      lowest = Math.min(
        lowest,
        [...sim.containers.values()].filter(({ observation }) => observation.health === 'healthy').length,
      );
    });
    await sim.alterNode('n1', { draining: true });
    stop();
    expect(lowest).toBe(3);
    expect(sim.wanted('web').map((record) => record.nodeId)).not.toContain('n1');
    expect(sim.status('web')?.phase).toBe('Running');
    expect(await sim.events('instance.replaced')).toHaveLength(1);
  });

  it('creates no instance twice when two processes decide at once', async () => {
    const stopRival = await sim.rival();
    await Promise.all(Array.from({ length: 20 }, (_, n) => sim.apply({ name: `app-${n}`, replicas: 5 })));
    await sim.settle();
    for (let n = 0; n < 20; n += 1) expect(sim.instances(`app-${n}`)).toHaveLength(5);
    await sim.apply({ name: 'app-0', image: 'shop/web:2', healthCheck: CHECK });
    expect(sim.wanted('app-0')).toHaveLength(5);
    expect(await sim.events('instance.created')).toHaveLength(105);
    await stopRival();
  });

  it('goes on after the store was away, and keeps no room for what was not stored', async () => {
    const commit = sim.kv.commit.bind(sim.kv);
    await sim.write((transaction) => transaction.put('quota', 'quota', { containers: 4 }));
    const away = { is: false };
    sim.kv.commit = async (asked) => {
      const isPlan = asked.puts?.some((put) => put.key.includes('/deployment-status/')) ?? false;
      if (away.is && isPlan) throw new KvUnavailableError('away', true);
      return commit(asked);
    };
    away.is = true;
    await sim.apply({ name: 'web', replicas: 3 });
    expect(sim.instances('web')).toEqual([]);
    expect(sim.clusters.of(TENANT).containers).toBe(0);
    expect(sim.problems.splice(0)).not.toEqual([]);
    away.is = false;
    await sim.advance(1000);
    expect(sim.status('web')).toMatchObject({ phase: 'Running', running: 3 });
  });

  it('fits every commit into what etcd takes, also when everything happens at once', async () => {
    const secrets = () => ({ phase: 'failed', reason: 'secret_unresolved', message: 'sealed' }) as const;
    await sim.apply({ name: 'web', replicas: 100, healthCheck: CHECK });
    sim.behaviour = secrets;
    await sim.settle();
    await sim.alterNode('n1', { draining: true });
    await sim.apply({ name: 'web', image: 'shop/web:2', update: { maxSurge: 100, maxUnavailable: 100 } });
    sim.behaviour = (_instance, spec) => ({
      phase: 'running',
      ...(spec.healthCheck && { health: 'healthy' }),
    });
    await sim.settle();
    await sim.advance(10_000);
    expect(sim.status('web')).toMatchObject({ phase: 'Running', running: 100 });
    await sim.remove('web');
    expect(sim.instances('web')).toEqual([]);
  });
});

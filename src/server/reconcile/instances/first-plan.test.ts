import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Simulation, TENANT } from '../../../../test/support/simulation/controllers.ts';
import { KvUnavailableError } from '../../store/kv.ts';

describe('first plan', () => {
  let sim: Simulation;
  beforeEach(async () => {
    sim = await Simulation.start();
  });
  afterEach(async () => {
    await sim.stop();
    expect(sim.problems).toEqual([]);
  });

  /** Commits that write a plan wait until they are let go. */
  function heldPlans() {
    const commit = sim.kv.commit.bind(sim.kv);
    const { promise, resolve } = Promise.withResolvers<void>();
    const held = { count: 0, letGo: resolve };
    sim.kv.commit = async (asked) => {
      if (asked.puts?.some(({ key }) => key.includes('/deployment-status/'))) {
        held.count += 1;
        await promise;
      }
      return commit(asked);
    };
    return held;
  }

  it('is stored with the deployment, by one commit, and not made again', async () => {
    const before = await sim.kv.head();
    expect(await sim.create({ name: 'web', replicas: 3 })).toEqual({ planned: true, stored: true });
    expect((await sim.kv.head()) - before).toBe(1);
    expect(sim.status('web')).toMatchObject({ phase: 'Progressing', desired: 3, placed: 3 });
    const placed = sim.instances('web').map(({ id }) => id);
    expect(placed).toHaveLength(3);
    await sim.settle();
    expect(sim.status('web')).toMatchObject({ phase: 'Running', running: 3 });
    expect(sim.instances('web').map(({ id }) => id)).toEqual(placed);
    expect(await sim.events('instance.created')).toHaveLength(3);
    expect(await sim.events('deployment.placed')).toHaveLength(1);
  });

  it('holds what it placed to the deadline though nothing is ever heard of it', async () => {
    for (const node of ['n1', 'n2', 'n3']) sim.cut(node);
    await sim.create({ name: 'web', update: { progressDeadline: '10s' } });
    await sim.advance(15_000);
    expect(sim.status('web')).toMatchObject({ phase: 'Degraded', placed: 1 });
  });

  it.each([
    { name: 'web', replicas: 17 },
    { name: 'web', dependsOn: { db: 'healthy' as const } },
  ])('is left to the controller of %j', async (spec) => {
    expect(await sim.create(spec)).toEqual({ planned: false, stored: true });
    expect(sim.status('web')).toBeUndefined();
    await sim.settle();
    expect(sim.status('web')).toBeDefined();
  });

  it('is left to the controller while something of the name is left', async () => {
    await sim.apply({ name: 'web' });
    sim.cut(sim.wanted('web')[0]?.nodeId ?? '');
    await sim.remove('web');
    expect(sim.instances('web')).toHaveLength(1);
    expect(await sim.create({ name: 'web' })).toEqual({ planned: false, stored: true });
    await sim.settle();
    expect(sim.wanted('web')).toHaveLength(1);
  });

  it('is left to the controller of the process that decides for the tenant', async () => {
    await sim.restart({ owns: () => false });
    expect(await sim.create({ name: 'web' })).toEqual({ planned: false, stored: true });
    expect(sim.status('web')).toBeUndefined();
  });

  it("is not stored once the shard is another process's", async () => {
    await sim.restart({ shardGuard: () => ({ key: 'h/g/shards/1', modRevision: 7 }) });
    expect(await sim.create({ name: 'web' })).toEqual({ planned: true, stored: false });
    expect(sim.clusters.of(TENANT).containers).toBe(0);
    expect(sim.instances('web')).toEqual([]);
  });

  it('keeps no room when it is not stored', async () => {
    await sim.write((transaction) => transaction.put('quota', 'quota', { containers: 2 }));
    const commit = sim.kv.commit.bind(sim.kv);
    sim.kv.commit = async () => {
      throw new KvUnavailableError('away', true);
    };
    await expect(sim.create({ name: 'web', replicas: 2 })).rejects.toThrow('away');
    expect(sim.clusters.of(TENANT).containers).toBe(0);
    sim.kv.commit = commit;
    await sim.create({ name: 'web', replicas: 2 });
    expect(sim.instances('web')).toHaveLength(2);
  });

  it('of two that create the same, one is stored, with its plan alone', async () => {
    const answers = await Promise.all([
      sim.create({ name: 'web', replicas: 2 }),
      sim.create({ name: 'web', replicas: 2 }),
    ]);
    expect(answers.map(({ stored }) => stored)).toEqual([true, false]);
    await sim.settle();
    expect(sim.instances('web')).toHaveLength(2);
    expect(sim.clusters.of(TENANT).containers).toBe(2);
  });

  it('of many at once keeps the quota', async () => {
    await sim.write((transaction) => transaction.put('quota', 'quota', { containers: 5 }));
    await Promise.all(Array.from({ length: 8 }, (_, n) => sim.create({ name: `app-${n}`, replicas: 2 })));
    expect(sim.tenant.list('instances')).toHaveLength(5);
    await sim.settle();
    expect(sim.tenant.list('instances')).toHaveLength(5);
  });

  it.each(['create', 'apply'] as const)(
    'sees a node that comes while it is being stored: %s',
    async (how) => {
      const held = heldPlans();
      const made = sim[how]({ name: 'web', placement: { constraints: { disk: 'ssd' } } });
      await sim.settle();
      await sim.enrol('n4', { labels: { disk: 'ssd' } });
      await sim.advance(1000);
      expect(held.count).toBe(1);
      held.letGo();
      await made;
      await sim.advance(1000);
      expect(sim.wanted('web').map(({ nodeId }) => nodeId)).toEqual(['n4']);
      expect(await sim.events('deployment.unschedulable')).toHaveLength(1);
    },
  );
});

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Simulation, TENANT } from '../../../../test/support/simulation/controllers.ts';
import type { TenantId } from '../../../core/model/ids.ts';
import { OwnedStore, ShardNotHeldError } from '../../cluster/owned-store.ts';
import { globalKey } from '../../store/keys.ts';
import { type Commit, type CommitResult, KvTooLargeError, KvUnavailableError } from '../../store/kv.ts';
import { idOf } from '../../store/record-ids.ts';
import type { TenantStore } from '../../store/store.ts';
import type { Transaction } from '../../store/transaction.ts';
import { JointCommits } from './joint-commits.ts';

const OTHER = '22222222-2222-4222-8222-222222222222' as TenantId;

let sim: Simulation;
beforeEach(async () => {
  sim = await Simulation.start();
});
afterEach(async () => {
  await sim.stop();
  expect(sim.problems).toEqual([]);
});

/** Deployments whose plan is in the commit. */
function planned({ puts = [] }: Commit): readonly string[] {
  return [...new Set(puts.flatMap(({ key }) => key.split(/\/(?:rollouts|deployment-status)\//u)[1] ?? []))];
}

/** Commits with a plan, as they are asked for; `alter` may do something else with them. */
function overhear(alter: (commit: Commit, pass: () => Promise<CommitResult>) => Promise<CommitResult>) {
  const heard: Commit[] = [];
  const commit = sim.kv.commit.bind(sim.kv);
  sim.kv.commit = async (asked) => {
    if (planned(asked).length === 0) return commit(asked);
    heard.push(asked);
    return alter(asked, () => commit(asked));
  };
  return heard;
}

const names = (count: number): string[] =>
  Array.from({ length: count }, (_, at) => `app-${String(at).padStart(3, '0')}`);

/** All in one turn of the event loop, as the first look after a start, a new node or a larger quota finds them. */
async function applyAtOnce(count: number, replicas = 1): Promise<readonly string[]> {
  const applied = names(count);
  await Promise.all(applied.map((name) => sim.apply({ name, replicas })));
  await sim.settle();
  return applied;
}

/** Each placed once, told once, and no room held for anything else. */
async function expectPlacedOnce(applied: readonly string[], replicas = 1): Promise<void> {
  for (const name of applied) {
    expect(sim.instances(name), name).toHaveLength(replicas);
    expect(sim.status(name), name).toMatchObject({ phase: 'Running', running: replicas });
  }
  expect(sim.clusters.of(TENANT).containers).toBe(applied.length * replicas);
  expect(await sim.events('instance.created')).toHaveLength(applied.length * replicas);
  expect(await sim.events('deployment.placed')).toHaveLength(applied.length);
}

/** So many more, beside instances that are there already. */
async function expectPlacedBeside(count: number, there: number): Promise<void> {
  for (const name of await applyAtOnce(count)) expect(sim.instances(name), name).toHaveLength(1);
  expect(sim.clusters.of(TENANT).containers).toBe(there + count);
}

it('a small deployment waits behind none of 200 large ones, of its own tenant or of another', async () => {
  await sim.controllers.stop();
  const other = sim.store.forTenant(OTHER);
  for (const name of Array.from({ length: 200 }, (_, at) => `large-${at}`))
    await sim.apply({ name, replicas: 1000 });
  await sim.apply({ name: 'small' });
  const small = sim.tenant.get('deployments', idOf('deployments', 'small'))?.record;
  if (small === undefined) throw new Error('not stored');
  await other.commit(
    other.transaction().put('deployments', idOf('deployments', 'small'), { ...small, tenantId: OTHER }),
  );
  for (const node of ['n1', 'n2', 'n3'])
    await sim.write((transaction) => transaction.delete('nodes', idOf('nodes', node)));
  const planned: string[] = [];
  const commit = sim.kv.commit.bind(sim.kv);
  sim.kv.commit = async (asked) => {
    for (const { key } of asked.puts ?? []) if (key.includes('/deployment-status/')) planned.push(key);
    return commit(asked);
  };
  await sim.restart();
  expect(planned).toHaveLength(202);
  const at = (tenantId: TenantId): number =>
    planned.findIndex((key) => key.includes(tenantId) && key.endsWith('/small'));
  expect(at(TENANT)).toBe(0);
  // Their plans are stored by tenant, at most 64 of a turn.
  expect(at(OTHER)).toBeLessThanOrEqual(64);
});

describe('plans of one moment', () => {
  it('are stored by one commit, under the guards of each, with their events', async () => {
    const heard = overhear((_asked, pass) => pass());
    const applied = await applyAtOnce(10);
    const [joint] = heard;
    expect(planned(joint ?? {})).toEqual(applied);
    const guarded = joint?.guards?.map(({ key }) => key);
    for (const kind of ['deployments', 'rollouts', 'canaries'] as const)
      for (const name of applied) expect(guarded).toContain(`h/t/${TENANT}/${kind}/${name}`);
    expect(joint?.puts?.filter(({ key }) => key.includes('/events/'))).toHaveLength(20);
    await expectPlacedOnce(applied);
  });

  it('are as many as etcd takes in one transaction, and no more', async () => {
    const heard = overhear((_asked, pass) => pass());
    const applied = await applyAtOnce(60);
    await expectPlacedOnce(applied);
    for (const { guards = [], puts = [], deletes = [] } of heard) {
      expect(puts.length + deletes.length).toBeLessThanOrEqual(120);
      expect(guards.length).toBeLessThanOrEqual(120);
    }
    expect(heard.filter((asked) => planned(asked).length > 1).length).toBeGreaterThan(2);
  });

  it('of a store that takes more are fewer commits, and a large deployment is fewer plans', async () => {
    await sim.stop();
    sim = await Simulation.start(['n1', 'n2', 'n3', 'n4'], 720);
    const heard = overhear((_asked, pass) => pass());
    await sim.apply({ name: 'large', replicas: 300 });
    await sim.advance(1000);
    const created = heard.map(
      ({ puts = [] }) => puts.filter(({ key }) => key.includes('/instances/')).length,
    );
    expect(created.filter((count) => count > 0)).toEqual([240, 60]);
    expect(heard[0]?.puts?.filter(({ key }) => key.includes('/events/'))).toHaveLength(240);
    expect(sim.instances('large')).toHaveLength(300);
    expect(sim.status('large')).toMatchObject({ phase: 'Running', running: 300 });
    expect(await sim.events('instance.started')).toHaveLength(300);
    heard.splice(0);
    await expectPlacedBeside(60, 300);
    expect(planned(heard[0] ?? {})).toHaveLength(60);
    await sim.apply({ name: 'large', replicas: 0 });
    await sim.advance(1000);
    expect(sim.instances('large')).toEqual([]);
  });

  it('lose nothing by the conflict of one: each is decided again and goes by itself', async () => {
    const heard = overhear(async (_asked, pass) => {
      if (heard.length > 1) return pass();
      // A request changes one of them while the plans are on their way.
      const id = idOf('deployments', 'app-003');
      const stored = sim.tenant.get('deployments', id);
      if (stored === undefined) throw new Error('not stored');
      const { record } = stored;
      await sim.write((transaction) =>
        transaction.put('deployments', id, { ...record, spec: { ...record.spec, replicas: 2 } }),
      );
      return pass();
    });
    const applied = await applyAtOnce(6);
    expect(heard.slice(0, 7).map((asked) => planned(asked).length)).toEqual([6, 1, 1, 1, 1, 1, 1]);
    for (const name of applied) expect(sim.instances(name)).toHaveLength(name === 'app-003' ? 2 : 1);
    expect(sim.clusters.of(TENANT).containers).toBe(7);
    expect(await sim.events('instance.created')).toHaveLength(7);
  });

  it('keep the quota though all are decided again', async () => {
    await sim.write((transaction) => transaction.put('quota', 'quota', { containers: 5 }));
    let conflicts = 0;
    overhear(async (asked, pass) => {
      if (planned(asked).length === 1) return pass();
      conflicts += 1;
      return { ok: false, failed: [asked.guards?.[0]?.key ?? ''] };
    });
    await applyAtOnce(8);
    expect(conflicts).toBeGreaterThan(0);
    expect(sim.tenant.list('instances')).toHaveLength(5);
    expect(sim.clusters.of(TENANT).containers).toBe(5);
  });

  it('go by themselves where the store takes less in one commit', async () => {
    overhear(async (asked, pass) => {
      if (planned(asked).length > 1) throw new KvTooLargeError('too much');
      return pass();
    });
    await expectPlacedOnce(await applyAtOnce(5));
  });

  it('are harmed once by one that the store never takes', async () => {
    const tries: number[] = [];
    overhear(async (asked, pass) => {
      const among = planned(asked);
      if (!among.includes('app-001')) return pass();
      tries.push(among.length);
      throw new TypeError('it has no UTF-8 form');
    });
    const applied = await applyAtOnce(4);
    expect(sim.clusters.of(TENANT).containers).toBe(0);
    expect(sim.problems.splice(0)).toHaveLength(4);
    await sim.advance(5000);
    for (const name of applied) expect(sim.instances(name)).toHaveLength(name === 'app-001' ? 0 : 1);
    expect(tries.slice(0, 3)).toEqual([4, 1, 1]);
    expect(new Set(tries.slice(1))).toEqual(new Set([1]));
    sim.problems.splice(0);
  });

  it.each([
    ['before', true],
    ['after', false],
  ] as const)('are placed once when the answer of the store is lost %s it wrote', async (_side, before) => {
    let lost = 0;
    overhear(async (asked, pass) => {
      if (lost > 0) return pass();
      lost += planned(asked).length;
      if (!before) await pass();
      throw new KvUnavailableError('lost', before);
    });
    const applied = await applyAtOnce(5);
    expect(lost).toBe(5);
    expect(sim.problems.splice(0)).toHaveLength(5);
    await sim.advance(1000);
    await expectPlacedOnce(applied);
  });

  it('do not take one along that removes something', async () => {
    const applied = await applyAtOnce(3);
    for (const name of applied) await sim.apply({ name, image: 'shop/web:2' });
    await sim.advance(10_000);
    const heard: Commit[] = [];
    const commit = sim.kv.commit.bind(sim.kv);
    sim.kv.commit = async (asked) => {
      heard.push(asked);
      return commit(asked);
    };
    await sim.write((transaction) => {
      for (const name of applied) transaction.delete('deployments', idOf('deployments', name));
    });
    await sim.settle();
    expect(sim.tenant.list('instances')).toEqual([]);
    const removing = heard.filter(({ deletes = [] }) => deletes.some((key) => key.includes('/instances/')));
    expect(removing).toHaveLength(3);
  });

  it('are decided by two processes at once, and none is placed twice', async () => {
    const stopRival = await sim.rival();
    const heard = overhear((_asked, pass) => pass());
    const applied = await applyAtOnce(30, 2);
    expect(heard.filter((asked) => planned(asked).length > 1).length).toBeGreaterThan(0);
    await stopRival();
    await expectPlacedOnce(applied, 2);
  });

  it('of large deployments are decided by two processes, one of which goes, and none is placed twice', async () => {
    await sim.stop();
    sim = await Simulation.start(['n1', 'n2', 'n3', 'n4'], 360);
    const stopRival = await sim.rival();
    const [stopped, heard] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let count = 0;
    overhear((_asked, pass) => {
      count += 1;
      if (count === 3) heard.resolve();
      return pass();
    });
    // In the middle: each has several plans to go.
    void heard.promise.then(async () => sim.controllers.stop()).then(stopped.resolve, stopped.reject);
    const applied = names(3);
    await Promise.all(applied.map((name) => sim.apply({ name, replicas: 300 })));
    await stopped.promise;
    for (const name of applied) await expect.poll(() => sim.instances(name).length).toBe(300);
    await stopRival();
    await sim.restart();
    for (const name of applied) expect(sim.instances(name), name).toHaveLength(300);
    expect(sim.clusters.of(TENANT).containers).toBe(900);
    expect(await sim.events('instance.created')).toHaveLength(900);
  });
});

describe('joint commits', () => {
  const touch = (tenant: TenantStore, id: string): Transaction =>
    tenant
      .transaction()
      .expect('rollouts', id, tenant.get('rollouts', id))
      .put('rollouts', id, {
        deploymentId: 'dep_1' as never,
        specHash: '',
        version: 1,
        state: 'complete',
        placed: true,
        generation: 1,
      });

  function gathering() {
    const asked: Transaction[] = [];
    const joint = new JointCommits(async (tenant, transaction) => {
      asked.push(transaction);
      const { ok } = await tenant.commit(transaction);
      return ok;
    }, 120);
    return { asked, joint };
  }

  it('are of one tenant each: what keeps the one from being stored is nothing to the other', async () => {
    const { asked, joint } = gathering();
    const [mine, other] = [sim.store.forTenant(TENANT), sim.store.forTenant(OTHER)];
    const stale = touch(mine, 'a');
    await sim.write((transaction) => transaction.include({ puts: touch(mine, 'a').toCommit().puts ?? [] }));
    const asking = [
      joint.commit(`${TENANT}/a`, mine, stale),
      joint.commit(`${OTHER}/a`, other, touch(other, 'a')),
      joint.commit(`${TENANT}/b`, mine, touch(mine, 'b')),
      joint.commit(`${OTHER}/b`, other, touch(other, 'b')),
    ];
    joint.send();
    const stored = await Promise.all(asking);
    expect(asked.map(({ tenantId }) => tenantId)).toEqual([TENANT, OTHER]);
    expect(stored).toEqual([false, true, false, true]);
    // The second time by themselves.
    const again = await Promise.all([
      joint.commit(`${TENANT}/a`, mine, touch(mine, 'a')),
      joint.commit(`${TENANT}/b`, mine, touch(mine, 'b')),
    ]);
    expect(again).toEqual([true, true]);
    expect(asked).toHaveLength(4);
  });

  it('say when so much is under way that more would only keep others waiting', async () => {
    const stored = Promise.withResolvers<boolean>();
    const joint = new JointCommits(() => stored.promise, 720);
    const tenant = sim.store.forTenant(TENANT);
    const asked: Promise<boolean>[] = [];
    const ask = (count: number): void => {
      for (let at = 0; at < count; at += 1)
        asked.push(joint.commit(`${TENANT}/${asked.length}`, tenant, touch(tenant, `d${asked.length}`)));
      joint.send();
    };
    ask(4095);
    expect(joint.isFull).toBe(false);
    ask(1);
    expect(joint.isFull).toBe(true);
    stored.resolve(true);
    await Promise.all(asked);
    expect(joint.isFull).toBe(false);
  });

  it('are guarded by the shard in which they were decided, and store nothing once it moved', async () => {
    const key = globalKey('shards', '1');
    let revision = 0;
    const owned = new OwnedStore(sim.store, () => ({ key, modRevision: revision }));
    const take = async (owner: string): Promise<void> => {
      const result = await sim.kv.commit({ puts: [{ key, value: JSON.stringify({ v: 1, owner }) }] });
      if (result.ok && owner === 'this') ({ revision } = result);
    };
    const { asked, joint } = gathering();
    const decided = () => {
      const asking = ['a', 'b', 'c'].map((id) => {
        const tenant = owned.forTenant(TENANT);
        return joint.commit(`${TENANT}/${id}`, tenant, touch(tenant, id));
      });
      return { asking, send: () => joint.send() };
    };
    await take('this');
    const first = decided();
    first.send();
    expect(await Promise.all(first.asking)).toEqual([true, true, true]);
    expect(asked).toHaveLength(1);
    expect(asked[0]?.toCommit().guards?.filter((guard) => guard.key === key)).toHaveLength(1);
    const late = decided();
    await take('another');
    late.send();
    for (const asked of late.asking) await expect(asked).rejects.toThrow(ShardNotHeldError);
    expect(owned.refused).toBe(1);
    expect(sim.tenant.get('rollouts', 'a')?.modRevision).toBe(sim.tenant.get('rollouts', 'c')?.modRevision);
  });
});

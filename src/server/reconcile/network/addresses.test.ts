import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Simulation } from '../../../../test/support/simulation/controllers.ts';
import { HELD_MS } from '../../../core/plan/network/addresses.ts';
import type { Commit } from '../../store/kv.ts';
import { KvUnavailableError } from '../../store/kv.ts';
import { idOf } from '../../store/record-ids.ts';

const MESH = { publicKey: 'key', port: 51_820, addresses: ['192.0.2.1'] };

describe('addresses of a tenant', () => {
  let sim: Simulation;
  beforeEach(async () => {
    sim = await Simulation.start(['n1']);
    await sim.alterNode('n1', { mesh: MESH });
    await sim.apply({ name: 'web' });
    await sim.settle();
  });
  afterEach(() => sim.stop());

  const subnetOf = (node: string) => sim.tenant.get('subnets', idOf('subnets', node))?.record;
  const addressOf = (name: string) =>
    sim.tenant.get('virtual-addresses', idOf('virtual-addresses', name))?.record;

  /** Before each commit that stores such a record. */
  function beforeCommits(kind: string, work: () => Promise<void>): void {
    const commit = sim.kv.commit.bind(sim.kv);
    sim.kv.commit = async (asked: Commit) => {
      if (asked.puts?.some(({ key }) => key.includes(`/${kind}/`))) await work();
      return commit(asked);
    };
  }

  it('are given to one that comes, held for one that goes, and given back to it', async () => {
    expect([subnetOf('n1'), addressOf('web')]).toEqual([
      { subnet: '10.210.0.0/24' },
      { address: '10.211.0.1' },
    ]);
    await sim.apply({ name: 'db' });
    await sim.remove('web');
    await sim.settle();
    await sim.apply({ name: 'cache' });
    await sim.settle();
    expect([addressOf('db'), addressOf('cache')]).toEqual([
      { address: '10.211.0.2' },
      { address: '10.211.0.3' },
    ]);
    expect(addressOf('web')).toMatchObject({ address: '10.211.0.1', releasedAtMs: expect.any(Number) });
    await sim.apply({ name: 'web' });
    await sim.settle();
    expect(addressOf('web')).toEqual({ address: '10.211.0.1' });
    await sim.remove('web');
    sim.time.suspend(HELD_MS);
    await sim.advance(20_000);
    expect(addressOf('web')).toBeUndefined();
  });

  it('are given to a node that joins while those of a deployment are being stored', async () => {
    let joined = false;
    beforeCommits('virtual-addresses', async () => {
      if (joined) return;
      joined = true;
      await sim.enrol('n2', { mesh: { ...MESH, addresses: ['192.0.2.2'] } });
    });
    await sim.apply({ name: 'db' });
    await sim.settle();
    expect([joined, addressOf('db'), subnetOf('n2')]).toEqual([
      true,
      { address: '10.211.0.2' },
      { subnet: '10.210.1.0/24' },
    ]);
  });

  it.each(['subnets', 'virtual-addresses'])(
    'are given after all when the store was away: %s',
    async (kind) => {
      let faults = 1;
      beforeCommits(kind, async () => {
        if (faults-- > 0) throw new KvUnavailableError('away', true);
      });
      if (kind === 'subnets') await sim.enrol('n2', { mesh: MESH });
      else await sim.apply({ name: 'db' });
      await sim.settle();
      await sim.advance(5000);
      expect(faults).toBeLessThan(1);
      expect(kind === 'subnets' ? subnetOf('n2') : addressOf('db')).toBeDefined();
    },
  );
});

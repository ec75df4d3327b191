import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { globalKey } from '../../store/keys.ts';
import { encodeRecord } from '../../store/records.ts';
import { Simulation } from '../../../../test/support/simulation/controllers.ts';

/** The node n1 has its session with another control plane, which never tells beats. */
describe('nodes that are connected to another control plane', () => {
  let sim: Simulation;
  const OTHER = globalKey('control-planes', 'cp_other');

  beforeEach(async () => {
    sim = await Simulation.start();
    const url = 'http://other';
    const record = { nodeName: 'm2', startedAt: '', version: '0', url, agentUrl: url };
    await sim.kv.commit({ puts: [{ key: OTHER, value: encodeRecord(record) }] });
    await sim.restart({ controlPlane: 'cp_self' });
    sim.cut('n1');
    await session({});
    await sim.advance(60_000);
  });
  afterEach(async () => {
    await sim.stop();
  });

  const session = (more: { readonly closed?: { readonly silentMs: number }; readonly epoch?: number }) =>
    sim.write((transaction) =>
      transaction.put('node-sessions', 'n1', { controlPlane: 'cp_other', epoch: 1, ...more }),
    );
  const status = () => sim.tenant.get('node-liveness', 'n1')?.record.status;

  it('live as long as their session is open and that control plane lives', async () => {
    await sim.advance(600_000);
    expect(status()).toBe('ready');
  });

  it('are silent from when that control plane ended, unless they come back in time', async () => {
    await sim.kv.commit({ deletes: [OTHER] });
    await sim.advance(12_000);
    expect(status()).toBe('ready');
    await sim.advance(5_000);
    expect(status()).toBe('failed');
    sim.connect('n1');
    await session({ epoch: 2 });
    await sim.settle();
    expect(status()).toBe('ready');
  });

  it('have been silent for as long as that control plane says when it ends their session', async () => {
    await session({ closed: { silentMs: 15_000 } });
    await sim.settle();
    await sim.advance(1_500);
    expect(status()).toBe('failed');
  });

  it('may redial without being failed', async () => {
    await session({ closed: { silentMs: 1_000 } });
    await sim.advance(8_000);
    await session({ epoch: 2 });
    await sim.advance(60_000);
    expect(status()).toBe('ready');
  });

  it('count as connected again for placement only with their session', async () => {
    await session({ closed: { silentMs: 0 } });
    await sim.advance(7_000);
    expect(status()).toBe('ready');
    await sim.apply({ name: 'web', replicas: 4 });
    await sim.advance(1_000);
    expect(sim.wanted('web').filter(({ nodeId }) => nodeId === 'n1')).toEqual([]);
  });
});

import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Simulation } from './simulation.ts';

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
    const kinds = (await sim.events()).map((event) => event.kind);
    expect(kinds.filter((kind) => kind === 'instance.created')).toHaveLength(3);
    expect(kinds.filter((kind) => kind === 'instance.started')).toHaveLength(3);
    expect(kinds.filter((kind) => kind === 'deployment.placed')).toHaveLength(1);
    expect(kinds.filter((kind) => kind === 'deployment.running')).toHaveLength(1);
  });
});

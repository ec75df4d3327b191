import { describe, expect, it } from 'vitest';
import { judge } from './waiting.ts';

const wanted = { name: 'web', specHash: 'new' };
const instance = (specHash: string) => ({ id: 'ins_1', nodeId: 'n1', specHash });

function record(status: object, replicas = 1, specHash = 'new') {
  return {
    name: 'web',
    specHash,
    replicas,
    status: { phase: 'Running', message: '', desired: replicas, healthy: replicas, ...status },
  };
}

describe('a deployment that is waited for', () => {
  it('is healthy when enough instances of its spec are', () => {
    expect(judge(record({ instances: [instance('new')] }), wanted)).toMatchObject({ state: 'healthy' });
  });

  it('is not healthy by a status that was written about the spec before', () => {
    expect(judge(record({ instances: [instance('old')] }), wanted)).toMatchObject({ state: 'waiting' });
  });

  it('is not healthy by a status that was written about another number of instances', () => {
    const stale = record(
      { desired: 3, healthy: 3, instances: [instance('new'), instance('new'), instance('new')] },
      1,
    );
    expect(judge(stale, wanted)).toMatchObject({ state: 'waiting' });
  });

  it('has been reverted when its spec is another one', () => {
    expect(judge(record({ instances: [instance('old')] }, 1, 'old'), wanted)).toMatchObject({
      state: 'reverted',
    });
  });

  it('says the phase and the message while it is not', () => {
    const degraded = record({
      phase: 'Degraded',
      message: 'exit code 1',
      healthy: 0,
      instances: [instance('new')],
    });
    expect(judge(degraded, wanted)).toEqual({ state: 'waiting', words: 'Degraded: exit code 1' });
  });

  it('is stopped when nothing is wanted and nothing is left', () => {
    expect(judge(record({ phase: 'Stopped', instances: [] }, 0), wanted)).toMatchObject({ state: 'healthy' });
    expect(judge(record({ phase: 'Progressing', instances: [] }, 0), wanted)).toMatchObject({
      state: 'waiting',
    });
  });
});

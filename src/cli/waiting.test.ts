import { describe, expect, it } from 'vitest';
import { instanceParts } from './instance-parts.ts';
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

  it('is judged without the instances of a canary', () => {
    const canary = { ...instance('canary'), canary: true };
    const running = { image: 'web:2', replicas: 1, healthy: 0, message: '0 of 1 healthy' };
    const beside = record({ canary: running, instances: [instance('new'), canary] });
    expect(judge(beside, wanted)).toMatchObject({ state: 'healthy', text: '1 of 1 healthy on n1' });
    const short = record(
      { healthy: 1, desired: 2, canary: running, instances: [instance('new'), canary] },
      2,
    );
    expect(judge(short, wanted)).toMatchObject({ state: 'waiting' });
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

  it('has failed when the control plane has given it up, or has put the version before back', () => {
    const failed = { phase: 'Degraded', message: 'exit code 1', healthy: 0, instances: [instance('new')] };
    const late = record({ ...failed, rollout: { version: 2, state: 'failed' } });
    expect(judge(late, wanted)).toEqual({ state: 'failed', text: 'exit code 1' });
    const why = { version: 2, specHash: 'new', message: 'it ended' };
    const back = record({ rollout: { version: 3, state: 'progressing', failed: why } }, 1, 'old');
    expect(judge(back, wanted)).toEqual({
      state: 'failed',
      text: 'version 2 failed, and the version before is back: it ended',
    });
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
    expect(judge(degraded, wanted)).toEqual({ state: 'waiting', text: 'Degraded: exit code 1' });
  });

  it('is stopped when nothing is wanted and nothing is left', () => {
    expect(judge(record({ phase: 'Stopped', instances: [] }, 0), wanted)).toMatchObject({ state: 'healthy' });
    expect(judge(record({ phase: 'Progressing', instances: [] }, 0), wanted)).toMatchObject({
      state: 'waiting',
    });
  });

  it('has a line for each instance of its spec: where it is, how it is, and why', () => {
    const one = (id: string, more: object) => ({ ...instance('new'), id, ...more });
    const seen = record({
      instances: [
        one('ins_01m7mrk35mbhdkt60m02d98gk4', { state: 'running', health: 'healthy', message: 'old news' }),
        one('ins_01m7mrk35mbhdkt60m02d98gk5', {
          state: 'running',
          health: 'unhealthy',
          message: 'exit code 1',
        }),
        one('ins_01m7mrk35mbhdkt60m02d98gk6', { state: 'running', nodeStatus: 'failed' }),
        one('ins_01m7mrk35mbhdkt60m02d98gk7', { state: 'running', canary: true }),
        { ...instance('old'), state: 'running' },
      ],
    });
    expect(instanceParts(seen, 'new').map(({ name, text, isWell }) => [name, text, isWell])).toEqual([
      ['web-02d98gk4 on n1', 'healthy', true],
      ['web-02d98gk5 on n1', 'running, unhealthy: exit code 1', false],
      ['web-02d98gk6 on n1', 'unknown (node failed)', false],
    ]);
    const checked = { ...record({ instances: [one('ins_1', { state: 'running' })] }), healthCheck: {} };
    expect(instanceParts(checked, 'new')).toMatchObject([{ text: 'running', isWell: false }]);
  });
});

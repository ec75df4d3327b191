import { describe, expect, it } from 'vitest';
import type { InstanceObservation } from '../../model/instance.ts';
import { RolloutModel } from '../../../../test/support/samples/rollout-model.ts';

/** A deployment of two instances that has been placed and whose agents have reported once. */
function placed(mode: 'plain' | 'checked' = 'checked'): RolloutModel {
  const model = new RolloutModel(mode);
  model.step();
  model.act();
  model.step();
  return model;
}

function see(model: RolloutModel, altered: Partial<InstanceObservation>): string {
  const [id] = model.instances.keys();
  const seen = id && model.observations.get(id);
  if (seen === undefined) throw new Error('nothing was observed');
  const { health: _health, ...rest } = seen;
  model.observations.set(seen.id, { ...rest, ...altered });
  model.step();
  return (model.status?.message ?? '').replaceAll(seen.id, 'INSTANCE');
}

describe('status of a deployment', () => {
  it('is Running with counts of the current spec', () => {
    expect(placed().status).toEqual({
      specHash: 'image-0',
      phase: 'Running',
      message: '2 of 2 instances run',
      desired: 2,
      placed: 2,
      running: 2,
      healthy: 2,
      updated: 2,
    });
  });

  it('counts no more than are wanted while one on a lost node and its successor are there', () => {
    const model = placed('plain');
    const [first] = model.instances.values();
    const node = first && model.nodes.get(first.nodeId);
    if (node === undefined) throw new Error('nothing was placed');
    node.status = 'lost';
    model.step();
    expect(model.instances.size).toBe(3);
    expect(model.status).toMatchObject({ desired: 2, placed: 2, updated: 2 });
  });

  it('stays Degraded while nothing is healthy, also in the moment between two failures', () => {
    const model = placed('plain');
    const all = (altered: Partial<InstanceObservation>): void => {
      for (const [id, seen] of model.observations) model.observations.set(id, { ...seen, ...altered });
      model.step();
    };
    all({ phase: 'exited', exitCode: 1 });
    expect(model.status).toMatchObject({ phase: 'Degraded', healthy: 0 });
    all({ phase: 'starting' });
    expect(model.status).toMatchObject({ phase: 'Degraded', healthy: 0 });
    all({ phase: 'running' });
    expect(model.status).toMatchObject({ phase: 'Running', healthy: 2 });
  });

  it.each<readonly [string, Partial<InstanceObservation>, string]>([
    [
      'a crash loop',
      { phase: 'exited', reason: 'crash_loop', exitCode: 137, restarts: 5 },
      'instance INSTANCE on n0 exits again and again with code 137 after 5 restarts',
    ],
    ['an exit', { phase: 'exited', exitCode: 1 }, 'instance INSTANCE on n0 exited with code 1'],
    [
      'an image that cannot be pulled',
      { phase: 'failed', reason: 'image_pull_failed', message: 'manifest unknown' },
      'instance INSTANCE on n0 has no container, its image cannot be pulled: manifest unknown',
    ],
    [
      'secrets that cannot be resolved',
      { phase: 'pending', reason: 'secret_unresolved', message: 'resources/db: 403' },
      'instance INSTANCE on n0 has no container, its secrets cannot be resolved: resources/db: 403',
    ],
    [
      'a health check whose command is missing',
      {
        phase: 'running',
        health: 'unhealthy',
        reason: 'healthcheck_command_not_found',
        message: 'no curl in the image',
      },
      'instance INSTANCE on n0 cannot be checked: no curl in the image',
    ],
    [
      'a crash loop that runs just now',
      { phase: 'running', health: 'healthy', reason: 'crash_loop', message: 'it ended 5 times' },
      'instance INSTANCE on n0 exits again and again: it ended 5 times',
    ],
    [
      'a missing command',
      {
        phase: 'exited',
        reason: 'command_not_found',
        exitCode: 127,
        message: 'exit code 127: no such command',
      },
      'instance INSTANCE on n0 failed (command_not_found): exit code 127: no such command',
    ],
    [
      'an unhealthy workload',
      { phase: 'running', health: 'unhealthy' },
      'instance INSTANCE on n0 is unhealthy',
    ],
    [
      'a reason nobody has words for',
      { phase: 'failed', reason: 'oom' },
      'instance INSTANCE on n0 failed (oom)',
    ],
  ])('is Degraded by %s, and says which instance, where and why', (_what, altered, message) => {
    const model = placed();
    expect(see(model, altered)).toBe(message);
    expect(model.status).toMatchObject({ phase: 'Degraded', healthy: 1, placed: 2 });
  });

  it('does not count a container that was made from another spec than the wanted one', () => {
    const model = placed();
    see(model, { phase: 'running', health: 'healthy', specHash: 'another' });
    expect(model.status).toMatchObject({ phase: 'Progressing', running: 1, healthy: 1, updated: 1 });
  });

  it.each([
    ['nothing', {}, ''],
    ['how the run before ended', { message: 'in the run before, it ended' }, ': in the run before, it ended'],
  ])(
    'says of a rollout that failed between two ends that its program was started again, and %s',
    (_what, told, said) => {
      const model = new RolloutModel('checked');
      model.apply('image-0', 1, { progressDeadline: '3s', onFailure: 'leave' });
      model.step();
      model.act();
      for (const [id, { health: _health, ...seen }] of model.observations)
        model.observations.set(id, { ...seen, phase: 'running', health: 'starting', restarts: 2, ...told });
      model.step();
      model.nowMs += 4_000;
      model.step();
      expect(model.status?.message).toMatch(
        new RegExp(
          `^the rollout failed, no progress within 3 s: instance ins-\\d+ on n\\d has ended and been started again 2 times${said}$`,
        ),
      );
    },
  );

  it('names a few failing instances and counts the rest', () => {
    const model = new RolloutModel('checked');
    model.apply('image-0', 6);
    model.badImages.add('image-0');
    model.step();
    model.act();
    model.step();
    expect(model.status?.message).toMatch(
      /^(instance ins-\d+ on n\d is unhealthy; ){3}and 3 more instances$/,
    );
  });

  it('tells what is done and what still serves while an update runs', () => {
    const model = placed();
    model.apply('image-1', 2);
    model.step();
    expect(model.status).toMatchObject({
      phase: 'Progressing',
      message: '1 of 2 placed, 0 running, 0 healthy; 2 of 2 instances that are to be replaced still serve',
      placed: 1,
    });
  });

  it('is Degraded when a node does not answer', () => {
    const model = placed();
    model.nodes.set([...model.nodes.keys()][0] ?? ('' as never), { status: 'silent', draining: false });
    model.step();
    expect(model.status?.phase).toBe('Degraded');
    expect(model.status?.message).toMatch(/^instance ins-\d+: node n0 does not answer$/);
  });

  it('is Pending when nothing can be placed, Waiting at a closed gate', () => {
    const model = new RolloutModel('plain');
    for (const node of model.nodes.values()) node.draining = true;
    model.step();
    expect(model.status).toMatchObject({ phase: 'Pending', message: 'no node takes it: no node', placed: 0 });
    model.gateClosed = true;
    model.step();
    expect(model.status).toMatchObject({ phase: 'Waiting', message: 'waiting for db' });
  });

  it('is Stopped only when the containers are gone', () => {
    const model = placed();
    model.apply('image-0', 0);
    model.step();
    expect(model.status).toMatchObject({
      phase: 'Progressing',
      message: 'stopping: 2 containers are still to be removed',
    });
    model.act();
    model.step();
    expect(model.status).toMatchObject({ phase: 'Stopped', desired: 0 });
  });
});

import { describe, expect, it } from 'vitest';
import { containerOf, NODES, RolloutModel } from '../../../../test/support/samples/rollout-model.ts';
import { restartAfterMs } from './health-restart.ts';

const CHECK = { type: 'exec', command: ['probe'] } as const;

/** A checked deployment that is rolled out and well. */
function running(
  replicas: number,
  check: Parameters<RolloutModel['apply']>[3] = {},
  mode = 'checked' as const,
) {
  const model = new RolloutModel(mode);
  model.apply('image-1', replicas, undefined, check);
  settle(model);
  expect(model.rollout?.state).toBe('complete');
  return model;
}

function settle(model: RolloutModel, rounds = 8): void {
  for (let round = 0; round < rounds; round += 1) {
    model.step();
    model.act();
  }
}

function hang(model: RolloutModel, count = Infinity): void {
  for (const record of [...model.instances.values()].slice(0, count)) model.hung.add(containerOf(record));
  model.act();
  model.step();
}

/** Time passes in seconds; answers what was told meanwhile, in order. */
function pass(model: RolloutModel, seconds: number, act = true): readonly string[] {
  const told: string[] = [];
  for (let second = 0; second < seconds; second += 1) {
    model.nowMs += 1_000;
    const { events } = model.step();
    told.push(...events.map(({ kind }) => kind));
    if (act) model.act();
  }
  return told;
}

const restarts = (told: readonly string[]) => told.filter((kind) => kind === 'instance.restarted').length;
const attempts = (model: RolloutModel) => [...model.instances.values()].map(({ attempt }) => attempt);

describe('how long an instance may be unhealthy', () => {
  it.each([
    ['no check', undefined, undefined],
    ['the check of the engine: every 30 s', CHECK, 90_000],
    ['three more intervals', { ...CHECK, interval: '20s' }, 60_000],
    ['at least 30 s', { ...CHECK, interval: '1s' }, 30_000],
    ['as it says', { ...CHECK, restartAfter: '5m' }, 300_000],
    ['never', { ...CHECK, restartAfter: 'never' }, undefined],
  ])('%s', (_what, check, ms) => {
    expect(restartAfterMs(check)).toBe(ms);
  });
});

describe('an instance that hangs', () => {
  it('is restarted in place, once, after its time', () => {
    const model = running(2);
    const before = [...model.instances.keys()];
    hang(model, 1);
    expect(restarts(pass(model, 88))).toBe(0);
    const told = pass(model, 10);
    expect(told).toEqual(['instance.restarted', 'instance.started', 'deployment.running']);
    expect([...model.instances.keys()]).toEqual(before);
    expect(attempts(model)).toEqual([1, 0]);
    expect(restarts(pass(model, 900))).toBe(0);
  });

  it('says why', () => {
    const model = running(1, { restartAfter: '40s' });
    hang(model);
    model.nowMs += 41_000;
    const [event] = model.step().events;
    expect(event?.message).toMatch(/is restarted \(restart 1\), unhealthy for 41 s/);
    expect(event?.details).toMatchObject({ reason: 'unhealthy', restarts: 1, attempt: 1 });
  });

  it('is left alone with never, and where nothing checks', () => {
    const model = running(2, { restartAfter: 'never' });
    hang(model);
    expect(restarts(pass(model, 2_000))).toBe(0);
  });

  it('is given longer after each restart that did not help', () => {
    const model = running(1, { restartAfter: '10s' });
    model.quota = 1;
    const at: number[] = [];
    for (let second = 0; second < 400; second += 1) {
      hang(model);
      if (restarts(pass(model, 1)) > 0) at.push(second);
    }
    const gaps = at.slice(1).map((one, index) => one - (at[index] ?? 0));
    expect(gaps.length).toBeGreaterThan(3);
    for (const [index, gap] of gaps.entries()) expect(gap).toBeGreaterThanOrEqual(10 * 2 ** (index + 1));
  });

  it('what has not been well yet is given as long as a rollout gives it, unless its spec says otherwise', () => {
    const model = running(1);
    const [record] = model.instances.values();
    if (record === undefined) throw new Error('no instance');
    hang(model);
    model.hung.add(containerOf({ ...record, attempt: 1 }));
    expect(restarts(pass(model, 120))).toBe(1);
    expect(restarts(pass(model, 500))).toBe(0);
    expect(restarts(pass(model, 200))).toBe(1);
  });
});

describe('never all at the same time', () => {
  it.each([2, 3, 5])('%d of them hang: one after the other', (count) => {
    const model = running(count, { restartAfter: '30s' });
    hang(model);
    let most = 0;
    for (let second = 0; second < 200; second += 1) {
      const before = attempts(model);
      pass(model, 1, second % 3 === 0);
      most = Math.max(most, attempts(model).filter((attempt, index) => attempt !== before[index]).length);
      const seen = [...model.instances.values()].filter(
        (record) => model.observations.get(record.id)?.containerId !== containerOf(record),
      );
      expect(seen.length).toBeLessThanOrEqual(1);
    }
    expect(most).toBe(1);
    expect(attempts(model)).toEqual(Array.from({ length: count }, () => 1));
  });

  it('not while another one starts, stops, or is on a node that does not answer', () => {
    const model = running(2, { restartAfter: '30s' });
    const [first, second] = [...model.instances.values()];
    if (first === undefined || second === undefined) throw new Error('no instances');
    hang(model, 1);
    const node = model.nodes.get(second.nodeId);
    if (node === undefined) throw new Error('no node');
    node.status = 'silent';
    expect(restarts(pass(model, 60))).toBe(0);
    node.status = 'ready';
    expect(restarts(pass(model, 2))).toBe(1);
  });

  it('not while a rollout judges the new ones', () => {
    const model = running(2, { restartAfter: '30s' });
    model.badImages.add('image-2');
    model.apply('image-2', 2, { progressDeadline: '300s' }, { restartAfter: '30s' });
    expect(restarts(pass(model, 250))).toBe(0);
    expect(model.rollout?.state).toBe('progressing');
    pass(model, 60);
    expect(model.rollout?.state).toBe('failed');
  });
});

describe('where restarts do not help', () => {
  /** Whatever runs there hangs. */
  function sickNode(model: RolloutModel, node: string, seconds: number): readonly string[] {
    const told: string[] = [];
    for (let second = 0; second < seconds; second += 1) {
      for (const record of model.instances.values())
        if (record.nodeId === node) model.hung.add(containerOf(record));
      told.push(...pass(model, 1));
    }
    return told;
  }

  it('it is moved to another node, which is there before it goes', () => {
    const model = running(2, { restartAfter: '10s' });
    const told = sickNode(model, NODES[0] ?? '', 300);
    expect(restarts(told)).toBe(3);
    const moved = told.filter((kind) => kind !== 'instance.restarted');
    expect(moved.indexOf('instance.leaving')).toBeLessThan(moved.indexOf('instance.created'));
    expect(moved.indexOf('instance.created')).toBeLessThan(moved.indexOf('instance.replaced'));
    const nodes = [...model.instances.values()].map(({ nodeId }) => nodeId);
    expect(nodes).toHaveLength(2);
    expect(nodes).not.toContain(NODES[0]);
    expect(model.healthy()).toHaveLength(2);
  });

  it('it stays, and says why, where no other node takes it', () => {
    const model = running(2, { restartAfter: '10s' });
    model.quota = 2;
    const told = sickNode(model, NODES[0] ?? '', 300);
    expect(restarts(told)).toBeGreaterThan(3);
    expect(told).not.toContain('instance.leaving');
    expect(model.instances.size).toBe(2);
  });

  it('a writer stays with its volume', () => {
    const model = new RolloutModel('single-writer');
    model.apply('image-1', 1, undefined, { restartAfter: '10s' });
    settle(model);
    const before = [...model.instances.keys()];
    const told = sickNode(model, NODES[0] ?? '', 300);
    expect(restarts(told)).toBeGreaterThan(3);
    expect([...model.instances.keys()]).toEqual(before);
  });
});

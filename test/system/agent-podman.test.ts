import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AgentBench, instance, stopped, TEST_IMAGE } from '../support/agent.ts';
import { buildTestImage, startPodman, type TestEngine } from '../support/engine.ts';

let daemon: TestEngine;

beforeAll(async () => {
  daemon = await startPodman();
  await buildTestImage(daemon, TEST_IMAGE);
});

afterAll(async () => {
  await daemon.stop();
});

describe('an agent on Podman', () => {
  it('runs, checks, replaces and stops', async () => {
    await using bench = await AgentBench.start(daemon);
    const { plane, agent, engine } = bench;
    const healthCheck = { command: ['test -e /tmp/well'], intervalMs: 300, retries: 1, timeoutMs: 10_000 };
    const wanted = instance('ins_1', {
      healthCheck,
      command: ['sh', '-c', 'sleep 1; touch /tmp/well; sleep 999'],
    });
    plane.assign([wanted, instance('ins_2')]);
    await plane.untilPhase('ins_2', 'running');
    await plane.until('healthy', () => plane.observations.get('ins_1')?.health === 'healthy');
    const before = await bench.pids();
    await agent.end('SIGKILL');
    plane.observations.clear();
    agent.start();
    await plane.untilPhase('ins_1', 'running');
    expect(await bench.pids()).toEqual(before);

    plane.assign([{ ...wanted, attempt: 1 }, stopped('ins_2')]);
    await plane.untilPhase('ins_2', 'removed');
    await expect
      .poll(async () => (await bench.pids().catch(() => before)).get('ins_1') !== before.get('ins_1'), {
        timeout: 20_000,
      })
      .toBe(true);
    plane.assign([stopped('ins_1')]);
    await plane.untilPhase('ins_1', 'removed');
    expect(await engine.list({ all: true })).toEqual([]);
  });
});

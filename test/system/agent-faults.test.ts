import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AgentBench, instance, stopped, TEST_IMAGE } from '../support/harness/agent-bench.ts';
import { LONG_TIER } from '../support/fault-tier.ts';
import { buildTestImage, startEngine, type TestEngine } from '../support/harness/engine.ts';

/** F-05. */
const KILLS = 140;
/** Kills fall from before the first call to the engine until after the last one, and then once more. */
const KILL_POINTS = 15;
const KILL_TIMEOUT_MS = 120_000 + KILLS * 10_000;

let daemon: TestEngine;

beforeAll(async () => {
  daemon = await startEngine({ liveRestore: true });
  await buildTestImage(daemon, TEST_IMAGE);
});

afterAll(async () => {
  await daemon.stop();
});

describe('an agent survives', () => {
  it('its own death: containers keep their process, and it takes them up again', async () => {
    await using bench = await AgentBench.start(daemon);
    const { plane, agent } = bench;
    plane.assign([instance('ins_1'), instance('ins_2')]);
    await plane.untilPhase('ins_1', 'running');
    await plane.untilPhase('ins_2', 'running');
    const before = await bench.pids();
    await agent.end('SIGKILL');
    plane.observations.clear();
    agent.launch('spent-token');
    await plane.untilPhase('ins_1', 'running');
    await plane.untilPhase('ins_2', 'running');
    expect(await bench.pids()).toEqual(before);
    expect(plane.resolves).toEqual([]);
  });

  // In every run by `agent-crash-points`, which kills it at each call that changes something rather than at moments.
  it.runIf(LONG_TIER)(
    'being killed at any step: one container per instance, none left behind',
    {
      timeout: KILL_TIMEOUT_MS,
    },
    async () => {
      await using bench = await AgentBench.start(daemon);
      const { plane, agent } = bench;
      plane.assign([]);
      await plane.until('a session', () => plane.connected);
      const ids = ['ins_1', 'ins_2', 'ins_3'];
      for (let round = 0; round < KILLS; round += 1) {
        const wanted = ids.map((id) =>
          round % 3 === 2 ? stopped(id) : instance(id, { needsSecrets: round % 2 === 0 }, { attempt: round }),
        );
        plane.observations.clear();
        plane.assign(wanted);
        await pause(((2 * round) % KILL_POINTS) * 27 + Math.floor(round / KILL_POINTS) * 3);
        await agent.end('SIGKILL');
        agent.launch();
        for (const id of ids) {
          const done = (): boolean => {
            const seen = plane.observations.get(id);
            return round % 3 === 2 ? seen?.phase === 'removed' : seen?.phase === 'running';
          };
          await plane.until(`round ${round}: ${id}`, done);
        }
        // A call of the killed agent may reach the engine late: what it made is never started, and soon removed.
        const attempts = async (): Promise<readonly unknown[]> =>
          (await bench.engine.list({ all: true })).map(({ labels, status }) => [
            labels['berth.io/attempt'],
            status,
          ]);
        const expected = round % 3 === 2 ? [] : ids.map(() => [String(round), 'running']);
        await expect.poll(attempts, { timeout: 10_000 }).toEqual(expected);
      }
      console.log(`${KILLS} kills of the agent: 0 duplicates, 0 containers left behind`);
    },
  );

  it('a control plane that is away, cut off or silent: nothing is touched', async () => {
    await using bench = await AgentBench.start(daemon);
    const { plane } = bench;
    plane.assign([instance('ins_1')]);
    await plane.untilPhase('ins_1', 'running');
    const before = await bench.pids();
    const { epoch, port } = plane;
    plane.cut();
    await plane.until('a new session', () => plane.epoch > epoch && plane.connected);
    await plane.down();
    await pause(1500);
    expect(await bench.pids()).toEqual(before);
    plane.observations.clear();
    await plane.listen(port);
    await plane.untilPhase('ins_1', 'running');
    expect(await bench.pids()).toEqual(before);

    const silent = plane.epoch;
    plane.mute();
    await plane.until('a redial', () => plane.epoch > silent && plane.connected, 10_000);
    expect(await bench.pids()).toEqual(before);
  });

  it('a restart of the engine', async () => {
    await using bench = await AgentBench.start(daemon);
    const { plane } = bench;
    plane.assign([instance('ins_1')]);
    await plane.untilPhase('ins_1', 'running');
    const before = await bench.pids();
    await daemon.kill9();
    plane.assign([instance('ins_1'), instance('ins_2')]);
    await plane.until('the problem', () => plane.reports.at(-1)?.engineProblem !== undefined);
    expect(plane.observations.get('ins_1')?.phase).toBe('running');
    await daemon.start();
    await plane.untilPhase('ins_2', 'running');
    await plane.until('no problem', () => plane.reports.at(-1)?.engineProblem === undefined);
    expect((await bench.pids()).get('ins_1')).toBe(before.get('ins_1'));
  });

  it('an engine that hangs: told, and nothing is made twice', async () => {
    await using bench = await AgentBench.start(daemon);
    const { plane } = bench;
    plane.assign([]);
    await plane.until('a session', () => plane.connected);
    daemon.pause();
    plane.assign([instance('ins_1')]);
    await plane.until('the problem', () => plane.reports.at(-1)?.engineProblem !== undefined, 25_000);
    daemon.resume();
    await plane.untilPhase('ins_1', 'running', 40_000);
    expect((await bench.pids()).size).toBe(1);
  });

  it('its dismissal: it ends and says why, and leaves containers running', async () => {
    await using bench = await AgentBench.start(daemon);
    const { plane, agent } = bench;
    plane.assign([instance('ins_1')]);
    await plane.untilPhase('ins_1', 'running');
    const before = await bench.pids();
    plane.send({ type: 'farewell', code: 'node_deleted', message: 'the node was deleted', retry: false });
    expect(await agent.end()).toBe(2);
    expect(agent.log()).toContain('node_deleted: the node was deleted');
    expect(await bench.pids()).toEqual(before);
  });
});

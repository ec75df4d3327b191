import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parseMountInfo } from '../../src/agent/volumes/mounts.ts';
import type { AssignedInstance } from '../../src/core/contract/agent-protocol.ts';
import { AgentBench, instance, stopped, TEST_IMAGE } from '../support/agent.ts';
import { buildTestImage, startEngine, type TestEngine } from '../support/engine.ts';
import { INSTALL_ID, TENANT } from '../support/fake-control-plane.ts';

let daemon: TestEngine;
let root: string;

beforeAll(async () => {
  daemon = await startEngine();
  await buildTestImage(daemon, TEST_IMAGE);
});
afterAll(() => daemon.stop());

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'berth-root-'));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

/** Counts its starts in the folder, and ends when it is told to there. */
const COUNTING = 'echo x >> /b/starts; until test -e /b/end; do sleep 0.05; done; rm /b/end; exit 3';

function bound(more: Partial<AssignedInstance> = {}, command = COUNTING): AssignedInstance {
  const bind = { volumeId: 'vol_1', kind: 'bind', source: join(root, 'shop/data') } as const;
  const mounts = [{ ...bind, target: '/b', readOnly: false }];
  return instance('ins_1', { command: ['sh', '-c', command], mounts }, more);
}

const inFolder = (name: string): string => join(root, 'shop/data', name);
const starts = (): number =>
  existsSync(inFolder('starts')) ? readFileSync(inFolder('starts'), 'utf8').split('\n').length - 1 : 0;
const untilStarts = (count: number) => expect.poll(starts, { timeout: 30_000 }).toBe(count);
/** Its process ends by itself. */
const end = (): void => void execFileSync('touch', [inFolder('end')]);

function mountsOf({ agent }: AgentBench): readonly string[] {
  return parseMountInfo(readFileSync('/proc/self/mountinfo', 'utf8'))
    .map(({ mountPoint }) => mountPoint)
    .filter((path) => path.startsWith(`${agent.dataDir}/binds/`));
}

const start = (): Promise<AgentBench> => AgentBench.start(daemon, [`--bind-root=${root}`]);

describe('a container with a bind', () => {
  it('is started again by the agent, counted, also after the agent was killed; its mount goes with it', async () => {
    await using bench = await start();
    const { plane, agent } = bench;
    plane.assign([bound()]);
    await plane.untilPhase('ins_1', 'running');
    const held = [join(agent.dataDir, 'binds/ins_1/vol_1')];
    expect(mountsOf(bench)).toEqual(held);
    end();
    await untilStarts(2);
    await plane.until('counted', () => plane.observations.get('ins_1')?.restarts === 1);
    const pids = await bench.pids();
    await agent.end('SIGKILL');
    plane.observations.clear();
    agent.start();
    await plane.untilPhase('ins_1', 'running');
    expect(await bench.pids()).toEqual(pids);
    expect(plane.observations.get('ins_1')?.restarts).toBe(1);
    expect(mountsOf(bench)).toEqual(held);

    plane.assign([stopped('ins_1')]);
    await plane.untilPhase('ins_1', 'removed');
    await expect.poll(() => mountsOf(bench)).toEqual([]);
    await expect.poll(() => readdirSync(join(agent.dataDir, 'binds'))).toEqual([]);
    expect(readdirSync(join(agent.dataDir, 'bound'))).toEqual([]);
    expect(starts()).toBe(2);
  });

  it('is started again without a control plane, and after a restart of the machine', async () => {
    await using bench = await start();
    const { plane, agent } = bench;
    plane.assign([bound(), instance('ins_2', { command: ['true'] }, { once: {}, deployment: 'job' })]);
    await untilStarts(1);
    await plane.untilPhase('ins_2', 'exited');
    await plane.down();
    end();
    await untilStarts(2);
    const record = (): string => readFileSync(join(agent.dataDir, 'bound/ins_1.json'), 'utf8');
    await expect.poll(record).toContain('"restarts":1');

    await agent.end('SIGKILL');
    await daemon.restart();
    for (const path of [...mountsOf(bench), join(agent.dataDir, 'binds')])
      execFileSync('umount', ['--lazy', path]);
    expect((await bench.engine.inspect('web')).status).toBe('exited');
    agent.start();
    await untilStarts(3);
    expect((await bench.engine.inspect('job')).status).toBe('exited');
    await expect.poll(record).toContain('"restarts":2');
  });

  it('that an older agent made is not replaced while it runs, and is no longer started by the engine', async () => {
    await using bench = await start();
    const { plane, engine } = bench;
    execFileSync('mkdir', ['-p', join(root, 'shop/data')]);
    const { specHash, attempt, container } = bound();
    const id = await engine.createContainer({
      name: 'web',
      image: TEST_IMAGE,
      command: container?.command ?? [],
      env: [],
      labels: {},
      ownLabels: {
        'berth.io/tenant': TENANT.id,
        'berth.io/deployment': 'web',
        'berth.io/instance': 'ins_1',
        'berth.io/spec-hash': specHash,
        'berth.io/secrets-version': '0',
        'berth.io/attempt': String(attempt),
        'berth.io/node': 'n1',
        'berth.io/install': INSTALL_ID,
      },
      restart: { name: 'unless-stopped' },
      mounts: [{ kind: 'bind', source: join(root, 'shop/data'), target: '/b', readOnly: false }],
      ports: [],
    });
    await engine.start(id);
    await untilStarts(1);
    plane.assign([bound()]);
    expect(await plane.untilPhase('ins_1', 'running')).toMatchObject({ containerId: id });
    await expect.poll(async () => (await engine.inspect(id)).restartsItself).toBe(false);
    expect(starts()).toBe(1);
    // When it ends it is made anew, and gets what was checked.
    end();
    await untilStarts(2);
    const now = await engine.inspect('web');
    expect(now.id).not.toBe(id);
    expect(now.binds).toEqual([join(bench.agent.dataDir, 'binds/ins_1/vol_1')]);
  });

  it('runs as a job, once', async () => {
    await using bench = await start();
    const { plane } = bench;
    plane.assign([bound({ once: {} }, 'echo x >> /b/starts')]);
    expect(await plane.untilPhase('ins_1', 'exited')).toMatchObject({ exitCode: 0, restarts: 0 });
    plane.assign([stopped('ins_1')]);
    await plane.untilPhase('ins_1', 'removed');
    await expect.poll(() => mountsOf(bench)).toEqual([]);
    expect(starts()).toBe(1);
  });
});

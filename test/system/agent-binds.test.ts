import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { parseMountInfo } from '../../src/agent/volumes/mounts.ts';
import type { AssignedInstance } from '../../src/core/protocol/agent-protocol.ts';
import { AgentBench, instance, stopped, TEST_IMAGE } from '../support/harness/agent-bench.ts';
import { buildTestImage, startEngine, type TestEngine } from '../support/harness/engine.ts';
import { LONG_TIER } from '../support/fault-tier.ts';
import { INSTALL_ID, TENANT } from '../support/harness/fake-control-plane.ts';

const root = mkdtempSync(join(tmpdir(), 'berth-root-'));
let daemon: TestEngine;
/** One agent for all of them, and folders and names of its own for each. */
let bench: AgentBench;
let round = 0;
let id = '';

beforeAll(async () => {
  daemon = await startEngine();
  await buildTestImage(daemon, TEST_IMAGE);
  bench = await AgentBench.start(daemon, [`--bind-root=${root}`]);
});
afterAll(async () => {
  await bench[Symbol.asyncDispose]();
  await daemon.stop();
  rmSync(root, { recursive: true, force: true });
});

beforeEach(() => {
  round += 1;
  id = `ins_${round}`;
});

/** Counts its starts in the folder, and ends when it is told to there. */
const COUNTING = 'echo x >> /b/starts; until test -e /b/end; do sleep 0.05; done; rm /b/end; exit 3';

const folder = (): string => join(root, 'shop', id);
const inFolder = (name: string): string => join(folder(), name);
const held = (dataDir: string): string => join(dataDir, 'binds/held', id, 'vol_1');

function bound(more: Partial<AssignedInstance> = {}, command = COUNTING): AssignedInstance {
  const bind = { volumeId: 'vol_1', kind: 'bind', source: folder() } as const;
  const mounts = [{ ...bind, target: '/b', readOnly: false }];
  return instance(id, { command: ['sh', '-c', command], mounts }, { deployment: id, ...more });
}

const starts = (): number =>
  existsSync(inFolder('starts')) ? readFileSync(inFolder('starts'), 'utf8').split('\n').length - 1 : 0;
const untilStarts = (count: number) => expect.poll(starts, { timeout: 30_000 }).toBe(count);
/** Its process ends by itself. */
const end = (): void => void execFileSync('touch', [inFolder('end')]);

function mounts(): readonly string[] {
  return parseMountInfo(readFileSync('/proc/self/mountinfo', 'utf8'))
    .map(({ mountPoint }) => mountPoint)
    .filter((path) => path.startsWith(`${bench.agent.dataDir}/binds/`));
}

/** Stopped for good, with all that was held for it. */
async function endOf(): Promise<void> {
  const { plane, agent } = bench;
  plane.assign([stopped(id)]);
  await plane.untilPhase(id, 'removed');
  await expect.poll(mounts).not.toContain(held(agent.dataDir));
  await expect.poll(() => readdirSync(join(agent.dataDir, 'binds/held'))).not.toContain(id);
  expect(readdirSync(join(agent.dataDir, 'bound'))).not.toContain(`${id}.json`);
}

describe('a container with a bind', () => {
  it('runs as a job, once', async () => {
    const { plane } = bench;
    plane.assign([bound({ once: {} }, 'echo x >> /b/starts')]);
    expect(await plane.untilPhase(id, 'exited')).toMatchObject({ exitCode: 0, restarts: 0 });
    await endOf();
    expect(starts()).toBe(1);
  });

  it('is started again by the agent, counted, also after the agent was killed; its mount goes with it', async () => {
    const { plane, agent, engine } = bench;
    plane.assign([bound()]);
    await plane.untilPhase(id, 'running');
    expect(mounts()).toContain(held(agent.dataDir));
    end();
    await untilStarts(2);
    await plane.until('counted', () => plane.observations.get(id)?.restarts === 1);
    const { pid } = await engine.inspect(id);
    await agent.end('SIGKILL');
    plane.observations.clear();
    agent.launch();
    await plane.untilPhase(id, 'running');
    expect((await engine.inspect(id)).pid).toBe(pid);
    expect(plane.observations.get(id)?.restarts).toBe(1);
    expect(mounts()).toContain(held(agent.dataDir));
    await endOf();
    expect(starts()).toBe(2);
  });

  it('that an older agent made is not replaced while it runs, and is no longer started by the engine', async () => {
    const { plane, engine, agent } = bench;
    mkdirSync(folder(), { recursive: true });
    const { specHash, attempt, container } = bound();
    const older = await engine.createContainer({
      name: id,
      image: TEST_IMAGE,
      command: container?.command ?? [],
      env: [],
      labels: {},
      ownLabels: {
        'berth.io/tenant': TENANT.id,
        'berth.io/deployment': id,
        'berth.io/instance': id,
        'berth.io/spec-hash': specHash,
        'berth.io/secrets-version': '0',
        'berth.io/attempt': String(attempt),
        'berth.io/node': 'n1',
        'berth.io/install': INSTALL_ID,
      },
      restart: { name: 'unless-stopped' },
      mounts: [{ kind: 'bind', source: folder(), target: '/b', readOnly: false }],
      ports: [],
    });
    await engine.start(older);
    await untilStarts(1);
    plane.assign([bound()]);
    expect(await plane.untilPhase(id, 'running')).toMatchObject({ containerId: older });
    await expect.poll(async () => (await engine.inspect(older)).restartsItself).toBe(false);
    expect(starts()).toBe(1);
    // When it ends it is made anew, and gets what was checked.
    end();
    await untilStarts(2);
    const now = await engine.inspect(id);
    expect(now.id).not.toBe(older);
    expect(now.binds).toEqual([held(agent.dataDir)]);
  });

  it('is started again without a control plane, and after a restart of the machine', async () => {
    const { plane, agent, engine } = bench;
    const { port } = plane;
    const job = `job${round}`;
    plane.assign([bound(), instance(job, { command: ['true'] }, { once: {}, deployment: job })]);
    await untilStarts(1);
    await plane.untilPhase(job, 'exited');
    await plane.down();
    try {
      end();
      await untilStarts(2);
      const record = (): string => readFileSync(join(agent.dataDir, `bound/${id}.json`), 'utf8');
      await expect.poll(record).toContain('"restarts":1');
      if (!LONG_TIER) return;
      await agent.end('SIGKILL');
      await daemon.restart();
      for (const path of [...mounts(), join(agent.dataDir, 'binds')])
        execFileSync('umount', ['--lazy', path]);
      expect((await engine.inspect(id)).status).toBe('exited');
      agent.launch();
      await untilStarts(3);
      expect((await engine.inspect(job)).status).toBe('exited');
      await expect.poll(record).toContain('"restarts":2');
    } finally {
      await plane.listen(port);
    }
  });

  it('is refused by an agent that may not mount, which says so of copies of volumes too', async () => {
    await using weak = await AgentBench.start(daemon, [`--bind-root=${root}`], undefined, [
      'setpriv',
      '--bounding-set=-sys_admin',
    ]);
    const { plane } = weak;
    plane.assign([bound()]);
    expect(await plane.untilPhase(id, 'failed')).toMatchObject({
      reason: 'bind_not_allowed',
      message: expect.stringContaining('CAP_SYS_ADMIN'),
    });
    expect(starts()).toBe(0);
    expect(plane.hello?.problems).toEqual(
      ['btrfs', 'rsync'].map((engine) =>
        expect.stringMatching(
          new RegExp(`^copies of volumes cannot be received by ${engine} .*CAP_SYS_ADMIN`),
        ),
      ),
    );
  });
});

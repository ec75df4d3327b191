import { execFile } from 'node:child_process';
import { copyFileSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AgentBench, instance, stopped, TEST_IMAGE } from '../support/harness/agent-bench.ts';
import {
  buildTestImage,
  DOCKER_INIT,
  podmanInit,
  startPodman,
  type TestEngine,
} from '../support/harness/engine.ts';
import { ensurePackages } from '../support/harness/packages.ts';

const run = promisify(execFile);
const root = mkdtempSync(join(tmpdir(), 'berth-root-'));
let daemon: TestEngine;
/** One agent for all of them. */
let bench: AgentBench;

beforeAll(async () => {
  ensurePackages(['btrfs-progs', 'e2fsprogs', 'mount']);
  daemon = await startPodman();
  await buildTestImage(daemon, TEST_IMAGE);
  // As on a machine, the agent has the engine's view of mounts.
  const under = ['nsenter', `--mount=/proc/${daemon.pid}/ns/mnt`];
  bench = await AgentBench.start(daemon, [`--bind-root=${root}`], undefined, under);
});

afterAll(async () => {
  await bench[Symbol.asyncDispose]();
  await daemon.stop();
  rmSync(root, { recursive: true, force: true });
});

describe('an agent on a Podman without an init process', () => {
  it('says that its node is not ready and what to install, takes it back once that is there, and notices when it is gone again', async () => {
    await using lacking = await startPodman({ lacksInit: true });
    await buildTestImage(lacking, TEST_IMAGE);
    await using own = await AgentBench.start(lacking);
    const { plane, agent, engine } = own;
    await plane.until('a session', () => plane.hello !== undefined);
    const said = 'because the package catatonit is missing: install it there';
    expect(plane.hello?.notReady).toContain(said);
    const line = 'node n1 is not ready: the engine cannot create containers';
    await expect.poll(() => agent.log()).toContain(line);
    expect(await engine.list({ all: true })).toEqual([]);

    copyFileSync(DOCKER_INIT, podmanInit(lacking));
    const facts = () => plane.reports.at(-1)?.facts;
    await plane.until('ready', () => facts() !== undefined && facts()?.notReady === undefined, 30_000);
    plane.assign([instance('ins_1')]);
    await plane.untilPhase('ins_1', 'running');
    expect((await engine.list({ all: true })).map(({ status }) => status)).toEqual(['running']);

    rmSync(podmanInit(lacking));
    plane.assign([instance('ins_1'), instance('ins_2', {}, { deployment: 'other' })]);
    await plane.until('not ready again', () => facts()?.notReady?.includes(said) === true);
    expect(plane.observations.get('ins_1')?.phase).toBe('running');
    plane.assign([stopped('ins_1'), stopped('ins_2')]);
    await plane.untilPhase('ins_1', 'removed');
  });
});

describe('an agent on Podman', () => {
  it('runs, checks, replaces and stops', async () => {
    const { plane, agent, engine } = bench;
    const healthCheck = { command: ['test -e /tmp/well'], intervalMs: 300, retries: 1, timeoutMs: 10_000 };
    const wanted = instance('ins_1', {
      healthCheck,
      command: ['sh', '-c', 'sleep 1; touch /tmp/well; sleep 999'],
    });
    plane.assign([wanted, instance('ins_2')]);
    await plane.untilPhase('ins_2', 'running');
    await plane.until('healthy', () => plane.observations.get('ins_1')?.health === 'healthy');
    // A command whose caller has gone, as the control plane tells it.
    const command = ['sh', '-c', 'echo began; exec sleep 8642'];
    const isThere = async (): Promise<boolean> => {
      const { stdout } = await run('ps', ['-eo', 'args']);
      return stdout.split('\n').includes('sleep 8642');
    };
    plane.send({
      type: 'request',
      streamId: 'left',
      operation: { kind: 'exec', instanceId: 'ins_2', command, timeoutMs: 60_000 },
    });
    await expect.poll(isThere, { timeout: 20_000 }).toBe(true);
    plane.send({ type: 'cancel', streamId: 'left' });
    await expect.poll(isThere, { timeout: 20_000 }).toBe(false);
    const before = await bench.pids();
    await agent.end('SIGKILL');
    plane.observations.clear();
    agent.launch();
    await plane.untilPhase('ins_1', 'running');
    expect(await bench.pids()).toEqual(before);

    plane.assign([{ ...wanted, attempt: 1 }, stopped('ins_2')]);
    await plane.untilPhase('ins_2', 'removed');
    const replaced = async (): Promise<boolean> => {
      const pid = (await bench.pids().catch(() => before)).get('ins_1');
      return pid !== undefined && pid !== before.get('ins_1');
    };
    await expect.poll(replaced, { timeout: 20_000 }).toBe(true);
    plane.assign([stopped('ins_1')]);
    await plane.untilPhase('ins_1', 'removed');
    expect(await engine.list({ all: true })).toEqual([]);
  });

  it('gives files, and stops by the signal that was asked for', async () => {
    const { plane, agent } = bench;
    const out = join(root, 'shop/stop');
    const script =
      'cp /etc/site.conf /b/read; (echo x >> /etc/site.conf) 2>/dev/null && touch /b/written; trap "echo quit > /b/signal; exit 0" QUIT; trap "" TERM; touch /b/ready; while :; do sleep 0.1; done';
    plane.secrets = {
      ok: true,
      environment: {},
      files: [{ path: '/etc/site.conf', content: 'listen 8080;' }],
    };
    const container = {
      command: ['sh', '-c', script],
      hasFiles: true,
      needsSecrets: true,
      stop: { signal: 'SIGQUIT', graceMs: 20_000 },
      mounts: [{ volumeId: 'vol_f', kind: 'bind', source: out, target: '/b', readOnly: false }],
    } as const;
    plane.assign([instance('ins_f', container)]);
    await plane.untilPhase('ins_f', 'running');
    await expect.poll(() => existsSync(join(out, 'ready')), { timeout: 20_000 }).toBe(true);
    expect(readFileSync(join(out, 'read'), 'utf8')).toBe('listen 8080;');
    expect(existsSync(join(out, 'written'))).toBe(false);
    plane.assign([stopped('ins_f')]);
    await plane.untilPhase('ins_f', 'removed');
    expect(readFileSync(join(out, 'signal'), 'utf8')).toBe('quit\n');
    await expect.poll(() => existsSync(join(agent.dataDir, 'files/ins_f'))).toBe(false);
    plane.secrets = { ok: true, environment: {} };
  });

  it('gives a container the folder of the host that was checked, and starts it again', async () => {
    const { plane, agent, engine } = bench;
    const source = join(root, 'shop/data');
    const command = 'echo x >> /b/starts; until test -e /b/end; do sleep 0.05; done; rm /b/end; exit 3';
    const mounts = [{ volumeId: 'vol_b', kind: 'bind', source, target: '/b', readOnly: false }] as const;
    plane.assign([instance('ins_b', { command: ['sh', '-c', command], mounts })]);
    const { containerId = '' } = await plane.untilPhase('ins_b', 'running');
    expect(await engine.inspect(containerId)).toMatchObject({
      restartsItself: false,
      binds: [join(agent.dataDir, 'binds/held/ins_b/vol_b')],
    });
    writeFileSync(join(source, 'end'), '');
    await plane.until('counted', () => plane.observations.get('ins_b')?.restarts === 1);
    const starts = (): string => readFileSync(join(source, 'starts'), 'utf8');
    await expect.poll(starts, { timeout: 20_000 }).toBe('x\nx\n');
    plane.assign([stopped('ins_b')]);
    await plane.untilPhase('ins_b', 'removed');
  });

  it('gives no container an empty folder when the engine does not see what the agent mounted', async () => {
    await using apart = await AgentBench.start(daemon, [`--bind-root=${root}`]);
    const source = join(root, 'shop/apart');
    const mounts = [{ volumeId: 'vol_a', kind: 'bind', source, target: '/b', readOnly: false }] as const;
    apart.plane.assign([instance('ins_a', { mounts }, { deployment: 'apart' })]);
    const { message } = await apart.plane.untilPhase('ins_a', 'failed');
    expect(message).toContain(join(apart.agent.dataDir, 'binds/held'));
    expect(await apart.engine.list({ all: true })).toEqual([]);

    const kept = { id: 'vol_w', role: 'primary', class: 'ephemeral', type: 'volume' } as const;
    const written = [{ volumeId: 'vol_w', kind: 'volume', target: '/data', readOnly: false }] as const;
    apart.plane.assign([instance('ins_w', { mounts: written }, { deployment: 'written' })], undefined, [
      { ...kept, epoch: 1, sizeBytes: 64 * 2 ** 20 },
    ]);
    const refused = await apart.plane.untilPhase('ins_w', 'failed');
    expect(refused).toMatchObject({ reason: 'volume_not_seen' });
    expect(refused.message).toContain(join(apart.agent.dataDir, 'volumes/vol_w/mnt'));
    expect(await apart.engine.list({ all: true })).toEqual([]);
    apart.plane.assign([stopped('ins_w')], undefined, [{ ...kept, role: 'gone', epoch: 1, sizeBytes: 1 }]);
    await apart.plane.until('it is gone', () => apart.plane.reports.at(-1)?.volumes?.length === 0);
  });

  it('lets readers of a volume see what is written, write nothing, and end with the mount', async () => {
    const { plane } = bench;
    const mounts = (readOnly: boolean) =>
      [{ volumeId: 'vol_1', kind: 'volume', target: '/data', readOnly }] as const;
    const write = 'i=0; while :; do i=$((i+1)); echo $i > /data/new; mv /data/new /data/n; sleep 0.05; done';
    const read = 'touch /data/mine 2>/dev/null && exit 9; sleep 999';
    const instances = [
      instance('ins_1', { command: ['sh', '-c', write], mounts: mounts(false) }),
      instance('ins_2', { command: ['sh', '-c', read], mounts: mounts(true) }),
    ];
    const kept = { id: 'vol_1', class: 'replicated', type: 'volume', sizeBytes: 128 * 2 ** 20 } as const;
    const volume = { ...kept, epoch: 1, leaseMs: 60_000, copiesTo: [] };
    plane.assign(instances, undefined, [{ ...volume, role: 'primary' }]);
    await plane.untilPhase('ins_1', 'running');
    await plane.untilPhase('ins_2', 'running');
    const pid = (await bench.pids()).get('ins_2');
    const seen = (): number => {
      const path = `/proc/${pid}/root/data/n`;
      return existsSync(path) ? Number(readFileSync(path, 'utf8')) : 0;
    };
    await expect.poll(seen, { timeout: 20_000 }).toBeGreaterThan(0);
    const before = seen();
    await expect.poll(seen, { timeout: 20_000 }).toBeGreaterThan(before);
    expect(existsSync(`/proc/${pid}/root/data/mine`)).toBe(false);
    // Another node is the primary from now on.
    plane.assign(instances, undefined, [{ ...kept, role: 'replica', epoch: 2 }]);
    await expect.poll(() => existsSync(`/proc/${pid}/root/data`), { timeout: 30_000 }).toBe(false);
    await plane.until('it waits', () => plane.observations.get('ins_2')?.reason === 'volume_not_primary');
    plane.assign([stopped('ins_1'), stopped('ins_2')], undefined, [{ ...kept, role: 'gone', epoch: 2 }]);
    await plane.until('it is gone', () => plane.reports.at(-1)?.volumes?.length === 0);
  });
});

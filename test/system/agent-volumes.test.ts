import { existsSync, readdirSync, readFileSync, statfsSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type {
  AssignedContainer,
  AssignedInstance,
  AssignedVolume,
} from '../../src/core/protocol/agent-protocol.ts';
import { isWatched } from '../../src/agent/volumes/watchdog-process.ts';
import { AgentBench, instance, stopped, TEST_IMAGE } from '../support/harness/agent-bench.ts';
import { buildTestImage, startEngine, type TestEngine } from '../support/harness/engine.ts';
import { eventually } from '../support/eventually.ts';
import { ensurePackages } from '../support/harness/packages.ts';

const MIB = 2 ** 20;
const LEASE_MS = 3_000;
/** From the end of a lease to the end of its last writer. */
const BOUND_MS = 2_000;

let daemon: TestEngine;

beforeAll(async () => {
  ensurePackages(['btrfs-progs', 'e2fsprogs', 'xfsprogs', 'mount']);
  daemon = await startEngine({ liveRestore: true });
  await buildTestImage(daemon, TEST_IMAGE);
});

afterAll(async () => {
  await daemon.stop();
});

type Primary = Extract<AssignedVolume, { readonly role: 'primary' }>;

function volume(more: Partial<Primary> = {}): Primary {
  const base = { id: 'vol_1', role: 'primary', class: 'replicated', type: 'volume', epoch: 1 } as const;
  return { ...base, sizeBytes: 128 * MIB, leaseMs: LEASE_MS, copiesTo: [], ...more };
}

function gone(volume: AssignedVolume): AssignedVolume {
  const { leaseMs: _lease, copiesTo: _copies, seal: _move, prepare: _images, ...kept } = volume;
  return { ...kept, role: 'gone' };
}

const LOCAL: AssignedVolume = {
  id: 'vol_e',
  role: 'primary',
  class: 'ephemeral',
  type: 'volume',
  epoch: 1,
  sizeBytes: 32 * MIB,
};

/** Writes a rising number every 20 ms, each on disk before the next. */
const WRITER =
  'i=0; while :; do i=$((i+1)); echo $i > /data/n.new && sync -f /data/n.new; mv /data/n.new /data/n; sleep 0.02; done';

function user(command: string, volumeId = 'vol_1', more: Partial<AssignedInstance> = {}): AssignedInstance {
  const container: Partial<AssignedContainer> = {
    command: ['sh', '-c', command],
    mounts: [{ volumeId, kind: 'volume', target: '/data', readOnly: false }],
  };
  return instance('ins_1', container, more);
}

function dataOf({ agent }: AgentBench, epoch = 1): string {
  return join(agent.dataDir, 'volumes', 'vol_1', 'mnt', `data-${epoch}`);
}

function isAlive(pid: number): boolean {
  try {
    return !readFileSync(`/proc/${pid}/stat`, 'utf8').includes(') Z ');
  } catch {
    return false;
  }
}

/** Of the node's containers. */
async function running({ engine }: AgentBench): Promise<readonly number[]> {
  const all = await Promise.all((await engine.list({ all: true })).map(({ id }) => engine.inspect(id)));
  return all.flatMap(({ status, pid }) => (status === 'running' && pid !== undefined ? [pid] : []));
}

async function writerPid(bench: AgentBench): Promise<number> {
  const [pid] = await running(bench);
  if (pid === undefined) throw new Error('the writer does not run');
  return pid;
}

/** The running writer of a leased volume, and when its lease was last answered. */
async function writing(bench: AgentBench, leaseMs = LEASE_MS): Promise<number> {
  const { plane } = bench;
  plane.assign([user(WRITER)], undefined, [volume({ leaseMs })]);
  await plane.untilPhase('ins_1', 'running');
  await eventually('bytes are written', () => existsSync(join(dataOf(bench), 'n')), Boolean);
  return await writerPid(bench);
}

describe('volumes of a node', () => {
  it('are prepared before containers, hold their size, grow in use, and go when they are ordered to', async () => {
    await using bench = await AgentBench.start(daemon);
    const { plane, agent } = bench;
    const fill = 'cat /dev/zero > /data/full 2>/dev/null; sleep 3600';
    const mounts = ['vol_e', 'vol_g'].map((volumeId) => ({
      volumeId,
      kind: 'volume' as const,
      target: volumeId === 'vol_e' ? '/data' : '/grows',
      readOnly: false,
    }));
    const filler = instance('ins_1', { command: ['sh', '-c', fill], mounts });
    const grows = { ...LOCAL, id: 'vol_g', sizeBytes: 1024 * MIB };
    plane.assign([filler], undefined, [LOCAL, grows]);
    await plane.untilPhase('ins_1', 'running');
    await eventually('the volume is full', () => (plane.volume('vol_e')?.usedBytes ?? 0) > 24 * MIB, Boolean);
    const before = await running(bench);
    expect(before).toHaveLength(1);
    const shown = (): number => {
      const { blocks, bsize } = statfsSync(join('/proc', String(before[0]), 'root', 'grows'));
      return blocks * bsize;
    };
    plane.assign([filler], undefined, [LOCAL, { ...grows, sizeBytes: 1100 * MIB }]);
    // What is reported is what a container is shown.
    await eventually('it has grown', () => (plane.volume('vol_g')?.sizeBytes ?? 0) > 1024 * MIB, Boolean);
    expect(plane.volume('vol_g')?.sizeBytes).toBe(shown());
    expect(plane.volume('vol_g')?.shrinkable).toBeUndefined();
    expect(await running(bench)).toEqual(before);
    plane.assign([stopped('ins_1')], undefined, [gone(LOCAL), gone(grows)]);
    await eventually('they are gone', () => plane.reports.at(-1)?.volumes?.length === 0, Boolean);
    expect(readdirSync(join(agent.dataDir, 'volumes'))).not.toContain('vol_e');
  });

  it('shrink in use by the engine that can, no further than they are filled, and are measured when asked', async () => {
    await using bench = await AgentBench.start(daemon);
    const { plane } = bench;
    const fill = 'head -c 209715200 /dev/zero > /data/full; sleep 3600';
    const large = { ...LOCAL, id: 'vol_1', class: 'replicated', sizeBytes: 640 * MIB } as const;
    plane.assign([user(fill)], undefined, [large]);
    await plane.untilPhase('ins_1', 'running');
    const data = dataOf(bench);
    const full = join(data, 'full');
    await eventually(
      'it is filled',
      () => existsSync(full) && statSync(full).size === 200 * MIB,
      Boolean,
      60_000,
    );
    expect(plane.volume('vol_1')?.shrinkable).toBe(true);
    plane.send({ type: 'request', streamId: 's1', operation: { kind: 'volume-measure', volumeId: 'vol_1' } });
    plane.send({ type: 'credit', streamId: 's1', bytes: 65_536 });
    await eventually('it is measured', () => plane.streams.get('s1')?.at(-1)?.type === 'end', Boolean);
    const value = plane.streams.get('s1')?.flatMap((item) => ('value' in item ? [item.value] : []))[0];
    expect(value).toMatchObject({ sizeBytes: 640 * MIB, epoch: 1, shrinkable: true });
    expect((value as { usedBytes: number }).usedBytes).toBeGreaterThan(200 * MIB);
    plane.assign([user(fill)], undefined, [{ ...large, sizeBytes: 448 * MIB }]);
    await eventually('it is smaller', () => plane.volume('vol_1')?.sizeBytes === 448 * MIB, Boolean);
    const { blocks, bsize } = statfsSync(data);
    expect(blocks * bsize).toBe(448 * MIB);
    // Too small for what is in it: it stays as it is, works, and says so.
    plane.assign([user(fill)], undefined, [{ ...large, sizeBytes: 128 * MIB }]);
    await eventually(
      'it is refused',
      () => plane.volume('vol_1')?.problem?.reason === 'volume_shrink_refused',
      Boolean,
    );
    expect(plane.volume('vol_1')).toMatchObject({ state: 'ready', sizeBytes: 448 * MIB });
    expect(statSync(full).size).toBe(200 * MIB);
    expect(await running(bench)).toHaveLength(1);
    plane.assign([stopped('ins_1')], undefined, [gone(large)]);
    await eventually('it is gone', () => plane.reports.at(-1)?.volumes?.length === 0, Boolean);
  });

  it('waits with the container until the volume is assigned, and says so', async () => {
    await using bench = await AgentBench.start(daemon);
    const { plane } = bench;
    plane.leases = false;
    plane.assign([user(WRITER)], undefined, [volume()]);
    await plane.until('it waits', () => plane.observations.get('ins_1')?.reason === 'volume_not_ready');
    await plane.until('it prepares', () => plane.volume('vol_1')?.state === 'preparing');
    plane.leases = true;
    await plane.untilPhase('ins_1', 'running');
    expect(plane.volume('vol_1')).toMatchObject({ role: 'primary', epoch: 1, state: 'ready' });
    expect(plane.hello?.volumeEngines).toContain('btrfs');
  });

  it('outlive their agent with the containers that write them', async () => {
    await using bench = await AgentBench.start(daemon);
    const { plane, agent } = bench;
    // The next agent has to have it renewed before it ends: a busy machine takes seconds to start one.
    const leaseMs = 3 * LEASE_MS;
    const pid = await writing(bench, leaseMs);
    await agent.end('SIGKILL');
    const killedMs = performance.now();
    expect(await isWatched(agent.dataDir)).toBe(true);
    plane.reports.length = 0;
    agent.launch();
    await plane.until('it is ready again', () => plane.volume('vol_1')?.state === 'ready');
    expect(await writerPid(bench)).toBe(pid);
    // Over the end of the lease that the killed agent held.
    await sleep(killedMs + leaseMs + BOUND_MS - performance.now());
    expect(isAlive(pid)).toBe(true);
  });

  it('are never acted upon under an older epoch than was ever told', async () => {
    await using bench = await AgentBench.start(daemon);
    const { plane, agent } = bench;
    plane.assign([], undefined, [volume({ epoch: 7 })]);
    await plane.until('it is ready', () => plane.volume('vol_1')?.state === 'ready');
    await agent.end('SIGKILL');
    plane.assign([user(WRITER)], undefined, [volume({ epoch: 6 })]);
    plane.reports.length = 0;
    agent.launch();
    await plane.until('it is refused', () => plane.volume('vol_1')?.problem?.reason === 'epoch_stale');
    expect(plane.volume('vol_1')).toMatchObject({ epoch: 7, state: 'failed' });
    expect(await running(bench)).toEqual([]);
  });
});

describe('when its lease ends, the writer is killed', () => {
  async function endsInTime(bench: AgentBench, pid: number, sinceMs: number): Promise<void> {
    await eventually('the writer is dead', () => !isAlive(pid), Boolean, LEASE_MS + BOUND_MS + 5_000);
    expect(performance.now() - sinceMs).toBeLessThan(LEASE_MS + BOUND_MS);
    const written = (): boolean => existsSync(join(dataOf(bench), 'n'));
    await eventually('the volume is unmounted', () => !written(), Boolean);
  }

  it('by the agent, which goes on when the lease comes back', async () => {
    await using bench = await AgentBench.start(daemon);
    const { plane } = bench;
    const pid = await writing(bench);
    plane.leases = false;
    await endsInTime(bench, pid, performance.now());
    await plane.until('it is told', () => plane.observations.get('ins_1')?.phase === 'exited');
    expect(await running(bench)).toEqual([]);
    plane.leases = true;
    await plane.untilPhase('ins_1', 'running');
    const again = await writerPid(bench);
    expect(again).not.toBe(pid);
    await eventually('it writes', () => existsSync(join(dataOf(bench), 'n')), Boolean);
  });

  it('without the agent, and its engine cannot bring it back', async () => {
    await using bench = await AgentBench.start(daemon);
    const pid = await writing(bench);
    await bench.agent.end('SIGKILL');
    await endsInTime(bench, pid, performance.now());
    const log = join(bench.agent.dataDir, 'volumes', 'watchdog.log');
    await eventually(
      'it is logged',
      () => existsSync(log) && readFileSync(log, 'utf8').includes('vol_1'),
      Boolean,
    );
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(await running(bench)).toEqual([]);
    bench.agent.launch();
    bench.plane.observations.clear();
    await bench.plane.untilPhase('ins_1', 'running');
  });

  it('without the engine', async () => {
    await using bench = await AgentBench.start(daemon);
    const pid = await writing(bench);
    bench.plane.leases = false;
    const since = performance.now();
    await daemon.kill9();
    try {
      await endsInTime(bench, pid, since);
    } finally {
      await daemon.start();
    }
  });

  it('without either', async () => {
    await using bench = await AgentBench.start(daemon);
    const pid = await writing(bench);
    const since = performance.now();
    await daemon.kill9();
    await bench.agent.end('SIGKILL');
    try {
      await endsInTime(bench, pid, since);
    } finally {
      await daemon.start();
    }
  });
});

/**
 * What a replicated volume costs: writing and fsync on it, while its copy is brought up to date every second, against the bare
 * disk, the same file system without copies, and one of which a shell would take a snapshot every second and send nothing, in turn in the
 * same run; how far the copy lags behind under that load; and a look at 100,000 files that did not change. Both "nodes" are folders of
 * this machine, without a network between them; that of the copy is in memory where there is room, since a node's disk is its own.
 * Its processors are not: a writer that shares them with both ends of the copy is measured beside one on a processor that these are kept off. Needs root.
 *
 *     node bench/volumes.ts [btrfs|rsync]
 */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, statfsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { promisify } from 'node:util';
import type { CopyLink } from '../src/agent/volumes/copy-link.ts';
import { CopySender } from '../src/agent/volumes/copy-sender.ts';
import { detectVolumeEngines } from '../src/agent/volumes/detect.ts';
import type { OpenVolume, SnapshotCopies } from '../src/agent/volumes/volume-engine.ts';
import { makeLog } from '../src/agent/log.ts';
import type { Written } from './support/volume-writer.ts';
import { removeWithMounts } from '../test/support/harness/mounts.ts';

const MIB = 2 ** 20;
/** Room for a large file, and for those of its copies that are kept for a moment. */
const VOLUME_BYTES = 3072 * MIB;
const MEMORY = '/dev/shm';
const SYNC_ROUNDS = 8;
const APART_ROUNDS = 4;
/** One is over in half a second, and a disk that others share gives twice as much to the one as to the next: what is told is the middle one. */
const WRITE_ROUNDS = 7;
const BY_HAND_MS = 1000;
const FILES = 100_000;
const SAMPLE_MS = 50;
const WRITER = new URL('./support/volume-writer.ts', import.meta.url).pathname;

const log = makeLog('warn', (line) => process.stdout.write(line));
const root = mkdtempSync(join(tmpdir(), 'berth-bench-volumes-'));
const aside = hasRoom(MEMORY) ? mkdtempSync(join(MEMORY, 'berth-bench-volumes-')) : root;

function hasRoom(folder: string): boolean {
  try {
    const { bavail, bsize } = statfsSync(folder);
    return bavail * bsize > 2 * VOLUME_BYTES;
  } catch {
    return false;
  }
}

function percentile(values: readonly number[], share: number): number {
  return (
    values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? 0
  );
}

/** `on`: the processors that it may run on; absent: those of everybody. */
async function written(folder: string, what: 'large' | 'log', on?: string): Promise<Written> {
  const command = [process.execPath, WRITER, folder, what];
  const [program = '', ...args] = on === undefined ? command : ['taskset', '-c', on, ...command];
  const { stdout } = await promisify(execFile)(program, args);
  return JSON.parse(stdout) as Written;
}

/** The first processor is left to the writer (the kernel runs there as it likes); the programs that make copies are started by this process and stay where it is. */
async function apart<T>(work: (own: string) => Promise<T>): Promise<T | undefined> {
  const { stdout } = await promisify(execFile)('taskset', ['-cp', String(process.pid)]);
  const all = /: ([\d,-]+)$/m.exec(stdout)?.[1] ?? '';
  const [first = '', ...others] = all.split(',').flatMap((part) => {
    const [from = 0, to = from] = part.split('-').map(Number);
    return Array.from({ length: to - from + 1 }, (_one, at) => String(from + at));
  });
  if (others.length === 0) return undefined;
  const stay = (on: string): Promise<unknown> =>
    promisify(execFile)('taskset', ['--all-tasks', '-cp', on, String(process.pid)]);
  await stay(others.join(','));
  try {
    return await work(first);
  } finally {
    await stay(all);
  }
}

function copiesOf(volume: OpenVolume): SnapshotCopies {
  if (volume.copies === undefined) throw new Error('this engine takes no copies');
  return volume.copies;
}

function linkTo(copy: OpenVolume): CopyLink {
  return {
    send: async ({ volumeEpoch, header }, stream) => {
      const { sequence, takenAt, parent, parentEpoch = 0 } = header;
      const from = parent === undefined ? undefined : { epoch: parentEpoch, sequence: parent };
      await copiesOf(copy).receive({ epoch: volumeEpoch, sequence, takenAt }, from, stream);
      for (const old of (await copiesOf(copy).list()).slice(0, -2)) await copiesOf(copy).drop(old);
      return { ok: true };
    },
    // oxlint-disable-next-line require-yield
    fetch: async function* () {
      throw new Error('nothing is fetched here');
    },
  };
}

/** What no copy can be taken without: a snapshot every second, and the one before it deleted. */
async function withSnapshots<T>(top: string, data: string, work: () => Promise<T>): Promise<T> {
  const program = promisify(execFile);
  const stop = new AbortController();
  const loop = async (): Promise<void> => {
    for (let count = 0; !stop.signal.aborted; count += 1) {
      const begun = performance.now();
      await program('btrfs', ['subvolume', 'snapshot', '-r', data, join(top, `by-hand-${count % 2}`)]);
      if (count > 0) await program('btrfs', ['subvolume', 'delete', join(top, `by-hand-${(count + 1) % 2}`)]);
      const leftMs = Math.max(0, BY_HAND_MS - (performance.now() - begun));
      await pause(leftMs, undefined, { signal: stop.signal }).catch(() => undefined);
    }
    await program('sh', ['-c', 'btrfs subvolume delete "$0"/by-hand-*', top]);
  };
  const looping = loop();
  try {
    return await work();
  } finally {
    stop.abort();
    await looping;
  }
}

/** Nothing is left to be written of whoever wrote before. A new file reads nothing, so that what is cached makes no difference. */
async function atRest(...folders: readonly string[]): Promise<void> {
  for (const folder of folders) await promisify(execFile)('sync', ['-f', folder]);
}

async function untilBelow(ages: readonly number[], limitMs: number): Promise<void> {
  while ((ages.at(-1) ?? Infinity) > limitMs) await new Promise((resolve) => setTimeout(resolve, SAMPLE_MS));
}

async function main(): Promise<void> {
  const [engine] = await detectVolumeEngines(log, process.argv[2]);
  if (engine === undefined) throw new Error('no engine for replicated volumes works here');
  const places = [join(root, 'a'), join(aside, 'b'), join(root, 'c')].map((folder) => {
    mkdirSync(folder);
    return { id: 'vol_bench', folder };
  });
  const [primary, copy, without] = await Promise.all(places.map((place) => engine.open(place, VOLUME_BYTES)));
  if (primary === undefined || copy === undefined || without === undefined) throw new Error('no volumes');
  const data = await primary.writable(1);
  const bare = join(root, 'bare');
  mkdirSync(bare);
  const intervalMs = Math.max(1000, engine.leastIntervalMs);
  const sender = new CopySender({
    volumeId: 'vol_bench',
    engine: engine.name,
    epoch: 1,
    volume: primary,
    copies: copiesOf(primary),
    intervalMs,
    link: linkTo(copy),
    onChange: () => {},
    log,
  });
  sender.setTargets(['b']);
  const lags: number[] = [];
  const sampler = setInterval(() => {
    const [state] = sender.state();
    if (state?.ageMs !== undefined) lags.push(state.ageMs);
  }, SAMPLE_MS);
  while (lags.length === 0) await new Promise((resolve) => setTimeout(resolve, SAMPLE_MS));
  lags.length = 0;

  const alone = await without.writable(1);
  const burst: number[] = [];
  const large = async (folder: string): Promise<number> => {
    await atRest(data, alone, bare);
    return (await written(folder, 'large')).mibPerSecond;
  };
  const writes: { bare: number; alone: number; volume: number }[] = [];
  // One more, which gives all of them the blocks that they write to.
  for (let round = 0; round <= WRITE_ROUNDS; round += 1) {
    const speeds = { bare: await large(bare), alone: await large(alone) };
    lags.length = 0;
    const volume = await large(data);
    // Until the burst has arrived: what follows is the lag of a database that writes steadily.
    await untilBelow(lags, 2 * intervalMs);
    burst.push(...lags.splice(0));
    if (round > 0) writes.push({ ...speeds, volume });
  }
  const syncs = {
    bare: [] as number[],
    alone: [] as number[],
    byHand: [] as number[],
    volume: [] as number[],
  };
  const steady: number[] = [];
  const byHand = async (on?: string): Promise<Written> =>
    withSnapshots(without.mount.mountPoint, alone, () => written(alone, 'log', on));
  for (let round = 0; round < SYNC_ROUNDS; round += 1) {
    syncs.bare.push(...(await written(bare, 'log')).syncs);
    syncs.alone.push(...(await written(alone, 'log')).syncs);
    if (engine.name === 'btrfs') syncs.byHand.push(...(await byHand()).syncs);
    lags.length = 0;
    syncs.volume.push(...(await written(data, 'log')).syncs);
    steady.push(...lags);
  }
  const own = await (engine.name === 'btrfs'
    ? apart(async (on) => {
        const times = { byHand: [] as number[], volume: [] as number[] };
        for (let round = 0; round < APART_ROUNDS; round += 1) {
          times.byHand.push(...(await byHand(on)).syncs);
          times.volume.push(...(await written(data, 'log', on)).syncs);
        }
        return times;
      })
    : undefined);
  clearInterval(sampler);
  await sender.end();

  console.log(`engine ${engine.name}`);
  const middle = (of: (round: (typeof writes)[number]) => number): number => percentile(writes.map(of), 0.5);
  console.log(
    `write      bare ${middle(({ bare: of }) => of).toFixed(0)} MiB/s, without copies ${middle(({ alone: of }) => of).toFixed(0)} MiB/s, volume ${middle(({ volume }) => volume).toFixed(0)} MiB/s, ratio ${middle(({ volume, bare: of }) => volume / of).toFixed(2)}, of that without copies ${middle(({ volume, alone: of }) => volume / of).toFixed(2)}, which is ${middle(({ alone: by, bare: of }) => by / of).toFixed(2)} of the bare disk; ${WRITE_ROUNDS} rounds in turn, of the bare disk ${writes.map(({ volume, bare: of }) => (volume / of).toFixed(2)).join(' ')}`,
  );
  for (const [name, share] of [
    ['p50', 0.5],
    ['p99', 0.99],
  ] as const) {
    const [of, by, on] = [syncs.bare, syncs.alone, syncs.volume].map((times) => percentile(times, share));
    if (of === undefined || by === undefined || on === undefined) throw new Error('nothing was written');
    console.log(
      `fsync ${name}  bare ${of.toFixed(2)} ms, without copies ${by.toFixed(2)} ms, volume ${on.toFixed(2)} ms, ratio ${(on / of).toFixed(2)}, of that without copies ${(on / by).toFixed(2)}`,
    );
  }
  if (syncs.byHand.length > 0) {
    const [byHand, on] = [percentile(syncs.byHand, 0.99), percentile(syncs.volume, 0.99)];
    console.log(
      `fsync p99 with nothing but a snapshot a second ${byHand.toFixed(2)} ms, volume ${(on / byHand).toFixed(2)} of it`,
    );
  }
  if (own !== undefined) {
    const [hand, on] = [percentile(own.byHand, 0.99), percentile(own.volume, 0.99)];
    console.log(
      `fsync p99 of a writer on a processor that they are kept off: with nothing but a snapshot a second ${hand.toFixed(2)} ms, volume ${on.toFixed(2)} ms, ${(on / hand).toFixed(2)} of it`,
    );
  }
  for (const [load, ages] of [
    ['a burst', burst],
    ['steady fsyncs', steady],
  ] as const) {
    const [half, most] = [percentile(ages, 0.5), percentile(ages, 1)];
    console.log(
      `lag under ${load}  p50 ${half.toFixed(0)} ms, greatest ${most.toFixed(0)} ms, ${ages.length} samples`,
    );
  }

  const many = join(data, 'many');
  mkdirSync(many);
  for (let count = 0; count < FILES; count += 1) {
    if (count % 1000 === 0) mkdirSync(join(many, String(count / 1000)));
    writeFileSync(join(many, String(Math.floor(count / 1000)), String(count)), 'x');
  }
  let taken = (await copiesOf(primary).list()).at(-1);
  // After steady writes a few copies are taken without a look at what was written.
  for (let next = taken; next !== undefined; next = await copiesOf(primary).take(1, taken)) taken = next;
  const idle: number[] = [];
  for (let count = 0; count < 5; count += 1) {
    const begun = performance.now();
    if ((await copiesOf(primary).take(1, taken)) !== undefined)
      throw new Error('a copy of nothing new was taken');
    idle.push(performance.now() - begun);
  }
  console.log(
    `idle pass at ${FILES} files  p50 ${percentile(idle, 0.5).toFixed(0)} ms, greatest ${Math.max(...idle).toFixed(0)} ms`,
  );
  for (const place of places) await engine.close(place);
}

function clean(): void {
  for (const folder of new Set([root, aside])) removeWithMounts(folder);
}

// Gigabytes, some of them in memory: they do not stay when it is ended half-way.
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    clean();
    process.exit(1);
  });
try {
  await main();
} finally {
  clean();
}
process.exit(0);

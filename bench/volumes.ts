/**
 * What a replicated volume costs: writing and fsync on it, while its copy is brought up to date every second, against the bare
 * disk and against the same file system without copies in the same run; how far the copy lags behind under that load; and a look at 100,000 files that did not change. Both
 * "nodes" are folders of this machine, without a network between them. Needs root.
 *
 *     node bench/volumes.ts [btrfs|rsync]
 */
import { execFile } from 'node:child_process';
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { CopyLink } from '../src/agent/volumes/copy-link.ts';
import { CopySender } from '../src/agent/volumes/copy-sender.ts';
import { detectVolumeEngines } from '../src/agent/volumes/detect.ts';
import type { OpenVolume, SnapshotCopies } from '../src/agent/volumes/volume-engine.ts';
import { makeLog } from '../src/agent/log.ts';
import type { Written } from './support/volume-writer.ts';
import { removeWithMounts } from '../test/support/harness/mounts.ts';

const MIB = 2 ** 20;
const VOLUME_BYTES = 1536 * MIB;
const FILES = 100_000;
const SAMPLE_MS = 50;
const WRITER = new URL('./support/volume-writer.ts', import.meta.url).pathname;

const log = makeLog('warn', (line) => process.stdout.write(line));
const root = mkdtempSync(join(tmpdir(), 'berth-bench-volumes-'));

function percentile(values: readonly number[], share: number): number {
  return (
    values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * share))] ?? 0
  );
}

async function written(folder: string, what: 'large' | 'log'): Promise<Written> {
  const { stdout } = await promisify(execFile)(process.execPath, [WRITER, folder, what]);
  return JSON.parse(stdout) as Written;
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

async function untilBelow(ages: readonly number[], limitMs: number): Promise<void> {
  while ((ages.at(-1) ?? Infinity) > limitMs) await new Promise((resolve) => setTimeout(resolve, SAMPLE_MS));
}

async function main(): Promise<void> {
  const [engine] = await detectVolumeEngines(log, process.argv[2]);
  if (engine === undefined) throw new Error('no engine for replicated volumes works here');
  const place = (name: string) => {
    mkdirSync(join(root, name));
    return { id: 'vol_bench', folder: join(root, name) };
  };
  const [primary, copy, without] = [
    await engine.open(place('a'), VOLUME_BYTES),
    await engine.open(place('b'), VOLUME_BYTES),
    await engine.open(place('c'), VOLUME_BYTES),
  ];
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
  const bareSpeed = (await written(bare, 'large')).mibPerSecond;
  const bareSync = (await written(bare, 'log')).syncs;
  const aloneSpeed = (await written(alone, 'large')).mibPerSecond;
  const aloneSync = (await written(alone, 'log')).syncs;
  lags.length = 0;
  const volumeSpeed = (await written(data, 'large')).mibPerSecond;
  // Until the burst has arrived: what follows is the lag of a database that writes steadily.
  await untilBelow(lags, 2 * intervalMs);
  const burst = lags.splice(0);
  const volumeSync = (await written(data, 'log')).syncs;
  clearInterval(sampler);
  await sender.end();

  console.log(`engine ${engine.name}`);
  console.log(
    `write      bare ${bareSpeed.toFixed(0)} MiB/s, without copies ${aloneSpeed.toFixed(0)} MiB/s, volume ${volumeSpeed.toFixed(0)} MiB/s, ratio ${(volumeSpeed / bareSpeed).toFixed(2)}, of that without copies ${(volumeSpeed / aloneSpeed).toFixed(2)}`,
  );
  for (const [name, share] of [
    ['p50', 0.5],
    ['p99', 0.99],
  ] as const) {
    const [of, by, on] = [bareSync, aloneSync, volumeSync].map((syncs) => percentile(syncs, share));
    if (of === undefined || by === undefined || on === undefined) throw new Error('nothing was written');
    console.log(
      `fsync ${name}  bare ${of.toFixed(2)} ms, without copies ${by.toFixed(2)} ms, volume ${on.toFixed(2)} ms, ratio ${(on / of).toFixed(2)}, of that without copies ${(on / by).toFixed(2)}`,
    );
  }
  for (const [load, ages] of [
    ['a burst', burst],
    ['steady fsyncs', lags],
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
  const before = (await copiesOf(primary).list()).at(-1);
  const taken = await copiesOf(primary).take(1, before);
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
  for (const name of ['a', 'b', 'c']) await engine.close({ id: 'vol_bench', folder: join(root, name) });
}

try {
  await main();
} finally {
  removeWithMounts(root);
}
process.exit(0);

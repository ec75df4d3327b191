import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BtrfsEngine } from '../../src/agent/volumes/btrfs-engine.ts';
import { ShrinkRefusedError } from '../../src/agent/volumes/image.ts';
import { loopDevicesOf } from '../../src/agent/volumes/loop-device.ts';
import { RsyncEngine } from '../../src/agent/volumes/rsync-engine.ts';
import { mountAt } from '../../src/agent/volumes/mounts.ts';
import {
  type Copy,
  type CopyName,
  copyText,
  NothingKeptError,
  type OpenVolume,
  ParentMissingError,
  type SnapshotCopies,
  type VolumeEngine,
  type VolumePlace,
} from '../../src/agent/volumes/volume-engine.ts';
import { eventually } from '../support/eventually.ts';
import { LONG_TIER } from '../support/fault-tier.ts';
import {
  batchOfModes,
  batchTooLarge,
  hostileBatches,
  hostileStreams,
  streamOfModes,
  streamTooLarge,
} from '../support/hostile-copies.ts';
import { HostileStage } from '../support/harness/hostile-stage.ts';
import { ensurePackages } from '../support/harness/packages.ts';

const MIB = 2 ** 20;
const SIZE = 160 * MIB;
const ENGINES: readonly (() => VolumeEngine)[] = [() => new BtrfsEngine(), () => new RsyncEngine()];
/** Each to its least size that can be grown everywhere: btrfs from 256 MiB, XFS (no capability needed) from 1 GiB. */
const GROWTH: Readonly<Record<string, readonly [from: number, to: number]>> = {
  btrfs: [160 * MIB, 256 * MIB],
  rsync: [1024 * MIB, 1100 * MIB],
};

ensurePackages(['btrfs-progs', 'rsync', 'e2fsprogs', 'xfsprogs', 'mount']);

/** One contract for every engine, on real loop devices: two "nodes" are two folders. */
describe.each(ENGINES.map((make) => [make().name, make] as const))('volume engine %s', (name, make) => {
  let root: string;
  const opened: [VolumeEngine, VolumePlace][] = [];

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'berth-volumes-'));
  });

  afterEach(async () => {
    for (const [engine, place] of opened.splice(0)) expect(await engine.close(place)).toBe(true);
    rmSync(root, { recursive: true, force: true });
  });

  async function open(node: string, sizeBytes = SIZE): Promise<OpenVolume> {
    const engine = make();
    const place = { id: 'vol_1', folder: join(root, node) };
    mkdirSync(place.folder, { recursive: true });
    opened.push([engine, place]);
    return await engine.open(place, sizeBytes);
  }

  it('works on this machine', async () => {
    expect(await make().missing()).toBeUndefined();
  });

  it('holds its size and is measured', async () => {
    const volume = await open('a');
    const data = await volume.writable(1);
    const before = await volume.measure();
    expect(before.sizeBytes).toBe(SIZE);
    expect(before.usedBytes).toBeLessThan(40 * MIB);
    // The host gave all blocks at once: what is written later cannot fail for lack of room there.
    expect(blocksOf(volume.image)).toBeGreaterThanOrEqual(SIZE);
    expect(fill(join(data, 'big'))).toBeLessThan(SIZE);
    expect(() => writeFileSync(join(data, 'more'), Buffer.alloc(4 * MIB))).toThrow(/ENOSPC/);
    expect((await volume.measure()).usedBytes).toBeGreaterThan(SIZE * 0.7);
  });

  it('grows while it is in use', async () => {
    const [from, to] = GROWTH[name] ?? [0, 0];
    const volume = await open('a', from);
    const data = await volume.writable(1);
    const room = (): number => {
      const { blocks, bsize } = statfsSync(data);
      return blocks * bsize;
    };
    const file = openSync(join(data, 'open'), 'w');
    const before = room();
    await volume.resize(to);
    expect(room() - before).toBeGreaterThan((to - from) * 0.9);
    writeSync(file, Buffer.alloc(MIB));
    closeSync(file);
    expect((await volume.measure()).sizeBytes).toBe(room());
    expect(blocksOf(volume.image)).toBeGreaterThanOrEqual(to);
  });

  it('is made smaller while it is in use where that can be done, and never below what it holds', async () => {
    const volume = await open('a', 1100 * MIB);
    const data = await volume.writable(1);
    const file = openSync(join(data, 'open'), 'w');
    writeSync(file, Buffer.alloc(300 * MIB, 7));
    expect(volume.shrinks).toBe(name === 'btrfs');
    await volume.resize(640 * MIB);
    const shown = statfsSync(data);
    expect((await volume.measure()).sizeBytes).toBe(shown.blocks * shown.bsize);
    if (volume.shrinks) {
      expect(shown.blocks * shown.bsize).toBe(640 * MIB);
      expect(statSync(volume.image).size).toBe(640 * MIB);
      await expect(volume.resize(256 * MIB)).rejects.toThrow(ShrinkRefusedError);
      expect((await volume.measure()).sizeBytes).toBe(640 * MIB);
      expect(statSync(volume.image).size).toBe(640 * MIB);
      // A shrink that was cut off after the file system's part is completed, and so is a growth after the file's.
      execFileSync('btrfs', ['filesystem', 'resize', String(600 * MIB), volume.mount.mountPoint]);
      await volume.resize(600 * MIB);
      expect(statSync(volume.image).size).toBe(600 * MIB);
      execFileSync('fallocate', ['--length', String(700 * MIB), volume.image]);
      await volume.resize(700 * MIB);
      expect((await volume.measure()).sizeBytes).toBe(700 * MIB);
    } else {
      expect(blocksOf(volume.image)).toBeGreaterThanOrEqual(1100 * MIB);
    }
    writeSync(file, Buffer.alloc(MIB, 8));
    closeSync(file);
    const kept = readFileSync(join(data, 'open'));
    expect([kept.length, kept[0], kept[300 * MIB - 1], kept.at(-1)]).toEqual([301 * MIB, 7, 7, 8]);
  });

  it('is found again after the agent was killed, with its device and its bytes', async () => {
    const volume = await open('a');
    writeFileSync(join(await volume.writable(1), 'file'), 'kept');
    const devices = await loopDevicesOf(volume.image);
    expect(devices).toHaveLength(1);
    const again = await open('a');
    expect(readFileSync(join(await again.writable(1), 'file'), 'utf8')).toBe('kept');
    expect(await loopDevicesOf(volume.image)).toEqual(devices);
    expect(await make().close({ id: 'vol_1', folder: join(root, 'a') })).toBe(true);
    expect(await mountAt(volume.mount.mountPoint)).toBeUndefined();
    const reopened = await open('a');
    expect(readFileSync(join(await reopened.writable(1), 'file'), 'utf8')).toBe('kept');
  });

  it('completes what a killed agent left half made', async () => {
    mkdirSync(join(root, 'a'));
    writeFileSync(join(root, 'a', 'image.new'), 'half');
    const volume = await open('a');
    expect(existsSync(await volume.writable(1))).toBe(true);
  });

  it('copies whole, then what changed, and takes nothing when nothing changed', async () => {
    const [from, to] = [await open('a'), await open('b')];
    const data = await from.writable(1);
    mkdirSync(join(data, 'folder'));
    writeFileSync(join(data, 'folder', 'one'), Buffer.alloc(8 * MIB, 1));
    const first = await take(from, 1);
    const whole = await transfer(from, to, first);
    expect(whole).toBeGreaterThan(8 * MIB);
    expect(await copiesOf(from).take(1, first)).toBeUndefined();
    appendFileSync(join(data, 'folder', 'one'), 'tail');
    writeFileSync(join(data, 'two'), 'second');
    const second = await take(from, 1, first);
    const changed = await transfer(from, to, second, first);
    expect(changed).toBeLessThan(MIB);
    expect(await names(to)).toEqual([first, second].map(copyText));
    expect((await copiesOf(to).list()).at(-1)?.takenAt).toBe(second.takenAt);
    const promoted = await to.writable(2);
    expect(readFileSync(join(promoted, 'two'), 'utf8')).toBe('second');
    expect(readFileSync(join(promoted, 'folder', 'one')).length).toBe(8 * MIB + 4);
  });

  it('takes at most three copies for nothing after it was written steadily', async () => {
    const volume = await open('a');
    const data = await volume.writable(1);
    let last: Copy | undefined;
    for (let round = 0; round < 5; round += 1) {
      writeFileSync(join(data, 'file'), String(round));
      last = await take(volume, 1, last);
    }
    let empty = 0;
    for (let next = await copiesOf(volume).take(1, last); next !== undefined; empty += 1) {
      last = next;
      next = await copiesOf(volume).take(1, last);
    }
    expect(empty).toBeLessThanOrEqual(3);
    writeFileSync(join(data, 'file'), 'after');
    await take(volume, 1, last);
  });

  it('holds a moment in time while its files are written', async () => {
    const [from, to] = [await open('a'), await open('b')];
    const data = await from.writable(1);
    const script = `i=0; while [ $i -lt 100000 ]; do i=$((i+1)); echo $i > a.new; mv a.new a; echo $i > b.new; mv b.new b; done`;
    const writer = spawn('/bin/sh', ['-c', script], { cwd: data });
    try {
      let last: Copy | undefined;
      for (let round = 0; round < 5; round += 1) {
        await eventually('b is there', () => existsSync(join(data, 'b')), Boolean);
        const copy = await take(from, 1, last);
        await transfer(from, to, copy, last);
        last = copy;
      }
    } finally {
      const gone = once(writer, 'exit');
      writer.kill('SIGKILL');
      await gone;
    }
    const promoted = await to.writable(2);
    const [a, b] = ['a', 'b'].map((name) => Number(readFileSync(join(promoted, name), 'utf8')));
    expect([b, (b ?? 0) + 1]).toContain(a);
  });

  it('knows an incomplete copy, removes it, and keeps the last whole one', async () => {
    const [from, to] = [await open('a'), await open('b')];
    const data = await from.writable(1);
    writeFileSync(join(data, 'one'), 'first');
    const first = await take(from, 1);
    await transfer(from, to, first);
    writeFileSync(join(data, 'one'), Buffer.alloc(8 * MIB, 7));
    const second = await take(from, 1, first);
    await expect(transfer(from, to, second, first, 3 * MIB)).rejects.toThrow('cut');
    expect(await names(to)).toEqual([copyText(first)]);
    const again = await open('b');
    expect(await names(again)).toEqual([copyText(first)]);
    await transfer(from, again, second, first);
    expect(readFileSync(join(await again.writable(2), 'one')).length).toBe(8 * MIB);
  });

  it('removes no copy of which it cannot tell whether it is complete', async () => {
    const volume = await open('a');
    writeFileSync(join(await volume.writable(1), 'one'), '1');
    const copy = await take(volume, 1);
    const to = await open('b');
    await transfer(volume, to, copy);
    const kept = join(root, 'b', 'mnt', 'copies', copyText(copy));
    // Reading it fails, as it does for a bad sector.
    rmSync(`${kept}.json`);
    mkdirSync(`${kept}.json`);
    await expect(copiesOf(to).list()).rejects.toThrow('EISDIR');
    await expect(to.writable(2, true)).rejects.toThrow('EISDIR');
    expect(readFileSync(join(kept, 'one'), 'utf8')).toBe('1');
  });

  it('gives no name twice under one epoch, whatever became of the copies', async () => {
    const volume = await open('a');
    const data = await volume.writable(1);
    writeFileSync(join(data, 'file'), '1');
    const first = await take(volume, 1);
    writeFileSync(join(data, 'file'), '2');
    const second = await take(volume, 1, first);
    for (const copy of await copiesOf(volume).list()) await copiesOf(volume).drop(copy);
    // Not of its memory either: the agent was started again.
    const again = await open('a');
    writeFileSync(join(data, 'file'), '3');
    expect(await take(again, 1)).toMatchObject({ epoch: 1, sequence: second.sequence + 1 });
    await again.writable(2);
    expect(await take(again, 2)).toMatchObject({ epoch: 2, sequence: 1 });
  });

  it('lands no copy in a volume that was promoted meanwhile, and keeps what was in it', async () => {
    const [a, b] = [await open('a'), await open('b')];
    const data = await a.writable(1);
    writeFileSync(join(data, 'orders'), 'one');
    const first = await take(a, 1);
    await transfer(a, b, first);
    writeFileSync(join(data, 'orders'), 'one, two');
    const second = await take(a, 1, first);
    const sent = await copiesOf(a).send(second, first);
    const begun = Promise.withResolvers<void>();
    const promoted = Promise.withResolvers<void>();
    async function* late(): AsyncGenerator<Buffer> {
      const chunks: Buffer[] = [];
      for await (const chunk of sent.stream as AsyncIterable<Buffer>) chunks.push(chunk);
      const bytes = Buffer.concat(chunks);
      yield bytes.subarray(0, bytes.length / 2);
      begun.resolve();
      await promoted.promise;
      yield bytes.subarray(bytes.length / 2);
    }
    const landing = copiesOf(b)
      .receive(second, first, Readable.from(late(), { objectMode: false }))
      .then(
        () => 'landed',
        () => 'refused',
      );
    await begun.promise;
    // The way is silent until after the promotion, which does not wait for it.
    const promotion = await b.writable(2, true);
    expect(await landing).toBe('refused');
    const kept = await names(b);
    promoted.resolve();
    expect(readFileSync(join(promotion, 'orders'), 'utf8')).toBe('one');
    writeFileSync(join(promotion, 'orders'), 'one, three');
    expect(await names(b)).toEqual(kept);
    const next = await take(b, 2);
    await copiesOf(a).demote();
    const common = (await names(b)).includes(copyText(first)) ? first : undefined;
    await transfer(b, a, next, common);
    const [diverged] = await copiesOf(a).diverged();
    expect(readFileSync(join(diverged?.path ?? '', 'orders'), 'utf8')).toBe('one, two');
  });

  it('refuses a difference to what it does not have', async () => {
    const [from, to] = [await open('a'), await open('b')];
    writeFileSync(join(await from.writable(1), 'one'), '1');
    const first = await take(from, 1);
    writeFileSync(join(await from.writable(1), 'one'), '2');
    const second = await take(from, 1, first);
    await expect(transfer(from, to, second, first)).rejects.toThrow(ParentMissingError);
    await transfer(from, to, second);
    expect(await names(to)).toEqual([copyText(second)]);
  });

  it('keeps what an old primary wrote alone, and makes it a copy again from the common state', async () => {
    const [a, b] = [await open('a'), await open('b')];
    const old = await a.writable(1);
    writeFileSync(join(old, 'shared'), Buffer.alloc(8 * MIB, 1));
    const common = await take(a, 1);
    await transfer(a, b, common);
    writeFileSync(join(old, 'lost'), 'only here');
    await take(a, 1, common);
    const promoted = await b.writable(2);
    writeFileSync(join(promoted, 'new'), 'second epoch');
    const next = await take(b, 2);
    await copiesOf(a).demote();
    // An engine that keeps the common state sends what is new since; one that does not sends everything.
    const parent = (await names(b)).includes(copyText(common)) ? common : undefined;
    const bytes = await transfer(b, a, next, parent);
    if (parent !== undefined) expect(bytes).toBeLessThan(MIB);
    const [diverged] = await copiesOf(a).diverged();
    expect(diverged?.epoch).toBe(1);
    expect(readFileSync(join(diverged?.path ?? '', 'lost'), 'utf8')).toBe('only here');
    expect((await names(a)).at(-1)).toBe(copyText(next));
    const back = await a.writable(3);
    expect(readFileSync(join(back, 'new'), 'utf8')).toBe('second epoch');
    expect(existsSync(join(back, 'lost'))).toBe(false);
    // A second divergence of the same epoch number has a place of its own.
    expect(readFileSync(join(diverged?.path ?? '', 'lost'), 'utf8')).toBe('only here');
    if (diverged !== undefined) await copiesOf(a).discard(diverged);
    expect(await copiesOf(a).diverged()).toEqual([]);
    expect(existsSync(diverged?.path ?? '')).toBe(false);
    // What is not there was not removed.
    if (diverged !== undefined) await expect(copiesOf(a).discard(diverged)).rejects.toThrow();
    await eventually(
      () => readdirSync(dirname(back)).filter((name) => /^di(scard|verg)ed-/.test(name)),
      (left) => left.length === 0,
    );
    expect(readFileSync(join(back, 'new'), 'utf8')).toBe('second epoch');
    expect(readFileSync(join(back, 'shared'), 'utf8')).toBe(readFileSync(join(promoted, 'shared'), 'utf8'));
  });

  it('keeps nothing aside when it can tell that the old primary had written nothing more', async () => {
    const [a, b] = [await open('a'), await open('b')];
    writeFileSync(join(await a.writable(1), 'shared'), 'both');
    const common = await take(a, 1);
    await transfer(a, b, common);
    writeFileSync(join(await b.writable(2), 'new'), 'second epoch');
    const next = await take(b, 2);
    await copiesOf(a).demote();
    const parent = (await names(b)).includes(copyText(common)) ? common : undefined;
    await transfer(b, a, next, parent);
    expect(await copiesOf(a).diverged()).toHaveLength(parent === undefined ? 1 : 0);
  });

  it('goes on with its own bytes under a later epoch when nobody else had the volume', async () => {
    const volume = await open('a');
    writeFileSync(join(await volume.writable(1), 'file'), 'mine');
    await take(volume, 1);
    const later = await volume.writable(2);
    expect(readFileSync(join(later, 'file'), 'utf8')).toBe('mine');
    expect(await copiesOf(volume).diverged()).toEqual([]);
  });

  it('does not go on with nothing where no copy ever arrived', async () => {
    const volume = await open('a');
    await expect(volume.writable(2, true)).rejects.toThrow(NothingKeptError);
    writeFileSync(join(await volume.writable(1), 'file'), 'mine');
    expect(existsSync(join(await volume.writable(2, true), 'file'))).toBe(true);
  });

  it('fails for a copy that is not one, touches nothing else, and takes the next', async () => {
    const stage = await HostileStage.make(make());
    try {
      const before = stage.untouched();
      const hostile =
        name === 'btrfs' ? hostileStreams(stage.outside) : hostileBatches(stage.work, stage.outside);
      // Each of the others is an attack of its own in test/security.
      for (const { what, stream, fails } of hostile.slice(LONG_TIER ? 0 : -2)) {
        const { outcome } = await stage.receive(stream);
        if (fails === true) expect(outcome, what).not.toBe('received');
        expect(stage.untouched(), what).toEqual(before);
        expect(stage.hostBytes(), what).toBeLessThan(MIB);
      }
      const good = name === 'btrfs' ? streamOfModes : () => batchOfModes(stage.work);
      expect((await stage.receive(good)).outcome).toBe('received');
    } finally {
      await stage.end();
    }
  });

  it.runIf(LONG_TIER)('holds a copy that is larger than the volume to its own size', async () => {
    const stage = await HostileStage.make(make());
    try {
      const large = name === 'btrfs' ? streamTooLarge : () => batchTooLarge(stage.work);
      expect((await stage.receive(large)).outcome).toMatch(/no space left/i);
      expect(stage.hostBytes()).toBeLessThan(MIB);
    } finally {
      await stage.end();
    }
  });

  it('gives back the room of a copy that is dropped', async () => {
    const volume = await open('a');
    const data = await volume.writable(1);
    writeFileSync(join(data, 'big'), Buffer.alloc(40 * MIB, 3));
    const copy = await take(volume, 1);
    rmSync(join(data, 'big'));
    await copiesOf(volume).drop(copy);
    expect(await copiesOf(volume).list()).toEqual([]);
  });
});

function copiesOf(volume: OpenVolume): SnapshotCopies {
  if (volume.copies === undefined) throw new Error('this engine takes no copies');
  return volume.copies;
}

async function names(volume: OpenVolume): Promise<readonly string[]> {
  return (await copiesOf(volume).list()).map(copyText);
}

async function take(volume: OpenVolume, epoch: number, last?: CopyName): Promise<Copy> {
  const copy = await copiesOf(volume).take(epoch, last);
  if (copy === undefined) throw new Error('nothing was taken');
  return copy;
}

/** Answers the bytes on the way; with `cutAfter` the connection breaks there. */
async function transfer(
  from: OpenVolume,
  to: OpenVolume,
  copy: Copy,
  parent?: CopyName,
  cutAfter = Infinity,
): Promise<number> {
  const sent = await copiesOf(from).send(copy, parent);
  let bytes = 0;
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const chunk of sent.stream as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > cutAfter) throw new Error('cut');
      yield chunk;
    }
  }
  try {
    await copiesOf(to).receive(copy, parent, Readable.from(counted(), { objectMode: false }));
  } finally {
    sent.stop();
  }
  return bytes;
}

/** Writes until there is no room; answers how much there was. */
function fill(path: string): number {
  const chunk = Buffer.alloc(MIB, 5);
  for (let written = 0; ; written += MIB) {
    try {
      appendFileSync(path, chunk);
    } catch (error) {
      expect((error as NodeJS.ErrnoException).code).toBe('ENOSPC');
      return written;
    }
  }
}

function blocksOf(path: string): number {
  return Number(execFileSync('stat', ['-c', '%b', path], { encoding: 'utf8' })) * 512;
}

import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { promisify } from 'node:util';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BtrfsEngine } from '../../src/agent/volumes/btrfs-engine.ts';
import type { CopyLink, SendOutcome } from '../../src/agent/volumes/copy-link.ts';
import { CopySender } from '../../src/agent/volumes/copy-sender.ts';
import type { Copy, OpenVolume, SnapshotCopies } from '../../src/agent/volumes/volume-engine.ts';
import { CopyRefusedError, Volumes, type VolumesOptions } from '../../src/agent/volumes/volumes.ts';
import { eventually } from '../support/eventually.ts';
import { makeApart } from '../support/harness/apart-image.ts';
import { removeWithMounts } from '../support/harness/mounts.ts';
import { ensurePackages } from '../support/harness/packages.ts';

const MIB = 2 ** 20;
const ID = 'vol_1';

ensurePackages(['btrfs-progs', 'mount']);

const log = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} };

function copiesOf({ copies }: OpenVolume): SnapshotCopies {
  if (copies === undefined) throw new Error('this engine takes no copies');
  return copies;
}

type Sent = Pick<SendOutcome, 'ok'> & {
  /** What it is the difference to. */
  readonly parent: number | undefined;
  readonly reason?: string;
  readonly message?: string;
  readonly have?: readonly string[];
  /** What the node of the copy has on its disk afterwards. */
  readonly kept: readonly string[];
  /** What it says that it has. */
  readonly told: number | undefined;
};

async function* cut(stream: Readable): AsyncGenerator<Buffer> {
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    yield chunk;
    throw new Error('the copy was cut off');
  }
}

/** A primary and the node of its copy, on real file systems, joined without a network. */
class Pair {
  readonly primary: OpenVolume;
  readonly data: string;
  readonly sent: Sent[] = [];
  readonly link: CopyLink;
  readonly #node: Volumes;
  readonly #folder: string;
  readonly #close: () => Promise<unknown>;

  static async make(root: string, primaryBytes: number, copyBytes: number): Promise<Pair> {
    const engine = new BtrfsEngine();
    const place = { id: ID, folder: join(root, 'primary') };
    const primary = await engine.open(place, primaryBytes);
    const pair = new Pair(root, primary, copyBytes, await primary.writable(1), () => engine.close(place));
    const state = (): string | undefined => pair.#node.observations()[0]?.state;
    await eventually('the node of the copy is ready', state, (now) => now === 'ready');
    return pair;
  }

  private constructor(
    root: string,
    primary: OpenVolume,
    copyBytes: number,
    data: string,
    close: () => Promise<unknown>,
  ) {
    this.primary = primary;
    this.data = data;
    this.#close = close;
    this.#folder = join(root, 'node', 'volumes', ID, 'mnt', 'copies');
    const engine = new BtrfsEngine();
    const streams = new Map<string, Readable>();
    this.#node = new Volumes({
      dataDir: join(root, 'node'),
      engines: [engine],
      plain: engine,
      copyIntervalMs: 1_000,
      inUse: () => false,
      onChange: () => {},
      onNews: () => {},
      link: { fetch: (relayId: string) => streams.get(relayId) },
      log,
    } as unknown as VolumesOptions);
    this.#node.assign([
      { id: ID, role: 'replica', class: 'replicated', type: 'volume', epoch: 1, sizeBytes: copyBytes },
    ]);
    this.link = {
      send: async ({ volumeId, volumeEpoch, header }, stream, signal) => {
        const relayId = String(this.sent.length);
        streams.set(relayId, stream);
        const incoming = { volumeId, volumeEpoch, relayId, copy: header };
        const outcome = await this.#node.receive(incoming, signal).then(
          (): SendOutcome => ({ ok: true }),
          (error: unknown): SendOutcome => {
            if (!(error instanceof CopyRefusedError)) throw error;
            const { reason, message, have } = error;
            return { ok: false, where: 'receiver', reason, message, ...(have && { have }) };
          },
        );
        const kept = readdirSync(this.#folder).filter((name) => /^\d+\.\d+$/.test(name));
        const told = this.#node.observations()[0]?.copy?.sequence;
        this.sent.push({ ...outcome, parent: header.parent, kept, told });
        return outcome;
      },
      fetch: () => {
        throw new Error('nothing is fetched here');
      },
    };
  }

  /** Other bytes, each time. */
  async rewrite(mebibytes: number): Promise<void> {
    const args = ['if=/dev/urandom', `of=${join(this.data, 'large')}`, 'bs=1M', `count=${mebibytes}`];
    await promisify(execFile)('dd', [...args, 'conv=fsync']);
  }

  async take(last?: Copy): Promise<Copy> {
    const copy = await copiesOf(this.primary).take(1, last);
    if (copy === undefined) throw new Error('nothing was taken');
    return copy;
  }

  /** A copy that is there, and the one after it, of other bytes. */
  async arrivedAndNext(mebibytes: number): Promise<readonly [arrived: Copy, next: Copy]> {
    await this.rewrite(mebibytes);
    const arrived = await this.take();
    expect(await this.send(arrived)).toMatchObject({ ok: true });
    await this.rewrite(mebibytes);
    return [arrived, await this.take(arrived)];
  }

  /** `isCut`: the way breaks in the middle. */
  async send(
    copy: Copy,
    parent?: Copy,
    { isCut = false, from = this.primary }: { readonly isCut?: boolean; readonly from?: OpenVolume } = {},
  ): Promise<Sent | undefined> {
    const { stream: whole, stop } = await copiesOf(from).send(copy, parent);
    const stream = isCut ? Readable.from(cut(whole), { objectMode: false }) : whole;
    const { sequence, takenAt } = copy;
    const built = parent === undefined ? {} : { parent: parent.sequence, parentEpoch: parent.epoch };
    const header = { engine: 'btrfs', sequence, takenAt, ...built };
    try {
      await this.link.send(
        { volumeId: ID, volumeEpoch: 1, target: 'b', header },
        stream,
        new AbortController().signal,
      );
    } finally {
      stop();
    }
    const sent = this.sent.at(-1);
    // On a slow disk room takes longer to come back.
    return sent?.reason === 'receiving' ? await this.send(copy, parent, { isCut, from }) : sent;
  }

  async end(): Promise<void> {
    await this.#node.end();
    await this.#close();
  }
}

describe('the node of a copy, while the volume is written over and over', () => {
  let root: string;
  let pair: Pair | undefined;
  const closing: (() => Promise<unknown>)[] = [];

  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'berth-copies-'));
  });

  afterEach(async () => {
    await pair?.end();
    pair = undefined;
    for (const close of closing.splice(0)) await close();
    removeWithMounts(root);
  });

  it('goes by what arrives, not by names, when the primary counts anew', async () => {
    pair = await Pair.make(root, 256 * MIB, 256 * MIB);
    const [first, second] = await pair.arrivedAndNext(1);
    expect(await pair.send(second, first)).toMatchObject({ ok: true, kept: ['1.1', '1.2'] });
    // As a primary of an earlier release did that had lost its own copies.
    const anew = async (name: string): Promise<readonly [OpenVolume, Copy, Copy]> => {
      const engine = new BtrfsEngine();
      const place = { id: ID, folder: join(root, name) };
      const volume = await engine.open(place, 256 * MIB);
      closing.push(() => engine.close(place));
      const file = join(await volume.writable(1), name);
      const take = async (text: string, last?: Copy): Promise<Copy> => {
        writeFileSync(file, text);
        const copy = await copiesOf(volume).take(1, last);
        if (copy === undefined) throw new Error('nothing was taken');
        return copy;
      };
      const before = await take('one');
      return [volume, before, await take('two', before)];
    };
    const [again, one] = await anew('again');
    expect(await pair.send(one, undefined, { from: again })).toMatchObject({
      ok: true,
      kept: ['1.1'],
      told: 1,
    });
    const [third, before, after] = await anew('third');
    // A name that is known stands for another moment: nothing is built on it.
    expect(await pair.send(before, after, { from: third })).toMatchObject({
      reason: 'parent_missing',
      have: [],
    });
    expect(await pair.send(after, undefined, { from: third })).toMatchObject({ ok: true, told: 2 });
    expect(await pair.send(before, undefined, { from: third })).toMatchObject({
      ok: true,
      kept: ['1.1'],
      told: 1,
    });
  });

  it('gets the room of the copies before back, and each time what has changed', async () => {
    pair = await Pair.make(root, 512 * MIB, 512 * MIB);
    const { primary, link } = pair;
    const sender = new CopySender({
      volumeId: ID,
      engine: 'btrfs',
      epoch: 1,
      volume: primary,
      copies: copiesOf(primary),
      intervalMs: 300,
      link,
      onChange: () => {},
      log,
    });
    sender.setTargets(['b']);
    try {
      for (let round = 0; round < 8; round += 1) {
        await pair.rewrite(80);
        const writtenAt = performance.now();
        const sinceMs = (): number => performance.now() - (sender.state()[0]?.ageMs ?? Infinity);
        await eventually('what was written is with the copy', sinceMs, (ms) => ms > writtenAt, 30_000);
      }
    } finally {
      await sender.end();
    }
    const [first, ...others] = pair.sent;
    expect(first?.ok).toBe(true);
    expect(others.filter(({ parent, kept }) => parent === undefined || kept.length === 0)).toEqual([]);
  });

  it('keeps what it has, and says so, when the way is cut', async () => {
    pair = await Pair.make(root, 160 * MIB, 160 * MIB);
    const [first, second] = await pair.arrivedAndNext(5);
    const cutOff = { ok: false, reason: 'receive_failed', have: ['1.1'], kept: ['1.1'] };
    expect(await pair.send(second, first, { isCut: true })).toMatchObject(cutOff);
    expect(await pair.send(second, first)).toMatchObject({ ok: true, kept: ['1.1', '1.2'] });
  });

  it('gives up the old copy last, for one that does not fit beside it', async () => {
    pair = await Pair.make(root, 400 * MIB, 160 * MIB);
    const [first, second] = await pair.arrivedAndNext(90);
    const short = { ok: false, message: expect.stringMatching(/no space left/i) };
    // Once more as it is, when the room of what was dropped is back; then whole, which needs no parent.
    expect(await pair.send(second, first)).toMatchObject({ ...short, have: ['1.1'], kept: ['1.1'] });
    const again = await pair.send(second, first);
    expect(again).toMatchObject({ ...short, kept: ['1.1'], told: 1 });
    expect(again?.have).toBeUndefined();
    expect(await pair.send(second)).toMatchObject({ ...short, kept: [], told: undefined });
    expect(await pair.send(second)).toMatchObject({ ok: true, kept: ['1.2'], told: 2 });
  });

  it('keeps what it has where only metadata has no room, and takes the same a moment later', async () => {
    makeApart(join(root, 'node', 'volumes', ID), 400 * MIB);
    pair = await Pair.make(root, 400 * MIB, 400 * MIB);
    await pair.rewrite(60);
    const first = await pair.take();
    expect(await pair.send(first)).toMatchObject({ ok: true });
    await pair.rewrite(230);
    for (let file = 0; file < 20; file += 1) writeFileSync(join(pair.data, String(file)), '');
    const second = await pair.take(first);
    const short = { ok: false, message: expect.stringMatching(/no room for metadata/) };
    expect(await pair.send(second, first)).toMatchObject({ ...short, have: ['1.1'], kept: ['1.1'] });
    expect(await pair.send(second, first)).toMatchObject({ ok: true, kept: ['1.1', '1.2'], told: 2 });
  });
});

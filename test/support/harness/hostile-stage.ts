import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { BtrfsEngine } from '../../../src/agent/volumes/btrfs-engine.ts';
import { RsyncEngine } from '../../../src/agent/volumes/rsync-engine.ts';
import type {
  OpenVolume,
  SnapshotCopies,
  VolumeEngine,
  VolumePlace,
} from '../../../src/agent/volumes/volume-engine.ts';
import type { Outside } from '../hostile-copies.ts';

const SIZE = 160 * 2 ** 20;

/**
 * The machine of a copy: a volume that takes copies, a file of the host, and another volume. Made in a folder of its own; what is outside may be
 * another stage's.
 */
export class HostileStage {
  readonly work: string;
  readonly outside: Outside;
  readonly volume: OpenVolume;
  readonly #root: string;
  readonly #opened: readonly [VolumeEngine, VolumePlace][];
  #sequence = 0;

  static async make(engine: VolumeEngine, outside?: Outside): Promise<HostileStage> {
    const root = mkdtempSync(join(tmpdir(), 'berth-hostile-'));
    for (const name of ['work', 'copy']) mkdirSync(join(root, name));
    const copy: VolumePlace = { id: 'copy', folder: join(root, 'copy') };
    const opened: [VolumeEngine, VolumePlace][] = [[engine, copy]];
    const around = outside ?? (await surroundings(root, opened));
    return new HostileStage(root, around, await engine.open(copy, SIZE), opened);
  }

  private constructor(
    root: string,
    outside: Outside,
    volume: OpenVolume,
    opened: readonly [VolumeEngine, VolumePlace][],
  ) {
    this.#root = root;
    this.work = join(root, 'work');
    this.outside = outside;
    this.volume = volume;
    this.#opened = opened;
  }

  get copies(): SnapshotCopies {
    if (this.volume.copies === undefined) throw new Error('this engine takes no copies');
    return this.volume.copies;
  }

  /** What came of it, in words: `received`, or why not; and the folder of the copy. */
  async receive(
    stream: (name: string) => Buffer,
  ): Promise<{ readonly outcome: string; readonly path: string }> {
    this.#sequence += 1;
    const copy = { epoch: 1, sequence: this.#sequence, takenAt: 'now' };
    const name = `1.${this.#sequence}`;
    async function* bytes(): AsyncGenerator<Uint8Array> {
      yield stream(name);
    }
    const outcome = await this.copies.receive(copy, undefined, bytes()).then(
      () => 'received',
      (error: Error) => error.message,
    );
    return { outcome, path: join(this.volume.mount.mountPoint, 'copies', name) };
  }

  /** Everything that is not the copy's own. */
  untouched(): unknown {
    const { folder, subvolume } = this.outside;
    const read = (path: string): string => readFileSync(path, 'utf8');
    const top = readdirSync(this.volume.mount.mountPoint).filter((name) => name !== 'lost+found');
    return {
      victim: read(join(folder, 'victim')),
      folder: readdirSync(folder),
      other: readdirSync(subvolume),
      above: readdirSync(join(this.#root, 'copy')).filter((name) => name !== 'jail'),
      top,
    };
  }

  /** Bytes that the host's disk gave to the folder, beside the image. */
  hostBytes(): number {
    const printed = execFileSync('du', [
      '--one-file-system',
      '--bytes',
      '--exclude=image',
      join(this.#root, 'copy'),
    ]);
    return Number(printed.toString('utf8').trim().split('\n').at(-1)?.split('\t')[0]);
  }

  async end(): Promise<void> {
    for (const [engine, place] of this.#opened) await engine.close(place);
    rmSync(this.#root, { recursive: true, force: true });
  }
}

async function surroundings(root: string, opened: [VolumeEngine, VolumePlace][]): Promise<Outside> {
  const folder = join(root, 'outside');
  const other: VolumePlace = { id: 'other', folder: join(root, 'other') };
  for (const path of [folder, other.folder]) mkdirSync(path);
  writeFileSync(join(folder, 'victim'), 'of the host');
  const engine = new BtrfsEngine();
  opened.push([engine, other]);
  const subvolume = await (await engine.open(other, SIZE)).writable(1);
  writeFileSync(join(subvolume, 'precious'), 'of another volume');
  return { folder, subvolume };
}

export function engineNamed(name: string, heldMs?: number): VolumeEngine {
  const options = heldMs === undefined ? {} : { heldMs };
  return name === 'rsync' ? new RsyncEngine(options) : new BtrfsEngine(options);
}

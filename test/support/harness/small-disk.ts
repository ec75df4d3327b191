import { execFileSync } from 'node:child_process';
import {
  closeSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  rmSync,
  statfsSync,
  truncateSync,
  writeSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensurePackages } from './packages.ts';

const BLOCK = Buffer.alloc(64 * 1024, 'f');

/** A file system of its own that can be filled up: ext4 on a loop device, so that writes reach something that can refuse them. */
export class SmallDisk {
  readonly path: string;
  readonly #folder = mkdtempSync(join(tmpdir(), 'berth-disk-'));
  #fillers = 0;

  constructor(sizeBytes: number) {
    ensurePackages(['e2fsprogs', 'mount']);
    this.path = join(this.#folder, 'mounted');
    const image = join(this.#folder, 'image');
    closeSync(openSync(image, 'w'));
    truncateSync(image, sizeBytes);
    // No blocks are held back for root, who runs the tests.
    execFileSync('/usr/sbin/mkfs.ext4', ['-q', '-m', '0', image]);
    mkdirSync(this.path);
    execFileSync('mount', ['-o', 'loop', image, this.path]);
  }

  get freeBytes(): number {
    const { bavail, bsize } = statfsSync(this.path);
    return bavail * bsize;
  }

  /** Until not one block is left. */
  fill(): void {
    const file = openSync(join(this.path, `filler-${this.#fillers}`), 'w');
    this.#fillers += 1;
    try {
      for (let length = BLOCK.length; length >= 512; )
        try {
          writeSync(file, BLOCK, 0, length);
        } catch (error) {
          if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
          length /= 2;
        }
    } finally {
      closeSync(file);
    }
  }

  /** Gives back all that `fill` took. */
  free(): void {
    for (; this.#fillers > 0; this.#fillers -= 1)
      rmSync(join(this.path, `filler-${this.#fillers - 1}`), { force: true });
  }

  remove(): void {
    execFileSync('umount', ['--lazy', this.path]);
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

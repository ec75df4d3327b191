import { randomBytes } from 'node:crypto';
import { closeSync, fsyncSync, openSync, rmSync, statSync, writeSync } from 'node:fs';
import { freeBytes } from './fault.ts';

/** Space that must be free beside the ballast before the store calls the shortage over. */
const spareBytes = 1024 * 1024;

/** A file that holds space in reserve. On a full disk it is given up, and deletions use the space it held. */
export interface Ballast {
  /** True when the reserve is held; false when there is not enough space for it. */
  fill(): boolean;
  release(): void;
}

export function createBallast(path: string, dir: string, sizeBytes: number): Ballast {
  const isHeld = (): boolean => statSync(path, { throwIfNoEntry: false })?.size === sizeBytes;
  const release = (): void => rmSync(path, { force: true });
  return {
    fill() {
      if (sizeBytes === 0) return freeBytes(dir) > spareBytes;
      if (isHeld()) return true;
      release();
      if (freeBytes(dir) < sizeBytes + spareBytes) return false;
      try {
        writeBallast(path, sizeBytes);
        return true;
      } catch {
        release();
        return false;
      }
    },
    release,
  };
}

function writeBallast(path: string, sizeBytes: number): void {
  // Random content: a file system that compresses would keep no space for zeros.
  const block = randomBytes(Math.min(sizeBytes, 256 * 1024));
  const file = openSync(path, 'wx', 0o600);
  try {
    for (let written = 0; written < sizeBytes; ) {
      written += writeSync(file, block, 0, Math.min(block.length, sizeBytes - written));
    }
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

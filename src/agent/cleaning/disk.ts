import { statfs } from 'node:fs/promises';

export interface Disk {
  readonly usedBytes: number;
  readonly totalBytes: number;
}

/** Undefined: the folder is not of this machine. */
export async function readDisk(folder: string): Promise<Disk | undefined> {
  try {
    const { blocks, bfree, bavail, bsize } = await statfs(folder);
    // As `df` counts: what is kept for root is no room.
    return { usedBytes: (blocks - bfree) * bsize, totalBytes: (blocks - bfree + bavail) * bsize };
  } catch {
    return undefined;
  }
}

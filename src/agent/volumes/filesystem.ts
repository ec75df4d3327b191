import { open, stat } from 'node:fs/promises';
import { LEAST_RESIZED_BYTES } from '../../core/model/volume.ts';
import { findProgram, ProgramError, run } from './program.ts';

const MAKE_TIMEOUT_MS = 120_000;
const MIB = 2 ** 20;
/** Nothing is left to be zeroed later: the loop device would punch holes for it. */
const NO_HOLES = 'nodiscard,lazy_itable_init=0,lazy_journal_init=0';
/** Below it the log of XFS would take a large share. */
const LEAST_XFS_BYTES = 1024 * MIB;
/** Below it the first file that fills the volume leaves the metadata of btrfs 8 MiB, of which it keeps 5.5 in reserve (0141). */
const LEAST_APART_BYTES = 5 * 1024 * MIB;

export interface Filesystem {
  readonly type: 'btrfs' | 'ext4' | 'xfs';
  readonly mountOptions: readonly string[];
  make(image: string, label: string): Promise<void>;
  /** Below this it cannot be resized: a smaller one grows at least to this. */
  readonly leastGrownBytes: number;
  /** To the size of its device, while it is in use. */
  grow(mountPoint: string, device: string): Promise<void>;
  /** Resizes it while it is in use; without enough space it fails and changes nothing. Absent: not supported. */
  shrink?(mountPoint: string, sizeBytes: number): Promise<void>;
  /** `df` shows the size of the device, nothing less. */
  readonly showsWholeDevice: boolean;
  /** Left for what it writes about files, where that has room of its own: bytes, without its reserve. Undefined: it lies among the data. */
  metadataRoom?(mountPoint: string): Promise<number | undefined>;
  /** What it says of itself while it is not mounted; undefined: nothing that is whole. Absent: not read. */
  sizeOf?(image: string): Promise<number | undefined>;
}

export const EXT4: Filesystem = {
  type: 'ext4',
  // What the file system needs for itself is shown as used, not left out of the size.
  mountOptions: ['minixdf'],
  leastGrownBytes: 0,
  showsWholeDevice: true,
  // No blocks kept for root: the volume is its tenant's. No discards: they would punch holes into the file.
  make: async (image, label) => {
    const args = ['-q', '-F', '-m', '0', '-E', NO_HOLES, '-L', label.slice(0, 16), image];
    await run('mkfs.ext4', args, MAKE_TIMEOUT_MS);
  },
  grow: async (_mountPoint, device) => {
    await run('resize2fs', [device], MAKE_TIMEOUT_MS).catch((error: unknown) => {
      if (!(error instanceof ProgramError) || !error.output.includes('Permission denied')) throw error;
      throw new Error('ext4 cannot be grown in use without the capability CAP_SYS_RESOURCE', {
        cause: error,
      });
    });
  },
};

export const BTRFS: Filesystem = {
  type: 'btrfs',
  mountOptions: ['nodiscard'],
  leastGrownBytes: LEAST_RESIZED_BYTES,
  showsWholeDevice: true,
  make: async (image, label) => {
    const { size } = await stat(image);
    const mixed = size < LEAST_APART_BYTES ? ['--mixed'] : [];
    const args = ['--quiet', '--nodiscard', '--metadata', 'single', '--data', 'single', '--label', label];
    await run('mkfs.btrfs', [...args, ...mixed, image], MAKE_TIMEOUT_MS);
  },
  grow: async (mountPoint) => {
    await run('btrfs', ['filesystem', 'resize', 'max', mountPoint], MAKE_TIMEOUT_MS);
  },
  shrink: async (mountPoint, sizeBytes) => {
    await run('btrfs', ['filesystem', 'resize', String(sizeBytes), mountPoint], MAKE_TIMEOUT_MS);
  },
  metadataRoom: async (mountPoint) => {
    const printed = await run('btrfs', ['filesystem', 'df', '--raw', mountPoint]);
    const sums = (kind: string): readonly [total: number, used: number] | undefined => {
      const found = new RegExp(`^${kind}, .*total=(\\d+), used=(\\d+)$`, 'm').exec(printed);
      return found === null ? undefined : [Number(found[1]), Number(found[2])];
    };
    const metadata = sums('Metadata');
    const [reserved] = sums('GlobalReserve') ?? [0];
    return metadata && metadata[0] - metadata[1] - reserved;
  },
  sizeOf: async (image) => {
    const printed = await run('btrfs', ['inspect-internal', 'dump-super', image]).catch(() => '');
    const bytes = /^total_bytes\s+(\d+)$/m.exec(printed)?.[1];
    return bytes !== undefined && /^csum\s.*\[match\]$/m.test(printed) ? Number(bytes) : undefined;
  },
};

export const XFS: Filesystem = {
  type: 'xfs',
  mountOptions: [],
  leastGrownBytes: 0,
  // Its log is left out.
  showsWholeDevice: false,
  make: async (image) => {
    await run('mkfs.xfs', ['-q', '-f', '-K', image], MAKE_TIMEOUT_MS);
  },
  grow: async (mountPoint) => {
    await run('xfs_growfs', [mountPoint], MAKE_TIMEOUT_MS);
  },
};

/** By what is in the image; for a new one XFS, when it is there and the volume large enough, else ext4. */
export async function commonFilesystem(image: string, sizeBytes: number): Promise<Filesystem> {
  const magic = await firstBytes(image);
  if (magic !== undefined) return magic === 'XFSB' ? XFS : EXT4;
  const there =
    (await findProgram('mkfs.xfs')) !== undefined && (await findProgram('xfs_growfs')) !== undefined;
  return there && sizeBytes >= LEAST_XFS_BYTES ? XFS : EXT4;
}

async function firstBytes(image: string): Promise<string | undefined> {
  const file = await open(image, 'r').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (file === undefined) return undefined;
  try {
    return (await file.read(Buffer.alloc(4), 0, 4, 0)).buffer.toString('latin1');
  } finally {
    await file.close();
  }
}

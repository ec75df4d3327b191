import { bytesOf } from '../bytes.ts';
import { createReadStream } from 'node:fs';
import { mkdir, open, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { untilAborted } from './interruptible.ts';

/**
 * Everything of a file that a program could tell apart. Whole files are never sent for a changed block, and times are compared
 * to the nanosecond: a database writes twice in one second.
 */
export const RSYNC: readonly string[] = [
  '--archive',
  '--hard-links',
  '--xattrs',
  '--numeric-ids',
  '--delete',
  '--no-whole-file',
  '--modify-window=-1',
];

export const TREE_TIMEOUT_MS = 3_600_000;
const LENGTH_BYTES = 8;
const MAX_PARTS = 4;

/** Files one after the other, each behind its length. */
export async function* writeParts(files: readonly string[]): AsyncGenerator<Buffer> {
  for (const file of files) {
    const length = Buffer.alloc(LENGTH_BYTES);
    length.writeBigUInt64BE(BigInt((await stat(file)).size));
    yield length;
    yield* bytesOf(createReadStream(file));
  }
}

/** The other way round, into files of the folder. Fails when the last one is not whole, or all are more than `maxBytes`. */
export async function readParts(
  stream: AsyncIterable<Uint8Array>,
  folder: string,
  maxBytes: number,
  signal: AbortSignal,
): Promise<readonly string[]> {
  await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { mode: 0o700 });
  const files: string[] = [];
  let head = Buffer.alloc(0);
  let left = 0;
  let announced = 0;
  let file: Awaited<ReturnType<typeof open>> | undefined;
  try {
    for await (const chunk of untilAborted(stream, signal)) {
      let bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
      while (bytes.length > 0) {
        if (file === undefined) {
          head = Buffer.concat([head, bytes]);
          if (head.length < LENGTH_BYTES) break;
          left = Number(head.readBigUInt64BE());
          announced += left;
          // The folder is on the host's own disk, which is not the sender's to fill.
          if (announced > maxBytes) throw new Error(`the copy is larger than ${maxBytes} bytes`);
          bytes = head.subarray(LENGTH_BYTES);
          head = Buffer.alloc(0);
          if (files.length === MAX_PARTS) throw new Error('the copy has too many parts');
          files.push(join(folder, `part-${files.length}`));
          file = await open(files.at(-1) ?? '', 'w', 0o600);
        }
        const part = bytes.subarray(0, left);
        await file.writeFile(part);
        left -= part.length;
        bytes = bytes.subarray(part.length);
        if (left === 0) {
          await file.close();
          file = undefined;
        }
      }
    }
    if (file !== undefined || head.length > 0 || files.length === 0) throw new Error('the copy was cut off');
    return files;
  } finally {
    await file?.close();
  }
}

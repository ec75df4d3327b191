import { readFileSync } from 'node:fs';
import { DamageError } from './fault.ts';

const headerBytes = 32;
const frameHeaderBytes = 24;
const littleEndianMagic = 0x377f0682;

/**
 * SQLite ends the log of writes at the first frame that fails its checksum: right for a write that a crash cut off,
 * but a frame damaged later would silently take every transaction after it along. The two can be distinguished, since a
 * transaction is only begun when its predecessor has been synced: a bad frame with two commits at or after it is
 * damage. In the very last transaction they look alike.
 */
export function verifyWal(path: string): void {
  const wal = readWal(path);
  if (wal === undefined) return;
  const little = wal.getUint32(0) === littleEndianMagic;
  let sum = checksum(wal, 0, 24, little, [0, 0]);
  if (sum[0] !== wal.getUint32(24) || sum[1] !== wal.getUint32(28)) {
    throw new DamageError('the head of its write-ahead log fails its checksum');
  }
  const frameBytes = frameHeaderBytes + wal.getUint32(8);
  let frame = headerBytes;
  for (; isOfThisLog(wal, frame, frameBytes); frame += frameBytes) {
    sum = checksum(wal, frame, 8, little, sum);
    sum = checksum(wal, frame + frameHeaderBytes, frameBytes - frameHeaderBytes, little, sum);
    if (sum[0] !== wal.getUint32(frame + 16) || sum[1] !== wal.getUint32(frame + 20)) break;
  }
  if (commitsFrom(wal, frame, frameBytes) > 1) {
    throw new DamageError(`byte ${frame} and later of its write-ahead log fail their checksum`);
  }
}

function readWal(path: string): DataView | undefined {
  let content: Buffer;
  try {
    content = readFileSync(path);
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
  if (content.length <= headerBytes) return undefined;
  return new DataView(content.buffer, content.byteOffset, content.byteLength);
}

/** Frames of an earlier use of the file carry other salts. */
function isOfThisLog(wal: DataView, frame: number, frameBytes: number): boolean {
  return (
    frame + frameBytes <= wal.byteLength &&
    wal.getUint32(frame + 8) === wal.getUint32(16) &&
    wal.getUint32(frame + 12) === wal.getUint32(20)
  );
}

function commitsFrom(wal: DataView, first: number, frameBytes: number): number {
  let commits = 0;
  for (let frame = first; frame + frameBytes <= wal.byteLength; frame += frameBytes) {
    if (isOfThisLog(wal, frame, frameBytes) && wal.getUint32(frame + 4) !== 0) commits++;
  }
  return commits;
}

type Sum = readonly [number, number];

function checksum(wal: DataView, from: number, length: number, little: boolean, start: Sum): Sum {
  let [first, second] = start;
  for (let at = from; at < from + length; at += 8) {
    first = (first + wal.getUint32(at, little) + second) | 0;
    second = (second + wal.getUint32(at + 4, little) + first) | 0;
  }
  return [first >>> 0, second >>> 0];
}

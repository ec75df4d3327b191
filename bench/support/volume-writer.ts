/** `node volume-writer.ts FOLDER`: writes into it, apart from the process that makes copies, and prints what it took. */
import { closeSync, fdatasyncSync, fsyncSync, openSync, writeSync } from 'node:fs';
import { join } from 'node:path';

const MIB = 2 ** 20;
const WRITTEN_BYTES = 512 * MIB;
const SYNCS = 2000;

export interface Written {
  readonly mibPerSecond: number;
  /** Milliseconds of each append of 4 KiB with its fdatasync. */
  readonly syncs: readonly number[];
}

function throughput(folder: string): number {
  const chunk = Buffer.alloc(MIB, 7);
  const file = openSync(join(folder, 'large'), 'w');
  const begun = performance.now();
  for (let written = 0; written < WRITTEN_BYTES; written += chunk.length) writeSync(file, chunk);
  fsyncSync(file);
  closeSync(file);
  return WRITTEN_BYTES / MIB / ((performance.now() - begun) / 1000);
}

function syncLatencies(folder: string): readonly number[] {
  const chunk = Buffer.alloc(4096, 9);
  const file = openSync(join(folder, 'log'), 'a');
  const times = Array.from({ length: SYNCS }, () => {
    const begun = performance.now();
    writeSync(file, chunk);
    fdatasyncSync(file);
    return performance.now() - begun;
  });
  closeSync(file);
  return times;
}

const [folder = '', what = ''] = process.argv.slice(2);
const written: Written = {
  mibPerSecond: what === 'large' ? throughput(folder) : 0,
  syncs: what === 'log' ? syncLatencies(folder) : [],
};
console.log(JSON.stringify(written));

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSqliteKv, type SqliteKv } from '../src/server/store/sqlite/sqlite-kv.ts';

/**
 * Durable commits of the embedded store. `free` is how much of an idle event loop's work is still done while the
 * writers run. Usage: node bench/store.ts [seconds per row] [directory on the disk to measure]
 */
const seconds = Number(process.argv[2] ?? 2);
const parent = process.argv[3] ?? tmpdir();
const valueBytes = 1024;

/** Small units of other work, one per turn of the event loop; returns units per second so far. */
function startOtherWork(): () => number {
  const begun = performance.now();
  let units = 0;
  let stopped = false;
  const turn = (): void => {
    if (stopped) return;
    const until = performance.now() + 0.05;
    while (performance.now() < until);
    units++;
    setImmediate(turn);
  };
  setImmediate(turn);
  return () => {
    stopped = true;
    return units / ((performance.now() - begun) / 1000);
  };
}

async function commitFor(kv: SqliteKv, writer: number, until: number, waits: number[]): Promise<void> {
  const value = JSON.stringify({ writer, padding: 'x'.repeat(valueBytes - 40) });
  for (let i = 0; performance.now() < until; i++) {
    const key = `bench/${writer}/${i % 1000}`;
    const begun = performance.now();
    await kv.commit({
      guards: [{ key, modRevision: (await kv.get(key))?.modRevision ?? 0 }],
      puts: [{ key, value }],
    });
    waits.push(performance.now() - begun);
  }
}

async function measure(
  kv: SqliteKv,
  writers: number,
): Promise<{ rate: number; shared: number; waits: number[] }> {
  const waits: number[] = [];
  const begun = performance.now();
  const transactions = kv.transactions;
  const until = begun + seconds * 1000;
  await Promise.all(Array.from({ length: writers }, (_, writer) => commitFor(kv, writer, until, waits)));
  const rate = waits.length / ((performance.now() - begun) / 1000);
  return {
    rate,
    shared: waits.length / (kv.transactions - transactions),
    waits: waits.sort((a, b) => a - b),
  };
}

console.log(`${valueBytes} byte values, guarded by a read, ${seconds} s a row`);
console.log('writers  commits/s  per sync  p50 ms  p99 ms  | beside other work: commits/s  free');
for (const writers of [1, 16, 64, 256]) {
  const dir = await mkdtemp(join(parent, 'berth-bench-'));
  const kv = await openSqliteKv({ dir });
  const watch = kv.watch('', 0, { onBatch: () => {}, onLost: () => {} });
  const alone = await measure(kv, writers);
  const idle = startOtherWork();
  await new Promise((resolve) => setTimeout(resolve, 500));
  const idleUnits = idle();
  const other = startOtherWork();
  const beside = await measure(kv, writers);
  const free = other() / idleUnits;
  const at = (share: number): string =>
    (alone.waits[Math.floor(alone.waits.length * share)] ?? 0).toFixed(2).padStart(7);
  console.log(
    `${String(writers).padStart(7)}  ${String(Math.round(alone.rate)).padStart(9)}  ${alone.shared.toFixed(1).padStart(8)} ${at(0.5)} ${at(0.99)}  |` +
      ` ${String(Math.round(beside.rate)).padStart(29)}  ${Math.round(free * 100)} %`,
  );
  watch.close();
  await kv.close();
  await rm(dir, { recursive: true });
}

/**
 * A program of its own, apart from the agent: containers outlive an agent that was killed, so what ends the writers of a
 * volume whose lease ran out must outlive it too. It needs neither the agent nor the engine, only /proc and umount. One per
 * data folder; it goes when the folder does, or when nothing has been leased for a while.
 */
import { appendFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { messageOf } from '../../core/model/values.ts';
import { lockDataDir } from '../session/identity.ts';
import { fence } from './fence.ts';
import { KnownLeases } from './known-leases.ts';
import { type LeaseEntry, machineMs } from './lease-file.ts';

const LOOK_MS = 100;
const IDLE_END_MS = 60_000;

async function watch(dataDir: string): Promise<void> {
  let busyMs = performance.now();
  const fenced = new Map<string, number>();
  const log = (message: string): void => {
    const line = `${JSON.stringify({ time: new Date().toISOString(), message })}\n`;
    try {
      appendFileSync(join(dataDir, 'volumes', 'watchdog.log'), line);
    } catch {
      // On a disk that takes nothing writers end all the same.
    }
  };
  const known = new KnownLeases(dataDir, (problem) =>
    log(`the leases are not known, those read last hold: ${problem}`),
  );
  const end = async (entry: LeaseEntry): Promise<void> => {
    fenced.set(entry.volumeId, entry.deadlineMs);
    try {
      const killed = await fence(entry);
      log(`the lease of ${entry.volumeId} ran out: ${killed} processes were killed, the volume is unmounted`);
    } catch (error) {
      fenced.delete(entry.volumeId);
      log(`the lease of ${entry.volumeId} ran out, and it could not be ended: ${messageOf(error)}`);
    }
  };
  while (!(await known.isFolderGone())) {
    const leases = await known.look();
    if (leases.length > 0 || known.isUnsure) busyMs = performance.now();
    if (performance.now() - busyMs > IDLE_END_MS) return;
    const now = machineMs();
    const due = leases.filter(
      ({ volumeId, deadlineMs }) => deadlineMs <= now && fenced.get(volumeId) !== deadlineMs,
    );
    await Promise.all(due.map(end));
    await pause(LOOK_MS);
  }
}

const [dataDir = ''] = process.argv.slice(2);
if (dataDir !== '' && (await lockDataDir(dataDir, 'watchdog')) !== undefined) {
  try {
    // The last one to be killed when memory is short.
    writeFileSync('/proc/self/oom_score_adj', '-900');
  } catch {
    // As good as it gets.
  }
  await watch(dataDir);
}
process.exit(0);

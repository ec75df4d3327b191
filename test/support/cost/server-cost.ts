import { readdirSync, readFileSync } from 'node:fs';

/**
 * What a process has computed so far. The main thread is what everybody waits for: Linux counts its time in nanoseconds, and the time in
 * which it was ready and another process ran is not in it, so a busy machine does not make a request look dear.
 */
export interface Spent {
  /** Of the thread with the event loop. */
  readonly mainMs: number;
  /** Of all threads together. */
  readonly allMs: number;
}

function runMs(path: string): number {
  try {
    return Number(readFileSync(path, 'utf8').split(' ', 1)[0]) / 1e6;
  } catch {
    // A thread that ended meanwhile.
    return 0;
  }
}

export function spentBy(pid: number): Spent {
  const threads = readdirSync(`/proc/${pid}/task`);
  const allMs = threads.reduce((sum, id) => sum + runMs(`/proc/${pid}/task/${id}/schedstat`), 0);
  return { mainMs: runMs(`/proc/${pid}/task/${pid}/schedstat`), allMs };
}

/** Memory that is really there. */
export function residentMiB(pid: number): number {
  const [, kib] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Math.round(Number(kib) / 1024);
}

import { spawn } from 'node:child_process';
import { connect } from 'node:net';
import { extname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { dataDirLock } from '../session/identity.ts';

const PROGRAM = new URL(`./watchdog${extname(import.meta.url)}`, import.meta.url).pathname;
const START_MS = 10_000;
const MEMORY = ['--max-old-space-size=32', '--max-semi-space-size=1'];

/** Whether the watchdog of this data folder runs: it listens, as a lock, on a socket that ends with it. */
export async function isWatched(dataDir: string): Promise<boolean> {
  return await new Promise((resolve) => {
    const socket = connect(dataDirLock(dataDir, 'watchdog'));
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', () => resolve(false));
  });
}

/** By the file that a process runs. */
export function isWatchdog(program: string): boolean {
  return /\/volumes\/watchdog\.[jt]s$/.test(program);
}

/** Starts it when it does not run. It has no parent: neither the agent's end nor a signal to its group reaches it. */
export async function ensureWatchdog(dataDir: string): Promise<void> {
  if (await isWatched(dataDir)) return;
  const child = spawn(process.execPath, [...MEMORY, PROGRAM, dataDir], {
    detached: true,
    stdio: 'ignore',
    cwd: '/',
    env: {},
  });
  child.on('error', () => {});
  child.unref();
  for (const deadline = performance.now() + START_MS; !(await isWatched(dataDir)); await pause(20)) {
    if (performance.now() > deadline) throw new Error('the watchdog of the volumes does not start');
  }
}

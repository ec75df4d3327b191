import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { rmSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** A server of another system, on loopback. */
export interface Peer {
  readonly url: string;
  readonly pid: number;
  /** Its folder goes with it. */
  stop(): Promise<void>;
}

export interface PeerOptions {
  readonly binary: string;
  readonly args: readonly string[];
  readonly url: string;
  readonly dir: string;
  readonly isReady: () => Promise<boolean>;
  readonly readyMs: number;
}

const LOOK_MS = 100;

/** Resolves when it is ready; ends with its parent. */
export async function startPeer({ binary, args, url, dir, isReady, readyMs }: PeerOptions): Promise<Peer> {
  const child = spawn(binary, args, { stdio: 'ignore' });
  const killOnExit = (): boolean => child.kill('SIGKILL');
  process.once('exit', killOnExit);
  for (const until = performance.now() + readyMs; !(await isReady()); ) {
    if (child.exitCode !== null || performance.now() > until) throw new Error(`${binary} is not ready`);
    await delay(LOOK_MS);
  }
  return {
    url,
    pid: child.pid ?? 0,
    stop: async () => {
      process.off('exit', killOnExit);
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

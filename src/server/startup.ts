import { setTimeout as delay } from 'node:timers/promises';
import { ConfigError } from './config.ts';

const FIRST_PAUSE_MS = 200;
const LONGEST_PAUSE_MS = 5000;

/** A store that is away at start is waited for, visibly; a configuration that cannot be used is not. */
export async function untilDone(
  work: () => Promise<void>,
  onFailure: (problem: string) => void,
  signal: AbortSignal,
): Promise<void> {
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(pause * 2, LONGEST_PAUSE_MS)) {
    try {
      return await work();
    } catch (error) {
      if (error instanceof ConfigError) throw error;
      onFailure(error instanceof Error ? error.message : String(error));
    }
    await delay(pause, undefined, { signal });
  }
}

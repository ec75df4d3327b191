import { setTimeout as delay } from 'node:timers/promises';
import { setImmediate as turn } from 'node:timers/promises';
import { createSecureContext } from 'node:tls';
import { messageOf } from '../core/model/values.ts';
import type { Config } from './config.ts';
import { settingFile } from './config-checks.ts';
import { ConfigError } from './config-values.ts';
import type { MemoryBrake } from './memory-brake.ts';
import { HOT_PREFIX, LOADING_KEY } from './store/keys.ts';
import type { Kv } from './store/kv.ts';
import type { StoreView } from './store/view.ts';

const FIRST_PAUSE_MS = 50;
/** A store that is well again is used this soon. */
const LONGEST_PAUSE_MS = 1000;

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
      onFailure(messageOf(error));
    }
    await delay(pause, undefined, { signal });
  }
}

/** What a restore or a migration left half-written is not served: it would be taken for all there is. */
export async function requireWholeStore(kv: Kv): Promise<void> {
  if ((await kv.get(LOADING_KEY)) === undefined) return;
  throw new ConfigError(
    'a restore or a migration into this store was cut off, so it is not whole: run it once more (it starts over), or name another prefix',
  );
}

/** Beyond it the process would die without a message, in the middle of a collection. */
const FULL_HEAP = 0.92;
/** Above what the records alone need: for requests, and for the store to grow. */
const SPARE = 1.6;
const MIB = 2 ** 20;
/** What controllers add as soon as all is read. Of a small heap that is more than what is left of it above. */
const ADDED_BYTES = 10 * MIB;

function isFull(brake: MemoryBrake): boolean {
  return brake.share >= Math.min(FULL_HEAP, 1 - ADDED_BYTES / brake.limitBytes);
}

/** What texts may come to, with all else, while more of them are held as text: what is read at once is known. */
const TEXTS_BELOW = 0.5;

/**
 * Ends a start for which there is too little memory with what it would need. `read`: bytes of live records so far, which are held as text only as long as
 * they certainly fit when they are read.
 */
export async function requireHeap(
  kv: Kv,
  brake: MemoryBrake,
  texts: Pick<StoreView, 'readTexts' | 'keepTexts'>,
  read: number,
): Promise<void> {
  // The collector reports in a turn of its own.
  await turn();
  texts.keepTexts(brake.share < TEXTS_BELOW);
  if (!isFull(brake)) return;
  // Texts may come to less than is counted for them.
  await texts.readTexts();
  await brake.measured();
  if (!isFull(brake)) return;
  const { records, bytes } = await kv.size(HOT_PREFIX);
  const has = Math.round(brake.limitBytes / MIB);
  const needs = Math.ceil((has * SPARE * bytes) / Math.max(1, read));
  throw new ConfigError(
    `the store has ${records} live records of ${Math.round(bytes / MIB)} MiB, and the heap of ${has} MiB was full after ${Math.round(read / MIB)} MiB of them. Start it with NODE_OPTIONS=--max-old-space-size=${needs}, on a machine with that much memory; then delete what is not needed.`,
  );
}

/** Before anything is made: what listens later names no setting. */
export function requireTls({ tls }: Pick<Config, 'tls'>, readFile: (path: string) => string): void {
  if (tls === undefined) return;
  const cert = settingFile(readFile, 'tls.cert', tls.cert);
  const key = settingFile(readFile, 'tls.key', tls.key);
  try {
    createSecureContext({ cert, key });
  } catch (cause) {
    throw new ConfigError(
      `tls.cert and tls.key: ${tls.cert} and ${tls.key} cannot be used (${messageOf(cause)})`,
      { cause },
    );
  }
}

import { mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ensurePackages } from './harness/packages.ts';

const LIBRARIES = '/usr/lib';
const LIBRARY = 'faketime/libfaketimeMT.so.1';

/** The library lies in a folder that is named after the architecture. */
function libraryPath(): string {
  ensurePackages(['faketime']);
  for (const folder of readdirSync(LIBRARIES)) {
    const parts = folder.includes('-linux-') ? readdirSync(join(LIBRARIES, folder)) : [];
    if (parts.includes('faketime')) return join(LIBRARIES, folder, LIBRARY);
  }
  throw new Error('libfaketime is not where the package puts it');
}

/**
 * The wall clock of processes that are started with its environment, to be set while they run. Their monotonic clock goes on,
 * as it does on a machine whose clock is set.
 */
export class FakeClock {
  readonly #folder = mkdtempSync(join(tmpdir(), 'berth-clock-'));
  readonly #library = libraryPath();
  #offsetMs = 0;

  constructor() {
    this.set(0);
  }

  get environment(): Readonly<Record<string, string>> {
    return {
      LD_PRELOAD: this.#library,
      FAKETIME_TIMESTAMP_FILE: join(this.#folder, 'offset'),
      FAKETIME_NO_CACHE: '1',
      FAKETIME_DONT_FAKE_MONOTONIC: '1',
    };
  }

  /** What the processes take for now. */
  get now(): Date {
    return new Date(Date.now() + this.#offsetMs);
  }

  /** From the true time. */
  set(offsetSeconds: number): void {
    this.#offsetMs = offsetSeconds * 1000;
    // Put in place whole: the file is read at every look at the clock.
    const next = join(this.#folder, 'next');
    writeFileSync(next, `${offsetSeconds < 0 ? '' : '+'}${offsetSeconds}\n`);
    renameSync(next, join(this.#folder, 'offset'));
  }

  dispose(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

/** Both clocks of processes that are started with its environment, wall and monotonic, go so many times as fast, from now on and over restarts. */
export function fastClock(speed: number): {
  readonly environment: () => Readonly<Record<string, string>>;
  readonly nowMs: () => number;
} {
  const library = libraryPath();
  const beganMs = Date.now();
  const nowMs = (): number => beganMs + (Date.now() - beganMs) * speed;
  return {
    nowMs,
    environment: () => ({
      LD_PRELOAD: library,
      FAKETIME: `+${((nowMs() - Date.now()) / 1000).toFixed(3)} x${speed}`,
    }),
  };
}

import { randomUUID } from 'node:crypto';
import { readdir, rename } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { messageOf } from '../../core/model/values.ts';
import type { Log } from '../log.ts';
import { run } from './program.ts';

const PREFIX = 'discarded-';
const NO_LIMIT = 0;

/**
 * Deletes trees that nobody needs any more beside the lanes of their volumes: a large one takes longer than an order can wait. A tree is
 * given another name first, so that half of it is never taken for what was kept.
 */
export class Discards {
  readonly #log: Log | undefined;
  /** By path, which no other tree ever has. */
  readonly #running = new Map<string, AbortController>();

  constructor(log?: Log) {
    this.#log = log;
  }

  /** Fails when there is no such tree, e.g. because the file system is no longer mounted. */
  async discard(path: string): Promise<void> {
    const discarded = join(dirname(path), `${PREFIX}${randomUUID()}`);
    await rename(path, discarded);
    void this.#delete(discarded);
  }

  /** Those in the folder whose deletion was cut off. */
  async resume(folder: string): Promise<void> {
    for (const name of await readdir(folder)) {
      const path = join(folder, name);
      if (name.startsWith(PREFIX) && !this.#running.has(path)) void this.#delete(path);
    }
  }

  /** In this folder, or in all of them. */
  end(folder?: string): void {
    for (const [path, stop] of this.#running) {
      if (folder !== undefined && dirname(path) !== folder) continue;
      this.#running.delete(path);
      stop.abort();
    }
  }

  async #delete(path: string): Promise<void> {
    const stop = new AbortController();
    this.#running.set(path, stop);
    try {
      await run('rm', ['--recursive', '--force', '--', path], NO_LIMIT, undefined, stop.signal);
    } catch (error) {
      if (stop.signal.aborted) return;
      this.#log?.warn('a removed divergence could not be deleted and takes room until it is', {
        path,
        problem: messageOf(error),
      });
    } finally {
      if (this.#running.get(path) === stop) this.#running.delete(path);
    }
  }
}

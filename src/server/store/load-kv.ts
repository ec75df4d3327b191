import { setTimeout as pause } from 'node:timers/promises';
import { LOADING_KEY } from './keys.ts';
import { type Commit, type Kv, type KvEntry, KvUnavailableError, type Put } from './kv.ts';
import { snapshotPages } from './pages.ts';

/** Of one commit; etcd takes 128 operations and a request of 1.5 MiB. */
const MOST_PUTS = 120;
const MOST_BYTES = 512 * 1024;
/** Commits under way at a time. */
const TOGETHER = 8;
const ATTEMPTS = 10;
const AGAIN_MS = 500;

/** The same commit twice leaves what it leaves once. */
async function commitSurely(kv: Kv, commit: Commit): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await kv.commit(commit);
      return;
    } catch (error) {
      if (!(error instanceof KvUnavailableError) || attempt === ATTEMPTS) throw error;
      await pause(AGAIN_MS);
    }
  }
}

/** Under way together, a few at a time; throws what the first of them threw. */
class Commits {
  readonly #kv: Kv;
  readonly #running = new Set<Promise<void>>();
  #failure: { readonly error: unknown } | undefined;

  constructor(kv: Kv) {
    this.#kv = kv;
  }

  async add(commit: Commit): Promise<void> {
    while (this.#running.size >= TOGETHER) await Promise.race(this.#running);
    if (this.#failure !== undefined) throw this.#failure.error;
    const running = commitSurely(this.#kv, commit)
      .catch((error: unknown) => {
        this.#failure ??= { error };
      })
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  async settled(): Promise<void> {
    await Promise.all(this.#running);
    if (this.#failure !== undefined) throw this.#failure.error;
  }
}

/**
 * Writes entries into a store that others may have too, as new records: their revisions are those that the store gives them. A mark stands
 * there from the first commit until `prove` has looked at all of it, so that what was cut off, or is not as it should be, is not taken for whole.
 */
export async function loadKv(
  kv: Kv,
  pages: AsyncIterable<readonly KvEntry[]>,
  prove: () => Promise<void>,
): Promise<void> {
  await commitSurely(kv, { puts: [{ key: LOADING_KEY, value: '{}' }] });
  const commits = new Commits(kv);
  let puts: Put[] = [];
  let bytes = 0;
  for await (const page of pages) {
    for (const { key, value } of page) {
      const size = Buffer.byteLength(value) + key.length;
      if (puts.length === MOST_PUTS || (puts.length > 0 && bytes + size > MOST_BYTES)) {
        await commits.add({ puts });
        puts = [];
        bytes = 0;
      }
      puts.push({ key, value });
      bytes += size;
    }
  }
  if (puts.length > 0) await commits.add({ puts });
  await commits.settled();
  await prove();
  await commitSurely(kv, { deletes: [LOADING_KEY] });
}

/** What a load that was cut off left. */
export async function clearKv(kv: Kv): Promise<void> {
  const commits = new Commits(kv);
  for await (const { entries } of snapshotPages(kv, '')) {
    const keys = entries.map(({ key }) => key).filter((key) => key !== LOADING_KEY);
    for (let from = 0; from < keys.length; from += MOST_PUTS)
      await commits.add({ deletes: keys.slice(from, from + MOST_PUTS) });
  }
  await commits.settled();
}

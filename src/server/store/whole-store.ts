import { existsSync, readdirSync, renameSync, rmdirSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import type { Config } from '../config.ts';
import { HOT_PREFIX, globalKey, LOADING_KEY, parseHotKey } from './keys.ts';
import { type Kv, type KvEntry, type KvStatus, KvUnavailableError } from './kv.ts';
import { clearKv, loadKv } from './load-kv.ts';
import { type OpenedKv, openKv } from './open.ts';
import { loadSqlite, syncPath } from './sqlite/load.ts';
import { openSqliteSnapshot } from './sqlite/snapshot.ts';

/** Of processes that run now: good for nothing in another store. */
const OF_PROCESSES: ReadonlySet<string> = new Set(['control-planes', 'shards', 'node-sessions']);

function isKept(key: string): boolean {
  if (key === LOADING_KEY) return false;
  return !key.startsWith(HOT_PREFIX) || !OF_PROCESSES.has(parseHotKey(key)?.kind ?? '');
}

/** Which store: its kind, and the folder of the embedded one. */
export interface StorePlace {
  readonly config: Config['store'];
  readonly dir: string;
  readonly readFile: (path: string) => string;
}

/** A page of megabytes on a busy machine takes longer than a request would wait for. */
const CALL_MS = 30_000;

function openAtLeisure({ config, dir, readFile }: StorePlace): Promise<OpenedKv> {
  return openKv(config, dir, readFile, { timeoutMs: CALL_MS });
}

/** For messages. */
export function placeName({ config, dir }: StorePlace): string {
  return config.kind === 'sqlite' ? dir : `etcd at ${config.endpoints.join(', ')}, prefix ${config.prefix}`;
}

/** Everything in a store at one revision, in key order, without what belongs to running processes. */
export interface WholeStore {
  readonly kind: KvStatus['kind'];
  readonly revision: number;
  pages(): AsyncGenerator<readonly KvEntry[]>;
  close(): Promise<void>;
}

async function* kept(
  pages: AsyncIterable<readonly KvEntry[]>,
): AsyncGenerator<readonly KvEntry[], void, undefined> {
  for await (const page of pages) yield page.filter(({ key }) => isKept(key));
}

/** Beside the processes that serve it. */
export async function readWhole(place: StorePlace): Promise<WholeStore> {
  if (place.config.kind === 'sqlite') {
    const snapshot = openSqliteSnapshot(place.dir);
    return {
      kind: 'sqlite',
      revision: snapshot.revision,
      pages: () => kept(snapshot.pages()),
      close: async () => snapshot.close(),
    };
  }
  const { kv } = await openAtLeisure(place);
  try {
    if ((await kv.get(LOADING_KEY)) !== undefined) throw new Error(cutOff(place));
    const revision = await kv.head();
    return {
      kind: 'etcd',
      revision,
      pages: () => kept(pagesAt(kv, revision)),
      close: () => kv.close(),
    };
  } catch (error) {
    await kv.close();
    throw error;
  }
}

const PAGE_BYTES = 4 * 1024 * 1024;

async function* pagesAt(kv: Kv, revision: number): AsyncGenerator<readonly KvEntry[]> {
  let after: string | undefined;
  for (;;) {
    const page = await kv.range('', {
      bytes: PAGE_BYTES,
      revision,
      ...(after === undefined ? {} : { after }),
    });
    yield page.entries;
    after = page.entries.at(-1)?.key;
    if (page.more !== true || after === undefined) return;
  }
}

/** Why a store that a restore or a migration left half-written is not served or read. */
function cutOff(place: StorePlace): string {
  return `a restore or a migration into ${placeName(place)} was cut off: run it once more, it starts over`;
}

/**
 * Keeps processes from serving a store until it is released: of the embedded one it takes the lock, and finds it whole; of etcd it finds
 * that no control plane runs. Throws when one does.
 */
export async function holdStore(place: StorePlace): Promise<() => Promise<void>> {
  const { kv, verify } = await openAtLeisure(place);
  try {
    await verify();
    const running = await kv.range(globalKey('control-planes', ''), { limit: 1 });
    const [first] = running.entries;
    if (first !== undefined)
      throw new KvUnavailableError(
        `control plane ${parseHotKey(first.key)?.id ?? ''} runs on ${placeName(place)}; stop every control plane first`,
        true,
      );
  } catch (error) {
    await kv.close();
    throw error;
  }
  return () => kv.close();
}

export async function isEmptyStore(place: StorePlace): Promise<boolean> {
  if (place.config.kind === 'sqlite') return !existsSync(place.dir) || readdirSync(place.dir).length === 0;
  const { kv } = await openAtLeisure(place);
  try {
    const { entries } = await kv.range('', { limit: 1 });
    return entries.length === 0 || (await kv.get(LOADING_KEY)) !== undefined;
  } finally {
    await kv.close();
  }
}

/** Looks at what was written before it can be served; what it throws leaves a store that is empty, or that says that it is not whole. */
type Proof = (written: AsyncIterable<readonly KvEntry[]>) => Promise<void>;

async function proveSqlite(dir: string, prove: Proof): Promise<void> {
  const snapshot = openSqliteSnapshot(dir);
  try {
    await prove(kept(snapshot.pages()));
  } catch (error) {
    snapshot.close();
    rmSync(dir, { recursive: true, force: true });
    throw error;
  }
  snapshot.close();
}

/** Into a store that `isEmptyStore`. All of it is there when this resolves; when it is cut off, no store is served from what is there. */
export async function writeWhole(
  place: StorePlace,
  head: number,
  pages: AsyncIterable<readonly KvEntry[]>,
  prove?: Proof,
): Promise<void> {
  const { config, dir } = place;
  if (config.kind === 'sqlite') {
    const draft = `${dir}.loading`;
    rmSync(draft, { recursive: true, force: true });
    await loadSqlite(draft, head, pages);
    if (prove) await proveSqlite(draft, prove);
    if (existsSync(dir)) rmdirSync(dir);
    renameSync(draft, dir);
    syncPath(dirname(dir));
    return;
  }
  const { kv } = await openAtLeisure(place);
  try {
    await clearKv(kv);
    await loadKv(kv, pages, async () => prove?.(kept(pagesAt(kv, await kv.head()))));
  } finally {
    await kv.close();
  }
}

import { systemClock } from '../../src/server/clock.ts';
import { createIds } from '../../src/server/ids.ts';
import { ID_PREFIXES, type IdKind } from '../../src/core/model/ids.ts';
import type { Kv, KvEntry, Put } from '../../src/server/store/kv.ts';
import { openSqliteKv } from '../../src/server/store/sqlite/sqlite-kv.ts';

const COMMITS_AT_ONCE = 64;

/** Ids of the store in a text as other ones, the same for the same. */
function renamer(): (text: string) => string {
  const ids = createIds(systemClock);
  const kinds = new Map<string, IdKind>(
    Object.entries(ID_PREFIXES).map(([kind, prefix]) => [prefix, kind as IdKind]),
  );
  const renamed = new Map<string, string>();
  return (text) =>
    text.replace(/\b([a-z]+)_[0-9a-hjkmnp-tv-z]{26}\b/g, (id, prefix: string) => {
      const kind = kinds.get(prefix);
      if (kind === undefined || kind === 'token') return id;
      const fresh = renamed.get(id) ?? ids.next(kind);
      renamed.set(id, fresh);
      return fresh;
    });
}

async function commitAll(
  kv: Kv,
  commits: number,
  putsOf: (at: number) => Put[],
  atOnce = COMMITS_AT_ONCE,
): Promise<void> {
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < commits) {
      next += 1;
      await kv.commit({ puts: putsOf(next) });
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
}

/** Every record of one deployment, again and again under other names and ids, as if each had been made by a request. */
export async function copyDeployment(
  kv: Kv,
  name: string,
  copies: number,
): Promise<{ readonly records: number; readonly bytes: number }> {
  const { entries } = await kv.range('');
  const own = entries.filter(({ key, value }) => key.includes(name) || value.includes(`"${name}"`));
  await commitAll(kv, copies, (at) => {
    const rename = renamer();
    const replace = (text: string): string =>
      rename(text.replaceAll(name, `${name}-${String(at).padStart(6, '0')}`));
    return own.map(({ key, value }: KvEntry) => ({ key: replace(key), value: replace(value) }));
  });
  const bytes = own.reduce((sum, { key, value }) => sum + key.length + value.length, 0);
  return { records: own.length * (copies + 1), bytes: bytes * (copies + 1) };
}

const RECORDS_IN_COMMIT = 1000;
const LARGE_COMMITS_AT_ONCE = 4;

/** What happened long ago: events and audit lines that are there already, again and again under other ids. */
export async function addHistory(kv: Kv, records: number): Promise<void> {
  const { entries } = await kv.range('c/');
  const past = entries.filter(({ key }) => /^c\/[^/]+\/(events|audit)\//.test(key)).slice(0, 10);
  const puts = (): Put[] =>
    Array.from({ length: RECORDS_IN_COMMIT / past.length }, () => {
      const rename = renamer();
      return past.map(({ key, value }) => ({ key: rename(key), value: rename(value) }));
    }).flat();
  await commitAll(kv, Math.ceil(records / RECORDS_IN_COMMIT), puts, LARGE_COMMITS_AT_ONCE);
}

export async function inEmbedded<Result>(dir: string, work: (kv: Kv) => Promise<Result>): Promise<Result> {
  const kv = await openSqliteKv({ dir });
  try {
    return await work(kv);
  } finally {
    await kv.close();
  }
}

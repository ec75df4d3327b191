import { systemClock } from '../../src/server/clock.ts';
import { createIds } from '../../src/server/ids.ts';
import { ID_PREFIXES, type IdKind } from '../../src/core/model/ids.ts';
import type { KvEntry, Put } from '../../src/server/store/kv.ts';
import { openSqliteKv } from '../../src/server/store/sqlite/sqlite-kv.ts';

const COMMITS_AT_ONCE = 64;

/** Every record of one deployment, again and again under other names and ids, as if each had been made by a request. */
export async function copyDeployment(
  dir: string,
  name: string,
  copies: number,
): Promise<{ readonly records: number; readonly bytes: number }> {
  const kv = await openSqliteKv({ dir });
  const ids = createIds(systemClock);
  const kinds = new Map<string, IdKind>(
    Object.entries(ID_PREFIXES).map(([kind, prefix]) => [prefix, kind as IdKind]),
  );
  try {
    const { entries } = await kv.range('');
    const own = entries.filter(({ key, value }) => key.includes(name) || value.includes(`"${name}"`));
    const typedId = /\b([a-z]+)_[0-9a-hjkmnp-tv-z]{26}\b/g;
    const copyOf = (at: number): Put[] => {
      const renamed = new Map<string, string>();
      const replace = (text: string): string =>
        text
          .replaceAll(name, `${name}-${String(at).padStart(6, '0')}`)
          .replace(typedId, (id, prefix: string) => {
            const kind = kinds.get(prefix);
            if (kind === undefined || kind === 'token') return id;
            const fresh = renamed.get(id) ?? ids.next(kind);
            renamed.set(id, fresh);
            return fresh;
          });
      return own.map(({ key, value }: KvEntry) => ({ key: replace(key), value: replace(value) }));
    };
    let next = 0;
    const work = async (): Promise<void> => {
      while (next < copies) {
        next += 1;
        await kv.commit({ puts: copyOf(next) });
      }
    };
    await Promise.all(Array.from({ length: COMMITS_AT_ONCE }, work));
    const bytes = own.reduce((sum, { key, value }) => sum + key.length + value.length, 0);
    return { records: own.length * (copies + 1), bytes: bytes * (copies + 1) };
  } finally {
    await kv.close();
  }
}

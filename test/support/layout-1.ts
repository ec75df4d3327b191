import { DatabaseSync } from 'node:sqlite';
import { crc32 } from 'node:zlib';

/** As releases made it whose files have layout 1. */
const TABLES = `
  CREATE TABLE current (
    key TEXT NOT NULL UNIQUE, value TEXT NOT NULL,
    create_rev INTEGER NOT NULL, mod_rev INTEGER NOT NULL, sum INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE log (
    seq INTEGER PRIMARY KEY, rev INTEGER NOT NULL, key TEXT NOT NULL,
    value TEXT, create_rev INTEGER NOT NULL, sum INTEGER NOT NULL,
    prev_value TEXT, prev_create_rev INTEGER, prev_mod_rev INTEGER, prev_sum INTEGER
  ) STRICT;
  CREATE INDEX log_rev ON log (rev);
  CREATE TABLE lease (id INTEGER PRIMARY KEY, ttl_ms INTEGER NOT NULL, sum INTEGER NOT NULL) STRICT;
  CREATE TABLE leased (key TEXT PRIMARY KEY, lease INTEGER NOT NULL, sum INTEGER NOT NULL) STRICT, WITHOUT ROWID;
  CREATE TABLE meta (
    id INTEGER PRIMARY KEY CHECK (id = 1), format INTEGER NOT NULL,
    head INTEGER NOT NULL, floor INTEGER NOT NULL, last_lease INTEGER NOT NULL,
    current_count INTEGER NOT NULL, current_mix INTEGER NOT NULL,
    log_count INTEGER NOT NULL, log_mix INTEGER NOT NULL, log_bytes INTEGER NOT NULL, sum INTEGER NOT NULL
  ) STRICT;
  CREATE TABLE hot_seal (
    id INTEGER PRIMARY KEY CHECK (id = 1), rev INTEGER NOT NULL, count INTEGER NOT NULL, mix INTEGER NOT NULL, sum INTEGER NOT NULL
  ) STRICT;
`;

/** What such a release prepares before it reads the layout's number, and how it reads that. */
export const LAYOUT_1_STATEMENTS: readonly string[] = [
  'REPLACE INTO meta VALUES (1, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
  'SELECT key, value, create_rev, mod_rev, sum FROM current WHERE key = ?',
  'INSERT INTO current VALUES (?, ?, ?, ?, ?) ON CONFLICT (key) DO NOTHING',
  'UPDATE current SET value = ?, mod_rev = ?, sum = ? WHERE key = ?',
  'INSERT INTO log VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)',
  'SELECT seq, rev, sum, prev_sum, value, prev_value FROM log WHERE rev <= ? ORDER BY rev, seq LIMIT ?',
  'DELETE FROM log WHERE seq <= ?',
  'INSERT INTO lease VALUES (?, ?, ?)',
  'REPLACE INTO leased VALUES (?, ?, ?)',
];
export const LAYOUT_1_HEAD = `SELECT format, head, floor, last_lease, current_count, current_mix, log_count, log_mix, log_bytes, sum
  FROM meta WHERE id = 1`;

export interface Written {
  readonly key: string;
  readonly value: string;
  readonly createRevision: number;
  readonly modRevision: number;
}

const sumOf = (key: string, value: string, created: number, written: number): number =>
  crc32(value, crc32(`${created} ${written} ${key}`));

/** Each of the puts is a revision by itself; `lease` holds the key of the first. Answers with what is live at the end. */
export function makeLayout1(
  database: string,
  puts: readonly (readonly [key: string, value: string])[],
): Written[] {
  const db = new DatabaseSync(database);
  db.exec('PRAGMA auto_vacuum = INCREMENTAL');
  db.exec('PRAGMA journal_mode = WAL');
  db.exec('PRAGMA secure_delete = FAST');
  db.exec(TABLES);
  db.exec('BEGIN');
  const live = new Map<string, Written>();
  const put = db.prepare('REPLACE INTO current VALUES (?, ?, ?, ?, ?)');
  const log = db.prepare('INSERT INTO log VALUES (NULL, ?, ?, ?, ?, ?, ?, ?, ?, ?)');
  let [mix, hotCount, hotMix, logMix, logBytes] = [0, 0, 0, 0, 0];
  for (const [at, [key, value]] of puts.entries()) {
    const rev = at + 1;
    const before = live.get(key);
    const created = before?.createRevision ?? rev;
    const sum = sumOf(key, value, created, rev);
    const prevSum =
      before === undefined ? null : sumOf(key, before.value, before.createRevision, before.modRevision);
    put.run(key, value, created, rev, sum);
    log.run(
      rev,
      key,
      value,
      created,
      sum,
      before?.value ?? null,
      before?.createRevision ?? null,
      before?.modRevision ?? null,
      prevSum,
    );
    mix = (mix ^ sum ^ (prevSum ?? 0)) >>> 0;
    if (key.startsWith('h/')) {
      hotMix = (hotMix ^ sum ^ (prevSum ?? 0)) >>> 0;
      if (before === undefined) hotCount += 1;
    }
    logMix = (logMix ^ Math.imul(sum, 31) ^ (prevSum ?? 0)) >>> 0;
    logBytes += value.length + (before?.value.length ?? 0);
    live.set(key, { key, value, createRevision: created, modRevision: rev });
  }
  const head = puts.length;
  const meta = [1, head, 0, 1, live.size, mix, puts.length, logMix, logBytes];
  db.prepare(LAYOUT_1_STATEMENTS[0] ?? '').run(...meta, crc32(meta.join()));
  db.prepare('REPLACE INTO hot_seal VALUES (1, ?, ?, ?, ?)').run(
    head,
    hotCount,
    hotMix,
    crc32(`${head} ${hotCount} ${hotMix}`),
  );
  const [leased] = live.keys();
  if (leased !== undefined) {
    db.prepare('INSERT INTO lease VALUES (1, 600000, ?)').run(crc32('1 600000'));
    db.prepare('REPLACE INTO leased VALUES (?, 1, ?)').run(leased, crc32(`${leased} 1`));
  }
  db.exec('COMMIT');
  db.close();
  return [...live.values()].toSorted((a, b) => (a.key < b.key ? -1 : 1));
}

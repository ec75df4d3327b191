import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { KvEntry } from '../store/kv.ts';
import { decodeRecord } from '../store/records.ts';
import { openSqliteKv } from '../store/sqlite/sqlite-kv.ts';
import { isHot } from '../store/keys.ts';
import { type StorePlace, writeWhole } from '../store/whole-store.ts';
import { type Contents, contentsOf } from './digest.ts';
import { RecoveryError } from './failure.ts';
import { openBackup, requireStore } from './opened-backup.ts';

export interface Verified {
  readonly createdAt: string;
  readonly revision: number;
  readonly contents: Contents;
  readonly keys: number;
}

/** Every live record has to be one that this release reads; a control plane that started on it would end otherwise. */
async function* readable(pages: AsyncIterable<readonly KvEntry[]>): AsyncGenerator<readonly KvEntry[]> {
  for await (const page of pages) {
    for (const { key, value } of page) if (isHot(key)) decodeRecord(key, value);
    yield page;
  }
}

/** Restored into a temporary store, opened as the control plane opens one, and compared record by record. */
export async function verifyBackup(path: string, passphrase: string, signal: AbortSignal): Promise<Verified> {
  const backup = await openBackup(path, passphrase, signal);
  const folder = mkdtempSync(join(tmpdir(), 'berth-verify-'));
  try {
    requireStore(backup, path);
    const { createdAt, revision, keys } = backup;
    const place: StorePlace = { config: { kind: 'sqlite' }, dir: join(folder, 'store'), readFile: () => '' };
    await writeWhole(place, revision, readable(backup.pages));
    const contents = backup.contents();
    // Its own check of every row and of what the rows come to.
    await (await openSqliteKv({ dir: place.dir, ballastBytes: 0 })).close();
    requireSame(contents, await contentsOf(place), 'the restored store');
    return { createdAt, revision, contents, keys: keys.length };
  } finally {
    backup.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

export function requireSame(wanted: Contents, found: Contents, what: string, next?: string): void {
  if (wanted.records === found.records && wanted.sha256 === found.sha256) return;
  throw new RecoveryError(
    'differs',
    `${what} differs: ${wanted.records} records with sha256 ${wanted.sha256} were written, ${found.records} with ${found.sha256} are there${next === undefined ? '' : `; ${next}`}`,
  );
}

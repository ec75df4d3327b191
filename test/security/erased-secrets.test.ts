import { execFileSync } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { existsSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { TenantId } from '../../src/core/model/ids.ts';
import { SecretValue } from '../../src/core/model/secret-value.ts';
import { openVersion } from '../../src/server/secrets/embedded/documents.ts';
import { rootKeyFrom, type RootKeys } from '../../src/server/secrets/embedded/root-keys.ts';
import { createEmbeddedSecrets } from '../../src/server/secrets/embedded/store.ts';
import { readTenantKey } from '../../src/server/secrets/embedded/tenant-key.ts';
import { documentsPrefix } from '../../src/server/secrets/embedded-keys.ts';
import { openSqliteKv } from '../../src/server/store/sqlite/sqlite-kv.ts';
import { attack } from '../support/attack.ts';
import { eventually } from '../support/eventually.ts';

const TENANT = '3f0c1f0e-0000-4000-8000-000000000001' as TenantId;
const GONE = { namespace: 'resources', label: 'gone' };
const KEPT = { namespace: 'resources', label: 'kept' };
const VERSIONS = 12;
const PIECE = 24;

/** By another program: closing a descriptor of the database in this process would drop the locks of its owner. */
function bytesOf(dir: string): string {
  const files = ['berth.db', 'berth.db-wal']
    .map((name) => join(dir, name))
    .filter((path) => existsSync(path));
  return execFileSync('cat', files, { encoding: 'latin1', maxBuffer: 2 ** 30 });
}

/** Pieces of the values that are found, however torn. */
function found(text: string, values: readonly string[]): readonly string[] {
  const pieces = values.flatMap((value) => {
    const sealed = (JSON.parse(value) as { sealed: string }).sealed;
    const count = Math.floor(sealed.length / PIECE);
    return Array.from({ length: count }, (_, at) => sealed.slice(at * PIECE, (at + 1) * PIECE));
  });
  return pieces.filter((piece) => text.includes(piece));
}

attack('a holder of a later copy of the disk', 'deleted secrets, with the root key', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'berth-erased-'));
  const kv = await openSqliteKv({ dir, ballastBytes: 0 });
  try {
    const roots: RootKeys = { sealed: false, active: rootKeyFrom(randomBytes(32)), retired: [] };
    const secrets = createEmbeddedSecrets({ kv, rootKeys: () => roots });
    const values = (word: string) => new Map([['password', new SecretValue(`${word}-${'x'.repeat(600)}`)]]);
    // Records around it that grow and move, so that pages split and are given back.
    const churn = async (size: number) => {
      for (let at = 0; at < 120; at += 1)
        await kv.commit({ puts: [{ key: `t/x/${at}`, value: 'y'.repeat(size) }] });
    };
    await secrets.write(TENANT, KEPT, values('kept'));
    for (let version = 1; version <= VERSIONS; version += 1) {
      await secrets.write(TENANT, GONE, values(`gone-${version}`));
      if (version % 4 === 0) await churn(200 * version);
    }
    const stored = async (label: string) =>
      (await kv.range(documentsPrefix(TENANT))).entries
        .filter(({ key, value }) => key.includes(`/${label}/`) && value.includes('dataKey'))
        .map(({ value }) => value);
    const [gone, kept] = [await stored('gone'), await stored('kept')];
    expect([gone.length, kept.length]).toEqual([10, 1]);

    const opened = async (text: string) => {
      const held = await readTenantKey(kv, TENANT, roots);
      if (held === undefined) throw new Error('the key of the tenant is gone');
      const envelopes =
        text.match(/\{"format":1,"keyId":"[^"]+","dataKey":"[^"]+","sealed":"[^"]+"\}/g) ?? [];
      return envelopes.flatMap((envelope) =>
        [GONE, KEPT].flatMap((path) =>
          Array.from({ length: VERSIONS }, (_, at) => {
            try {
              const { values: plain } = openVersion(envelope, held.tenantKey, TENANT, path, at + 1);
              return [`${plain.get('password')?.reveal().split('-x', 1).join('')}`];
            } catch {
              return [];
            }
          }).flat(),
        ),
      );
    };
    // What the search must be able to see: with the root key the file gives them away.
    const before = bytesOf(dir);
    expect(found(before, gone)).not.toEqual([]);
    expect(await opened(before)).toEqual(expect.arrayContaining(['gone-12', 'kept']));

    await secrets.remove(TENANT, GONE);
    const after = await eventually(
      async () => bytesOf(dir),
      (text) => found(text, gone).length === 0,
      30_000,
    );
    expect(new Set(await opened(after))).toEqual(new Set(['kept']));
    expect(found(after, kept)).not.toEqual([]);
  } finally {
    await kv.close();
    await rm(dir, { recursive: true });
  }
});

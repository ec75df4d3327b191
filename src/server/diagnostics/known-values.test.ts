import { randomBytes, randomUUID } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import type { TenantId } from '../../core/model/ids.ts';
import { SecretValue } from '../../core/model/secret-value.ts';
import { rootKeyFrom } from '../secrets/embedded/root-keys.ts';
import { createEmbeddedSecrets } from '../secrets/embedded/store.ts';
import { versionKey } from '../secrets/embedded-keys.ts';
import { createMemoryKv } from '../store/memory.ts';
import { storedValues } from './known-values.ts';

const TENANT = randomUUID() as TenantId;
const DB = { namespace: 'resources', label: 'db' };
const WEB = { namespace: 'resources', label: 'web' };

function opened() {
  const kv = createMemoryKv();
  const active = rootKeyFrom(randomBytes(32));
  const store = createEmbeddedSecrets({ kv, rootKeys: () => ({ sealed: false, active, retired: [] }) });
  const write = (path: typeof DB, text: string) =>
    store.write(TENANT, path, new Map([['password', new SecretValue(text)]]));
  return { kv, write, read: () => storedValues(store, [TENANT], ['resources']) };
}

describe('the values of tenants', () => {
  it('are those of the newest two versions', async () => {
    const { write, read } = opened();
    for (const text of ['first one', 'second one', 'third one']) await write(DB, text);
    expect(await read()).toEqual({ values: ['third one', 'second one'] });
  });

  it('are said to be incomplete when a document cannot be read', async () => {
    const { kv, write, read } = opened();
    await write(DB, 'of the database');
    await write(WEB, 'of the site');
    // Sealed for another path: it does not open here.
    const other = await kv.get(versionKey(TENANT, DB, 1));
    await kv.commit({ puts: [{ key: versionKey(TENANT, WEB, 1), value: other?.value ?? '' }] });
    expect(await read()).toEqual({
      values: ['of the database'],
      unread: expect.stringContaining('secrets could not be read: '),
    });
  });

  it('are no more than 4 MiB, which is said', async () => {
    const { write, read } = opened();
    for (let count = 0; count < 6; count += 1)
      await write({ namespace: 'resources', label: `large-${count}` }, `${count}${'x'.repeat(900_000)}`);
    const { values, unread } = await read();
    expect([values.length, unread]).toEqual([4, 'only 4 MiB of values of secrets were read']);
  });
});

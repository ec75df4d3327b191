import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { rootKeyFrom } from '../../src/server/secrets/embedded/root-keys.ts';
import { createEmbeddedSecrets } from '../../src/server/secrets/embedded/store.ts';
import { createVaultSecrets } from '../../src/server/secrets/vault/store.ts';
import { openSqliteKv } from '../../src/server/store/sqlite/sqlite-kv.ts';
import { createMemoryKv } from '../../src/server/store/memory.ts';
import { startVaultEndpoint } from '../support/harness/vault/endpoint.ts';
import { given, realVault } from '../support/harness/vault/given.ts';
import { secretsContract } from './secrets-contract.ts';

secretsContract('embedded over memory', async () => {
  const kv = createMemoryKv();
  const active = rootKeyFrom(randomBytes(32));
  const store = createEmbeddedSecrets({ kv, rootKeys: () => ({ sealed: false, active, retired: [] }) });
  return {
    store,
    dispose: async () => {
      await store.close();
      await kv.close();
    },
  };
});

secretsContract('embedded over SQLite', async () => {
  const dir = await mkdtemp(join(tmpdir(), 'secrets-'));
  const kv = await openSqliteKv({ dir, ballastBytes: 0 });
  const active = rootKeyFrom(randomBytes(32));
  const store = createEmbeddedSecrets({ kv, rootKeys: () => ({ sealed: false, active, retired: [] }) });
  return {
    store,
    dispose: async () => {
      await store.close();
      await kv.close();
      await rm(dir, { recursive: true });
    },
  };
});

const real = realVault();

if (real !== undefined) {
  secretsContract(`vault at ${real.address}`, async () => {
    const store = createVaultSecrets(real);
    return { store, dispose: () => store.close() };
  });
} else {
  secretsContract('vault (in-process endpoint, token)', async () => {
    const endpoint = await startVaultEndpoint();
    const auth = { kind: 'token', token: given(endpoint.rootToken) } as const;
    const store = createVaultSecrets({ address: endpoint.address, auth });
    return {
      store,
      dispose: async () => {
        await store.close();
        await endpoint.close();
      },
    };
  });
}

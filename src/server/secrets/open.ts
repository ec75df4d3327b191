import { existsSync } from 'node:fs';
import type { TenantId } from '../../core/model/ids.ts';
import { SecretValue } from '../../core/model/secret-value.ts';
import { type Config, ConfigError } from '../config.ts';
import type { Kv } from '../store/kv.ts';
import { createRootKeyFile, readRootKeys } from './embedded/root-keys.ts';
import { createEmbeddedSecrets } from './embedded/store.ts';
import type { SecretsStore } from './port.ts';

/** A root key put in place while the process runs unseals it within this time. */
const REREAD_MS = 1000;

async function openEmbedded(
  kv: Kv,
  rootKeyFile: string,
  tenantKeysExist: () => Promise<boolean>,
): Promise<SecretsStore> {
  const files = { file: rootKeyFile, retiredFile: `${rootKeyFile}.retired` };
  // A missing key is made only for a store that holds nothing sealed yet; otherwise a new key would hide the loss of the old one.
  if (!existsSync(rootKeyFile) && !(await tenantKeysExist())) await createRootKeyFile(rootKeyFile);
  let keys = await readRootKeys(files);
  const timer = setInterval(() => {
    void readRootKeys(files).then((read) => {
      keys = read;
    });
  }, REREAD_MS);
  timer.unref();
  const store = createEmbeddedSecrets({ kv, rootKeys: () => keys });
  return {
    ...store,
    close: async () => {
      clearInterval(timer);
      await store.close();
    },
  };
}

async function openVault(
  vault: Config['secrets']['vault'],
  readFile: (path: string) => string,
): Promise<SecretsStore> {
  const { createVaultSecrets } = await import('./vault/store.ts');
  const { address, tokenFile, roleId, secretIdFile, namespace } = vault;
  if (address === undefined) throw new ConfigError('secrets.kind vault needs secrets.vault.address');
  if (tokenFile === undefined && (roleId === undefined || secretIdFile === undefined)) {
    throw new ConfigError('secrets.kind vault needs secrets.vault.tokenFile, or roleId and secretIdFile');
  }
  const auth =
    tokenFile === undefined
      ? ({
          kind: 'approle',
          roleId: roleId ?? '',
          secretId: new SecretValue(readFile(secretIdFile ?? '').trim()),
        } as const)
      : ({ kind: 'token', token: new SecretValue(readFile(tokenFile).trim()) } as const);
  return createVaultSecrets({ address, auth, ...(namespace === undefined ? {} : { namespace }) });
}

export async function openSecrets(
  config: Config,
  kv: Kv,
  tenantIds: () => readonly TenantId[],
  readFile: (path: string) => string,
): Promise<SecretsStore> {
  if (config.secrets.kind === 'vault') return openVault(config.secrets.vault, readFile);
  return openEmbedded(kv, config.rootKeyFile, async () => {
    const { tenantKeyKey } = await import('./embedded-keys.ts');
    for (const tenantId of tenantIds()) if ((await kv.get(tenantKeyKey(tenantId))) !== undefined) return true;
    return false;
  });
}

import { existsSync } from 'node:fs';
import type { TenantId } from '../../core/model/ids.ts';
import { SecretValue } from '../../core/model/secret-value.ts';
import { type Config, ConfigError } from '../config.ts';
import type { Kv } from '../store/kv.ts';
import { createRootKeyFile, readRootKeys, type RootKeys } from './embedded/root-keys.ts';
import { tenantKeyKey } from './embedded-keys.ts';
import { createEmbeddedSecrets } from './embedded/store.ts';
import type { SecretsStore } from './port.ts';

/** A root key put in place while the process runs unseals it within this time. */
const REREAD_MS = 1000;

export interface OpenedSecrets {
  readonly store: SecretsStore;
  /** Once the tenants are known: makes the root key of a store that holds nothing sealed yet. */
  prepare(tenantIds: readonly TenantId[]): Promise<void>;
}

function openEmbedded(kv: Kv, rootKeyFile: string): OpenedSecrets {
  const files = { file: rootKeyFile, retiredFile: `${rootKeyFile}.retired` };
  let keys: RootKeys = { sealed: true, problem: 'the control plane is starting' };
  const reread = async (): Promise<void> => {
    keys = await readRootKeys(files);
  };
  const timer = setInterval(() => void reread(), REREAD_MS);
  timer.unref();
  const store = createEmbeddedSecrets({ kv, rootKeys: () => keys });
  return {
    store: {
      ...store,
      close: async () => {
        clearInterval(timer);
        await store.close();
      },
    },
    prepare: async (tenantIds) => {
      // Where material is sealed already, a new key would only hide the loss of the old one.
      if (!existsSync(rootKeyFile) && !(await anySealed(kv, tenantIds))) await createRootKeyFile(rootKeyFile);
      await reread();
    },
  };
}

async function anySealed(kv: Kv, tenantIds: readonly TenantId[]): Promise<boolean> {
  for (const tenantId of tenantIds) if ((await kv.get(tenantKeyKey(tenantId))) !== undefined) return true;
  return false;
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
  readFile: (path: string) => string,
): Promise<OpenedSecrets> {
  if (config.secrets.kind === 'embedded') return openEmbedded(kv, config.rootKeyFile);
  return { store: await openVault(config.secrets.vault, readFile), prepare: () => Promise.resolve() };
}

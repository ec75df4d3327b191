import { X509Certificate } from 'node:crypto';
import { SecretValue } from '../../core/model/secret-value.ts';
import type { Config } from '../config.ts';
import { settingFile } from '../config-checks.ts';
import { ConfigError } from '../config-values.ts';
import type { SecretsStore } from './port.ts';
import type { CredentialSource, VaultAuth } from './vault/session.ts';

type VaultSettings = Config['secrets']['vault'];
type ReadFile = (path: string) => string;

/** How often the store is probed without requests, so that its loss is logged when it happens. */
const LOOK_MS = 10_000;

/** The origin alone: of a path, a query or a user in the address nothing would be used, and that is not left unsaid. */
function originOf(address: string | undefined): string {
  if (address === undefined) throw new ConfigError('secrets.kind vault needs secrets.vault.address');
  const form = 'must be an origin such as https://vault.internal:8200';
  if (!URL.canParse(address)) throw new ConfigError(`secrets.vault.address ${form}, not ${address}`);
  const { protocol, pathname, search, hash, username, password, origin } = new URL(address);
  if (protocol !== 'https:' && protocol !== 'http:')
    throw new ConfigError(`secrets.vault.address ${form}, not of the kind ${protocol}`);
  if (username !== '' || password !== '')
    throw new ConfigError(
      `secrets.vault.address ${form}, without a user: tokens are named by secrets.vault.tokenFile`,
    );
  if (pathname !== '/' || search !== '' || hash !== '')
    throw new ConfigError(
      `secrets.vault.address ${form}, without a path: Berth asks below ${origin}/v1/, so ${pathname}${search}${hash} would be ignored; a namespace is secrets.vault.namespace`,
    );
  return origin;
}

function certificateOf(readFile: ReadFile, path: string): string {
  const pem = settingFile(readFile, 'secrets.vault.ca', path);
  try {
    new X509Certificate(pem);
  } catch (cause) {
    throw new ConfigError(`secrets.vault.ca: ${path} holds no certificate in PEM form`, { cause });
  }
  return pem;
}

function authOf(settings: VaultSettings, readFile: ReadFile): VaultAuth {
  const { tokenFile, roleId, secretIdFile, appRoleMount } = settings;
  if (tokenFile !== undefined && (roleId !== undefined || secretIdFile !== undefined))
    throw new ConfigError(
      'secrets.vault.tokenFile and secrets.vault.roleId with secrets.vault.secretIdFile exclude one another: Berth uses a token or an AppRole',
    );
  const from = (key: 'tokenFile' | 'secretIdFile', path: string): CredentialSource => {
    const source = () => new SecretValue(settingFile(readFile, `secrets.vault.${key}`, path));
    // A file that is not there should end the start, not the first write.
    source();
    return source;
  };
  if (tokenFile !== undefined) return { kind: 'token', token: from('tokenFile', tokenFile) };
  if (roleId === undefined || secretIdFile === undefined) {
    const missing =
      roleId === undefined && secretIdFile === undefined
        ? 'secrets.vault.tokenFile, or secrets.vault.roleId and secrets.vault.secretIdFile'
        : `secrets.vault.${roleId === undefined ? 'roleId' : 'secretIdFile'} as well`;
    throw new ConfigError(`secrets.kind vault needs ${missing}`);
  }
  const secretId = from('secretIdFile', secretIdFile);
  return { kind: 'approle', roleId, secretId, mount: appRoleMount };
}

/** Vault by its settings; an error names the setting. */
export async function openVault(
  settings: VaultSettings,
  readFile: ReadFile,
  warn: (details: Readonly<Record<string, unknown>>, message: string) => void,
): Promise<SecretsStore> {
  const { createVaultSecrets } = await import('./vault/store.ts');
  const { ca, namespace, timeoutMs } = settings;
  const store = createVaultSecrets({
    address: originOf(settings.address),
    auth: authOf(settings, readFile),
    timeoutMs,
    warn,
    ...(ca === undefined ? {} : { ca: certificateOf(readFile, ca) }),
    ...(namespace === undefined ? {} : { namespace }),
  });
  const timer = setInterval(() => void store.status(), LOOK_MS);
  timer.unref();
  return {
    ...store,
    close: async () => {
      clearInterval(timer);
      await store.close();
    },
  };
}

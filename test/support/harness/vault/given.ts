import { readFileSync } from 'node:fs';
import { SecretValue } from '../../../../src/core/model/secret-value.ts';
import type { CredentialSource } from '../../../../src/server/secrets/vault/session.ts';
import type { VaultSecretsOptions } from '../../../../src/server/secrets/vault/store.ts';

/** A credential that does not change. */
export function given(text: string): CredentialSource {
  const value = new SecretValue(text);
  return () => value;
}

/** A real server to run the suites on, by the environment (CONTRIBUTING.md); its token may do everything there. */
export function realVault():
  | (VaultSecretsOptions & { readonly token: string; readonly caFile?: string })
  | undefined {
  const {
    BERTH_TEST_VAULT_ADDR: address,
    BERTH_TEST_VAULT_TOKEN: token,
    BERTH_TEST_VAULT_CA: caFile,
  } = process.env;
  if (address === undefined || token === undefined) return undefined;
  return {
    address,
    token,
    auth: { kind: 'token', token: given(token) },
    ...(caFile === undefined ? {} : { caFile, ca: readFileSync(caFile, 'utf8') }),
  };
}

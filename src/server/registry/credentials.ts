import type { TenantId } from '../../core/model/ids.ts';
import { CredentialStoreUnavailableError } from './check.ts';
import type { SecretsStore } from '../secrets/port.ts';

/** Not a namespace that workloads may reference: credentials of registries are for the image check and for pulls. */
export const REGISTRY_NAMESPACE = 'registries';

export type RegistryCredentialSource = (tenantId: string, registry: string) => Promise<{ readonly username: string; readonly password: string } | undefined>;

export function createRegistryCredentials(store: SecretsStore): RegistryCredentialSource {
  return async (tenantId, registry) => {
    const document = await store.read(tenantId as TenantId, { namespace: REGISTRY_NAMESPACE, label: registry });
    if (!document.ok) {
      if (document.reason === 'missing') return undefined;
      throw new CredentialStoreUnavailableError(document.message);
    }
    const username = document.values.get('username');
    const password = document.values.get('password');
    return username === undefined || password === undefined ? undefined : { username: username.reveal(), password: password.reveal() };
  };
}

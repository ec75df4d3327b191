import type { CredentialRecord } from '../../core/model/credential.ts';
import type { TenantId } from '../../core/model/ids.ts';
import type { SecretPath } from '../../core/model/secret-path.ts';
import type { SecretValue } from '../../core/model/secret-value.ts';
import type { SecretsStore } from '../secrets/port.ts';
import { readInService } from '../secrets/resolve.ts';

/** Not a namespace that workloads may reference: credentials of registries are for the image check and for pulls. */
export const REGISTRY_NAMESPACE = 'registries';

export interface RegistryCredentials {
  readonly username: string;
  readonly password: SecretValue;
}

/** Undefined: the tenant keeps none for this registry. The registry is the host, with its port if the image names one. */
export type RegistryCredentialSource = (
  tenantId: TenantId,
  registry: string,
) => Promise<RegistryCredentials | undefined>;

/** Thrown by a source whose store cannot be read now. */
export class CredentialStoreUnavailableError extends Error {
  override readonly name = 'CredentialStoreUnavailableError';
}

/** Thrown by a source whose store refuses this path: a registry that asks for none is not concerned by it. */
export class CredentialStoreDeniedError extends Error {
  override readonly name = 'CredentialStoreDeniedError';
}

/**
 * The keys `username` and `password` of the document `registries/<host>` in the tenant's own mount, of the version that is in
 * service by Berth's record. Without a record there is one reading: most registries have no document.
 */
export function createRegistryCredentials(
  store: Pick<SecretsStore, 'read' | 'metadata'>,
  recordOf: (tenantId: TenantId, path: SecretPath) => CredentialRecord | undefined,
): RegistryCredentialSource {
  return async (tenantId, registry) => {
    const path = { namespace: REGISTRY_NAMESPACE, label: registry };
    const record = recordOf(tenantId, path);
    const document = await (record === undefined
      ? store.read(tenantId, path)
      : readInService(store, tenantId, path, record));
    if (!document.ok) {
      if (document.reason === 'missing') return undefined;
      // A policy that grants workloads' namespaces alone is one that may be meant.
      if (document.reason === 'denied') throw new CredentialStoreDeniedError(document.message);
      throw new CredentialStoreUnavailableError(document.message);
    }
    const username = document.values.get('username');
    const password = document.values.get('password');
    return username && password ? { username: username.reveal(), password } : undefined;
  };
}

import type { CredentialRecord } from '../../../core/model/credential.ts';
import type { SecretPolicy } from '../../../core/model/secret-limits.ts';
import type { SecretPath } from '../../../core/model/secret-path.ts';
import { deliverableVersion } from '../../../core/secrets/credentials.ts';
import { reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import { credentialRecord } from '../../secrets/credential-holders.ts';
import { credentialOf, type CredentialWrites, type WriteRefusal } from '../../secrets/credential-writes.ts';
import type { SecretFailure, SecretsStore, SecretValues } from '../../secrets/port.ts';
import type { SecretReferences } from '../../secrets/references.ts';
import type { Stored } from '../../store/collection.ts';
import type { TenantStore } from '../../store/store.ts';

export interface SecretAdmission {
  readonly store: SecretsStore;
  readonly references: SecretReferences;
  readonly policy: SecretPolicy;
  readonly writes: CredentialWrites;
  /** Of a set: keys by path of the documents that those planned before would make. */
  readonly supposed?: Map<string, readonly string[]>;
}

export function secretFailureRejection(failure: SecretFailure, field: string): Rejection {
  const why = `${failure.message}.`;
  switch (failure.reason) {
    // These stay until the operator mends them: to come back in a moment would not help.
    case 'denied':
      return reject('secrets_store_forbidden', { field, received: '(none)', why });
    case 'unusable':
      return reject('secrets_store_unusable', { field, received: '(none)', why });
    case 'too_large':
      return reject('secret_value_too_long', {
        field,
        received: '(redacted)',
        expected: 'a document that the secrets store takes; fewer or shorter values',
        why,
      });
    case 'sealed':
      return { ...reject('secrets_sealed', { field, received: '(none)', why }), retryAfterSeconds: 5 };
    default:
      return {
        ...reject('secrets_store_unavailable', { field, received: '(none)', why }),
        retryAfterSeconds: 5,
      };
  }
}

export function writeRefusalRejection(refusal: WriteRefusal, field: string): Rejection {
  const { reason } = refusal;
  if (reason !== 'conflict' && reason !== 'moved') return secretFailureRejection(refusal, field);
  return {
    ...reject('secrets_store_unavailable', {
      field,
      received: '(none)',
      why: `${refusal.message}: another write came between; send the request again.`,
    }),
    moved: true,
    retryAfterSeconds: 1,
  };
}

/** One credential as a request meets it: Berth's record, and what the store holds. */
export interface CredentialFacts {
  readonly path: SecretPath;
  readonly stored: Stored<CredentialRecord> | undefined;
  readonly record: CredentialRecord;
  /** Readable versions, without one that this request wrote in an earlier attempt. */
  readonly versions: readonly number[];
  /** What a write expects; 0: nothing was ever there. */
  readonly newest: number;
  readonly exists: boolean;
  /** What containers outside a rotation receive; 0: nothing. */
  readonly inService: number;
  readonly values: SecretValues;
}

export async function readCredential(
  { store, writes, references }: SecretAdmission,
  tenant: TenantStore,
  request: object,
  path: SecretPath,
): Promise<CredentialFacts | SecretFailure> {
  const stored = credentialOf(tenant, path);
  const record = credentialRecord(references, tenant, path, stored?.record);
  const metadata = await store.metadata(tenant.tenantId, path);
  if (!metadata.ok) return metadata;
  const last = metadata.exists ? metadata.version : (metadata.currentVersion ?? 0);
  const newest = writes.newestBefore(request, path, last);
  const all = metadata.exists ? metadata.versions.map(({ version }) => version) : [];
  const versions = all.filter((version) => version <= newest);
  const inService = Math.max(deliverableVersion(record, versions), metadata.exists ? 0 : record.current);
  const facts = { path, stored, record, versions, newest, exists: metadata.exists, inService };
  if (inService === 0) return { ...facts, values: new Map() };
  const document = await store.read(tenant.tenantId, path, inService);
  if (document.ok) return { ...facts, values: document.values };
  return document.reason === 'missing' ? { ...facts, inService: 0, values: new Map() } : document;
}

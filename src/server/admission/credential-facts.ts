import type { CredentialRecord } from '../../core/model/credential.ts';
import type { SecretPolicy } from '../../core/model/secret-limits.ts';
import { type SecretPath, secretPathText } from '../../core/model/secret-path.ts';
import type { InstanceObservation } from '../../core/model/instance.ts';
import { jobOfOwner, jobOwner } from '../../core/model/job.ts';
import { pinOf } from '../../core/model/rotation-phase.ts';
import { deliverableVersion, UNKNOWN } from '../../core/planner/credentials.ts';
import type { HoldingInstance, RotationConsumer } from '../../core/planner/rotation.ts';
import { reject } from '../../core/rejections/reject.ts';
import type { Rejection } from '../../core/rejections/rejection.ts';
import { credentialOf, type CredentialWrites, type WriteRefusal } from '../secrets/credential-writes.ts';
import type { SecretFailure, SecretsStore, SecretValues } from '../secrets/port.ts';
import type { SecretReferences } from '../secrets/references.ts';
import type { Stored } from '../store/collection.ts';
import { joinId } from '../store/keys.ts';
import type { TenantStore } from '../store/store.ts';

export interface SecretAdmission {
  readonly store: SecretsStore;
  readonly references: SecretReferences;
  readonly policy: SecretPolicy;
  readonly writes: CredentialWrites;
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
  { store, writes }: SecretAdmission,
  tenant: TenantStore,
  request: object,
  path: SecretPath,
): Promise<CredentialFacts | SecretFailure> {
  const stored = credentialOf(tenant, path);
  const record = stored?.record ?? UNKNOWN;
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

/** A run of a job is over when it ends; a deployment's container is started again as it is. */
function startsAgain(seen: InstanceObservation | undefined): boolean {
  return seen?.phase === 'exited' || (seen?.phase === 'failed' && seen.containerId !== undefined);
}

function holdingInstances(tenant: TenantStore, owner: string, path: string): HoldingInstance[] {
  const observations = tenant.collection('observations');
  const deliveries = tenant.collection('secret-deliveries');
  return tenant
    .collection('instances')
    .listUnder(joinId(owner))
    .map(({ id, record }) => {
      const seen = observations.get(id)?.record;
      const given = deliveries.get(id)?.record.versions ?? {};
      return {
        id: record.id,
        phase: seen?.phase ?? ('pending' as const),
        ...(record.wanted === 'run' && jobOfOwner(owner) === undefined && startsAgain(seen)
          ? { startsAgain: true }
          : {}),
        ...(seen?.secretsVersion === undefined ? {} : { secretsVersion: seen.secretsVersion }),
        ...(Object.hasOwn(given, path) && given[path] !== undefined ? { versions: given[path] } : {}),
      };
    });
}

/** Everybody who reads the document, with what their containers hold of it. */
export function rotationConsumers(
  { references }: SecretAdmission,
  tenant: TenantStore,
  path: SecretPath,
): RotationConsumer[] {
  const text = secretPathText(path);
  const found = new Map<string, RotationConsumer>();
  for (const { deployment, job } of references.consumers(tenant.tenantId, path.label)) {
    const owner = job === undefined ? (deployment ?? '') : jobOwner(job);
    if (found.has(owner)) continue;
    const instances = holdingInstances(tenant, owner, text);
    const record = job === undefined ? tenant.get('deployments', joinId(owner))?.record : undefined;
    const entry = record?.spec.secrets.find(({ vault_path }) => vault_path === text);
    const pin = entry === undefined ? undefined : pinOf(record?.rotation, entry);
    found.set(owner, {
      name: job ?? owner,
      ...(job !== undefined && { job: true }),
      ...(pin && { pin }),
      secretsVersion: record?.spec.secretsVersion ?? 0,
      instances,
    });
  }
  return [...found.values()];
}

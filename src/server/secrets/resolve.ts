import type { CredentialRecord, SecretDeliveries } from '../../core/model/credential.ts';
import type { RotatedVersions, RotationState } from '../../core/model/deployment.ts';
import type { TenantId } from '../../core/model/ids.ts';
import { overlapOf } from '../../core/model/rotation-phase.ts';
import { type SecretPath, secretPathText, splitSecretPath } from '../../core/model/secret-path.ts';
import type { SecretValue } from '../../core/model/secret-value.ts';
import { deliverableVersion, isDeliverable, UNKNOWN } from '../../core/secrets/credentials.ts';
import { type DeliveringSpec, type EntryDocuments, planDelivery } from '../../core/secrets/delivery.ts';
import { failure, type SecretDocument, type SecretFailure, type SecretsStore } from './port.ts';
import { type Asked, sideBySide } from './side-by-side.ts';

export type UnresolvedReason =
  | 'denied'
  | 'missing_document'
  | 'missing_key'
  | 'sealed'
  | 'unavailable'
  | 'unusable'
  | 'undeliverable'
  | 'collision';

/** `message` names entries, paths and keys, never material: it becomes a status text and an event. */
export type ResolvedEnvironment =
  | {
      readonly ok: true;
      readonly env: ReadonlyMap<string, SecretValue>;
      /** What was read, by path. */
      readonly versions: SecretDeliveries['versions'];
    }
  | { readonly ok: false; readonly reason: UnresolvedReason; readonly message: string };

/** What decides which versions are delivered. */
export interface DeliveryTerms {
  /** The phase of the deployment whose container it is. */
  readonly rotation?: RotationState | undefined;
  readonly credential?: (path: SecretPath) => CredentialRecord | undefined;
  /** Namespaces that the policy grants now; absent: any. */
  readonly namespaces?: readonly string[];
}

interface Wanted {
  readonly path: SecretPath;
  /** Absent: what a container outside a rotation receives. */
  readonly version?: number;
}

/**
 * The variables a container of this spec gets from secrets, at the moment it is created. In memory only; all or nothing:
 * a refusal, an absent document or key, or a partial document leaves no environment at all.
 */
export async function resolveEnvironment(
  store: SecretsStore,
  tenant: TenantId,
  spec: DeliveringSpec,
  { rotation, credential = () => undefined, namespaces }: DeliveryTerms = {},
): Promise<ResolvedEnvironment> {
  const wanted = new Map<string, Wanted>();
  const entries: { readonly name: string; readonly path: SecretPath; readonly pin?: RotatedVersions }[] = [];
  for (const entry of spec.secrets) {
    const { name } = entry;
    const path = splitSecretPath(entry.vault_path);
    if (path === undefined) {
      const message = `the path of the secret ${name} is malformed`;
      return { ok: false, reason: 'missing_document', message };
    }
    if (namespaces?.includes(path.namespace) === false) {
      const message = `secret ${name} (${secretPathText(path)}): the policy does not grant the namespace ${path.namespace} (403)`;
      return { ok: false, reason: 'denied', message };
    }
    const pin = overlapOf(rotation, entry);
    entries.push({ name, path, ...(pin && { pin }) });
    for (const version of [pin?.current, pin?.next, pin?.previous]) {
      const isMeant = version !== undefined || pin === undefined;
      if (isMeant) wanted.set(wantedKey(path, version), { path, ...(version !== undefined && { version }) });
    }
  }
  // Each document version once: entries that share a document see the same one.
  const read = await sideBySide(store, wanted, ({ path, version }) =>
    version === undefined
      ? readInService(store, tenant, path, credential(path) ?? UNKNOWN)
      : store.read(tenant, path, version),
  );
  if (!read.ok) return unresolved(read, wanted, entries);
  const documents = new Map<string, EntryDocuments>();
  const versions: Record<string, RotatedVersions> = {};
  for (const { name, path, pin } of entries) {
    const valuesAt = (version: number | undefined) =>
      version === undefined ? undefined : read.answers.get(wantedKey(path, version))?.values;
    const current = read.answers.get(wantedKey(path, pin?.current));
    const [next, previous] = [valuesAt(pin?.next), valuesAt(pin?.previous)];
    // An answer that never came would be a defect of the reading; the delivery then lacks its document and fails closed.
    if (current === undefined) continue;
    versions[secretPathText(path)] = pin ?? { current: current.version };
    documents.set(name, {
      current: current.values,
      ...(next === undefined ? {} : { next }),
      ...(previous === undefined ? {} : { previous }),
    });
  }
  const delivery = planDelivery(spec, documents);
  return delivery.ok ? { ...delivery, versions } : delivery;
}

/** The version in service: mostly the newest, so that is asked for first. */
export async function readInService(
  store: Pick<SecretsStore, 'read' | 'metadata'>,
  tenant: TenantId,
  path: SecretPath,
  record: CredentialRecord,
): Promise<SecretDocument | SecretFailure> {
  const newest = await store.read(tenant, path);
  if (newest.ok && isDeliverable(record, newest.version)) return newest;
  if (!newest.ok && newest.reason !== 'missing') return newest;
  const metadata = await store.metadata(tenant, path);
  if (!metadata.ok) return metadata;
  const versions = metadata.exists ? metadata.versions.map(({ version }) => version) : [];
  // A newer version that was deleted hides the document, and not what is in service.
  const version = Math.max(deliverableVersion(record, versions), metadata.exists ? 0 : record.current);
  if (version > 0) return store.read(tenant, path, version);
  if (!newest.ok) return newest;
  const why = 'every version in the store was written for requests that were not accepted';
  return failure('missing', `no document ${secretPathText(path)} is in service: ${why}`);
}

function wantedKey(path: SecretPath, version: number | undefined): string {
  return `${secretPathText(path)}@${version ?? ''}`;
}

function unresolved(
  { of, failed }: Asked<string>,
  wanted: ReadonlyMap<string, Wanted>,
  entries: readonly { readonly name: string; readonly path: SecretPath }[],
): ResolvedEnvironment {
  const reason =
    failed.reason === 'missing'
      ? 'missing_document'
      : failed.reason === 'too_large'
        ? 'unusable'
        : failed.reason;
  const path = of === undefined ? undefined : wanted.get(of)?.path;
  if (path === undefined) return { ok: false, reason, message: failed.message };
  const text = secretPathText(path);
  const name = entries.find((entry) => secretPathText(entry.path) === text)?.name ?? text;
  return { ok: false, reason, message: `secret ${name} (${text}): ${failed.message}` };
}

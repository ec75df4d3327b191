import type { RotationState } from '../../core/model/deployment.ts';
import type { TenantId } from '../../core/model/ids.ts';
import { type DeliveredVersions, deliveredVersions } from '../../core/model/rotation-phase.ts';
import { type SecretPath, secretPathText, splitSecretPath } from '../../core/model/secret-path.ts';
import type { SecretValue } from '../../core/model/secret-value.ts';
import { type DeliveringSpec, type EntryDocuments, planDelivery } from '../../core/planner/delivery.ts';
import type { SecretDocument, SecretFailure, SecretsStore } from './port.ts';

export type UnresolvedReason =
  | 'denied'
  | 'missing_document'
  | 'missing_key'
  | 'sealed'
  | 'unavailable'
  | 'collision';

/** `message` names entries, paths and keys, never material: it becomes a status text and an event. */
export type ResolvedEnvironment =
  | { readonly ok: true; readonly env: ReadonlyMap<string, SecretValue> }
  | { readonly ok: false; readonly reason: UnresolvedReason; readonly message: string };

type Version = number | 'newest';

interface Wanted {
  readonly path: SecretPath;
  readonly version: Version;
}

/** Reads at once; a spec names few documents, and the store should not see a burst per container. */
const MAX_PARALLEL_READS = 8;

/**
 * The variables a container of this spec gets from secrets, at the moment it is created. In memory only; all or nothing
 * (spec §3): a refusal, an absent document or key, or a partial document leaves no environment at all.
 */
export async function resolveEnvironment(
  store: SecretsStore,
  tenant: TenantId,
  spec: DeliveringSpec,
  rotation: RotationState | undefined,
): Promise<ResolvedEnvironment> {
  const wanted = new Map<string, Wanted>();
  const entries: {
    readonly name: string;
    readonly path: SecretPath;
    readonly versions: DeliveredVersions;
  }[] = [];
  for (const { name, vault_path } of spec.secrets) {
    const path = splitSecretPath(vault_path);
    if (path === undefined) {
      return {
        ok: false,
        reason: 'missing_document',
        message: `the path of the secret ${name} is malformed`,
      };
    }
    const versions = deliveredVersions(versionsOf(rotation, name));
    entries.push({ name, path, versions });
    for (const version of [versions.current, versions.next, versions.previous]) {
      if (version !== undefined) wanted.set(wantedKey(path, version), { path, version });
    }
  }
  const read = await readAll(store, tenant, [...wanted]);
  const documents = new Map<string, EntryDocuments>();
  for (const { name, path, versions } of entries) {
    const current = read.get(wantedKey(path, versions.current));
    const next = versions.next === undefined ? undefined : read.get(wantedKey(path, versions.next));
    const previous =
      versions.previous === undefined ? undefined : read.get(wantedKey(path, versions.previous));
    for (const document of [current, next, previous]) {
      if (document?.ok === false) return unresolved(name, path, document);
    }
    // An answer that never came would be a defect of `readAll`; the delivery then lacks its document and fails closed.
    if (!current?.ok) continue;
    documents.set(name, {
      current: current.values,
      ...(next?.ok ? { next: next.values } : {}),
      ...(previous?.ok ? { previous: previous.values } : {}),
    });
  }
  return planDelivery(spec, documents);
}

function versionsOf(rotation: RotationState | undefined, name: string) {
  return rotation?.secrets !== undefined && Object.hasOwn(rotation.secrets, name)
    ? rotation.secrets[name]
    : undefined;
}

function wantedKey(path: SecretPath, version: Version): string {
  return `${secretPathText(path)}@${version}`;
}

/** Each document version once: entries that share a document see the same one. */
async function readAll(
  store: SecretsStore,
  tenant: TenantId,
  wanted: readonly (readonly [string, Wanted])[],
): Promise<ReadonlyMap<string, SecretDocument | SecretFailure>> {
  const read = new Map<string, SecretDocument | SecretFailure>();
  const queue = wanted[Symbol.iterator]();
  const worker = async (): Promise<void> => {
    for (const [key, { path, version }] of queue) {
      read.set(key, await store.read(tenant, path, version === 'newest' ? undefined : version));
    }
  };
  await Promise.all(Array.from({ length: MAX_PARALLEL_READS }, worker));
  return read;
}

function unresolved(name: string, path: SecretPath, failed: SecretFailure): ResolvedEnvironment {
  const reason = failed.reason === 'missing' ? 'missing_document' : failed.reason;
  return { ok: false, reason, message: `secret ${name} (${secretPathText(path)}): ${failed.message}` };
}

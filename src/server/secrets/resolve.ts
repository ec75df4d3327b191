import type { RotationState } from '../../core/model/deployment.ts';
import type { TenantId } from '../../core/model/ids.ts';
import { type DeliveredVersions, deliveredVersions } from '../../core/model/rotation-phase.ts';
import { type SecretPath, secretPathText, splitSecretPath } from '../../core/model/secret-path.ts';
import type { SecretValue } from '../../core/model/secret-value.ts';
import { type DeliveringSpec, type EntryDocuments, planDelivery } from '../../core/planner/delivery.ts';
import type { SecretsStore } from './port.ts';
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
  | { readonly ok: true; readonly env: ReadonlyMap<string, SecretValue> }
  | { readonly ok: false; readonly reason: UnresolvedReason; readonly message: string };

type Version = number | 'newest';

interface Wanted {
  readonly path: SecretPath;
  readonly version: Version;
}

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
  // Each document version once: entries that share a document see the same one.
  const read = await sideBySide(store, wanted, ({ path, version }) =>
    store.read(tenant, path, version === 'newest' ? undefined : version),
  );
  if (!read.ok) return unresolved(read, wanted, entries);
  const documents = new Map<string, EntryDocuments>();
  for (const { name, path, versions } of entries) {
    const valuesAt = (version: Version | undefined) =>
      version === undefined ? undefined : read.answers.get(wantedKey(path, version))?.values;
    const current = valuesAt(versions.current);
    const next = valuesAt(versions.next);
    const previous = valuesAt(versions.previous);
    // An answer that never came would be a defect of the reading; the delivery then lacks its document and fails closed.
    if (current === undefined) continue;
    documents.set(name, {
      current,
      ...(next === undefined ? {} : { next }),
      ...(previous === undefined ? {} : { previous }),
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

import type { DeploymentDraft } from '../../../core/contract/deployment-body.ts';
import type { Warning } from '../../../core/model/announcement.ts';
import type { DeploymentSpec, Workload } from '../../../core/model/deployment.ts';
import { servedIngress } from '../../../core/model/ingress.ts';
import { overlapOf } from '../../../core/model/rotation-phase.ts';
import { type SecretPath, secretPathText, splitSecretPath } from '../../../core/model/secret-path.ts';
import type { VolumeType } from '../../../core/model/volume.ts';
import type { WebhookSpec } from '../../../core/model/webhook.ts';
import { carryRotation } from '../../../core/secrets/rotation.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import { checkStagedCollisions, type KnownKeys } from '../../../core/rules/secrets/collision.ts';
import {
  keysAfter,
  missingReferenceWarnings,
  missingSigningKeyWarnings,
} from '../../../core/rules/secrets/missing.ts';
import { statefulSecretRules } from '../../../core/rules/secrets/list.ts';
import { checkSplitAcross } from '../../../core/rules/secrets/path.ts';
import { sideBySide } from '../../secrets/side-by-side.ts';
import { idOf } from '../../store/record-ids.ts';
import type { TenantStore } from '../../store/store.ts';
import type { Transaction } from '../../store/transaction.ts';
import type { SecretAdmission } from './credential-facts.ts';
import { awaitDeletions, deletionMoved } from './secret-deletions.ts';

/** What refers to documents: a workload, or a webhook by its signing key. */
interface Referring {
  readonly secrets: readonly { readonly vault_path: string }[];
}

function paths(spec: Referring): readonly SecretPath[] {
  return spec.secrets.flatMap(({ vault_path }) => splitSecretPath(vault_path) ?? []);
}

export interface KnownDocuments {
  readonly keys: KnownKeys;
  /** Records of the labels before the store was asked: a deletion since changes them. */
  readonly labels: ReadonlyMap<string, number>;
  /** False: the store was away, so that nothing is said of what is not in `keys`. */
  readonly isComplete: boolean;
}

/** Of a workload that refers to none. */
const NO_DOCUMENTS: KnownDocuments = { keys: new Map(), labels: new Map(), isComplete: true };

/** Keys that the stored documents hold. A store that is away knows none: the delivery compares again and fails closed. */
export function knownKeys(
  secrets: SecretAdmission,
  tenant: TenantStore,
  spec: Referring,
): Promise<KnownDocuments> | KnownDocuments {
  return spec.secrets.length === 0 ? NO_DOCUMENTS : askedKeys(secrets, tenant, spec);
}

async function askedKeys(
  { store, supposed }: SecretAdmission,
  tenant: TenantStore,
  spec: Referring,
): Promise<KnownDocuments> {
  const asked = new Map(paths(spec).map((path) => [secretPathText(path), path]));
  const labels = new Map(paths(spec).map(({ label }) => [label, labelRevision(tenant, label)]));
  const found = await sideBySide(store, asked, (path) => store.metadata(tenant.tenantId, path));
  const known = new Map<string, readonly string[]>();
  for (const [path, metadata] of found.ok ? found.answers : []) {
    const keys = [...(metadata.exists ? metadata.keys : []), ...(supposed?.get(path) ?? [])];
    if (metadata.exists || keys.length > 0) known.set(path, [...new Set(keys)]);
  }
  return { keys: known, labels, isComplete: found.ok };
}

function labelRevision(tenant: TenantStore, label: string): number {
  return tenant.get('secret-labels', idOf('secret-labels', label))?.modRevision ?? 0;
}

function namespacesElsewhere(
  { references }: SecretAdmission,
  tenant: TenantStore,
  spec: Workload,
): ReadonlyMap<string, string> {
  const namespaceOf = new Map<string, string>();
  for (const { label } of paths(spec)) {
    const namespace = references.namespaceOf(tenant.tenantId, label, spec.name);
    if (namespace !== undefined) namespaceOf.set(label, namespace);
  }
  return namespaceOf;
}

/** What is referenced and not there yet. */
export function referenceWarnings(
  draft: DeploymentDraft,
  { keys, isComplete }: KnownDocuments,
): readonly Warning[] {
  return isComplete ? missingReferenceWarnings(draft, keys) : [];
}

/** Of a webhook: whether the key that its requests are signed with is there. */
export async function signingKeyWarnings(
  secrets: SecretAdmission,
  tenant: TenantStore,
  { signing }: Pick<WebhookSpec, 'signing'>,
): Promise<{ readonly known: KnownDocuments; readonly warnings: readonly Warning[] }> {
  const known = await knownKeys(secrets, tenant, { secrets: [signing] });
  return { known, warnings: known.isComplete ? missingSigningKeyWarnings(signing, known.keys) : [] };
}

/** For what is planned after the workload: the keys that its own material brings along. */
export function supposeDocuments(
  { supposed }: SecretAdmission,
  draft: DeploymentDraft,
  known: KnownDocuments | undefined,
): void {
  for (const [path, keys] of keysAfter(draft, known?.keys ?? new Map())) supposed?.set(path, [...keys]);
}

/** The rules of a deployment's secrets that need stored state. Nothing at once where there are no secrets: most workloads wait for nobody. */
export function secretRejection(
  secrets: SecretAdmission,
  tenant: TenantStore,
  draft: DeploymentDraft,
  spec: Workload,
  previous: Workload | undefined,
  known?: KnownDocuments,
): Promise<Rejection | undefined> | undefined {
  if (spec.secrets.length === 0 && (previous?.secrets.length ?? 0) === 0) return undefined;
  return judgedSecrets(secrets, tenant, draft, spec, previous, known);
}

async function judgedSecrets(
  secrets: SecretAdmission,
  tenant: TenantStore,
  draft: DeploymentDraft,
  spec: Workload,
  previous: Workload | undefined,
  known: KnownDocuments | undefined,
): Promise<Rejection | undefined> {
  const volumeTypeOf = new Map<string, VolumeType>();
  for (const { volumeId } of spec.volumes ?? []) {
    const type = tenant.get('volumes', idOf('volumes', volumeId))?.record.type;
    if (type !== undefined) volumeTypeOf.set(volumeId, type);
  }
  const facts = {
    namespaceOf: namespacesElsewhere(secrets, tenant, spec),
    volumeTypeOf,
    knownKeys: (known ?? (await knownKeys(secrets, tenant, spec))).keys,
    ...(previous === undefined ? {} : { update: { previous, next: spec } }),
  };
  for (const rule of statefulSecretRules) {
    const rejection = rule(draft, facts);
    if (rejection) return rejection;
  }
  return undefined;
}

/** A deployment in the middle of a rotation takes no variable of a name that the rotation delivers. */
export function rotatingCollision(
  tenant: TenantStore,
  draft: DeploymentDraft,
  spec: DeploymentSpec,
  { keys }: KnownDocuments,
): Rejection | undefined {
  if (spec.secrets.length === 0) return undefined;
  const stored = tenant.get('deployments', idOf('deployments', spec.name))?.record;
  const rotation = carryRotation(stored?.rotation, stored?.spec.secrets ?? [], spec.secrets);
  const rotating = spec.secrets.filter((entry) => overlapOf(rotation, entry) !== undefined);
  const staged = new Set(rotating.map(({ vault_path }) => vault_path));
  return checkStagedCollisions(draft, keys, staged, 'write');
}

function certificateLabels(spec: Workload): readonly string[] {
  return servedIngress(spec).flatMap(({ tls }) =>
    typeof tls === 'object' ? (splitSecretPath(tls.vault_path)?.label ?? []) : [],
  );
}

/** Into the commit of what refers to a document: a deletion at the same moment fails, or it does. */
function expectLabel(tenant: TenantStore, label: string, transaction: Transaction, claim?: string): void {
  const id = idOf('secret-labels', label);
  const stored = tenant.get('secret-labels', id);
  transaction.expect('secret-labels', id, stored);
  const namespace = claim ?? stored?.record.namespace;
  // Of a certificate or a signing key nothing but the deletion is looked at: its label may be used elsewhere.
  if (namespace === undefined) return;
  // A mark that is still there was left behind; without it the deletion, if there still is one, stores nothing.
  if (stored?.record.namespace !== namespace || stored.record.deleting !== undefined)
    transaction.put('secret-labels', id, { namespace });
}

/** What was said of its documents may not be so any more. */
function changedSince(tenant: TenantStore, { labels }: KnownDocuments): Rejection | undefined {
  for (const [label, revision] of labels)
    if (labelRevision(tenant, label) !== revision) return deletionMoved(label);
  return undefined;
}

/** Of a webhook: the document that its requests are signed with. */
export async function expectSigningKey(
  tenant: TenantStore,
  { signing }: Pick<WebhookSpec, 'signing'>,
  transaction: Transaction,
  known: KnownDocuments,
): Promise<Rejection | undefined> {
  const label = splitSecretPath(signing.vault_path)?.label;
  if (label === undefined) return undefined;
  const moved = (await awaitDeletions(tenant, [label])) ?? changedSince(tenant, known);
  if (!moved) expectLabel(tenant, label, transaction);
  return moved;
}

/**
 * One label, one namespace in a tenant: held by a record of its own, so that two parallel writes cannot both be right.
 * The rule is re-checked in the same moment the record is read, since the registry may have taken seconds to answer.
 */
export function claimLabels(
  secrets: SecretAdmission,
  tenant: TenantStore,
  spec: Workload,
  transaction: Transaction,
  known?: KnownDocuments,
): Promise<Rejection | undefined> | undefined {
  if (spec.secrets.length === 0 && spec.ingress === undefined) return undefined;
  return claimed(secrets, tenant, spec, transaction, known);
}

async function claimed(
  secrets: SecretAdmission,
  tenant: TenantStore,
  spec: Workload,
  transaction: Transaction,
  known: KnownDocuments | undefined,
): Promise<Rejection | undefined> {
  const claims = new Map(paths(spec).map(({ label, namespace }) => [label, namespace]));
  const labels = [...new Set([...claims.keys(), ...certificateLabels(spec)])];
  const moved = await awaitDeletions(tenant, labels);
  if (moved) return moved;
  const changed = known && changedSince(tenant, known);
  if (changed) return changed;
  const split = checkSplitAcross(spec, namespacesElsewhere(secrets, tenant, spec));
  if (split) return split;
  for (const label of labels) expectLabel(tenant, label, transaction, claims.get(label));
  return undefined;
}

import type { DeploymentDraft, SecretEntryDraft } from '../../core/contract/deployment-body.ts';
import type { GenerateDraft, SecretBearingDraft } from '../../core/contract/secret-draft.ts';
import type { Alteration } from '../../core/model/announcement.ts';
import { allows, rolesThatMay } from '../../core/model/permission.ts';
import type { DeploymentSpec } from '../../core/model/deployment.ts';
import type { SecretPolicy } from '../../core/model/secret-limits.ts';
import { jobOfOwner } from '../../core/model/job.ts';
import { type SecretPath, secretPathText, splitSecretPath } from '../../core/model/secret-path.ts';
import { SecretValue } from '../../core/model/secret-value.ts';
import type { VolumeType } from '../../core/model/volume.ts';
import { redacted } from '../../core/rejections/redaction.ts';
import { isRejection, reject } from '../../core/rejections/reject.ts';
import type { Rejection } from '../../core/rejections/rejection.ts';
import { statefulSecretRules } from '../../core/rules/secrets/list.ts';
import { checkSplitAcross } from '../../core/rules/secrets/path.ts';
import type { EmbeddedSecrets } from '../secrets/embedded/store.ts';
import { mintSecrets } from '../secrets/generate.ts';
import type { Principal } from '../access/principal.ts';
import {
  type SecretFailure,
  type SecretsStore,
  type SecretValues,
  versionToExpect,
} from '../secrets/port.ts';
import type { SecretReferences } from '../secrets/references.ts';
import { sideBySide } from '../secrets/side-by-side.ts';
import { joinId } from '../store/keys.ts';
import type { TenantStore } from '../store/store.ts';
import { Transaction } from '../store/transaction.ts';

export interface SecretAdmission {
  readonly store: SecretsStore;
  readonly references: SecretReferences;
  readonly policy: SecretPolicy;
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

function paths(spec: Pick<DeploymentSpec, 'secrets'>): readonly SecretPath[] {
  return spec.secrets.flatMap(({ vault_path }) => splitSecretPath(vault_path) ?? []);
}

/** Keys that the stored documents hold. A store that is away knows none: the delivery compares again and fails closed. */
async function knownKeys(
  { store }: SecretAdmission,
  tenant: TenantStore,
  spec: DeploymentSpec,
): Promise<ReadonlyMap<string, readonly string[]>> {
  const asked = new Map(paths(spec).map((path) => [secretPathText(path), path]));
  const found = await sideBySide(store, asked, (path) => store.metadata(tenant.tenantId, path));
  const known = new Map<string, readonly string[]>();
  for (const [path, metadata] of found.ok ? found.answers : [])
    if (metadata.exists) known.set(path, metadata.keys);
  return known;
}

function namespacesElsewhere(
  { references }: SecretAdmission,
  tenant: TenantStore,
  spec: DeploymentSpec,
): ReadonlyMap<string, string> {
  const namespaceOf = new Map<string, string>();
  for (const { label } of paths(spec)) {
    const namespace = references.namespaceOf(tenant.tenantId, label, spec.name);
    if (namespace !== undefined) namespaceOf.set(label, namespace);
  }
  return namespaceOf;
}

/** Who reads the document is this workload alone; or nobody, where the namespace says that it belongs to workloads. */
function isOwnDocument(
  { references }: SecretAdmission,
  tenant: TenantStore,
  { namespace, label }: SecretPath,
  workload: DeploymentSpec,
): boolean {
  const consumers = references.consumers(tenant.tenantId, label);
  if (consumers.length === 0) return namespace === 'deployments';
  const job = jobOfOwner(workload.name);
  return consumers.every((one) => (job === undefined ? one.deployment === workload.name : one.job === job));
}

/**
 * A role that deploys brings new documents along and renews those that its workload alone reads. To write a document that
 * others read, or that was put there for others to read, is a secret write, and no workload is a way around its permission.
 */
function roleRejection(
  secrets: SecretAdmission,
  { tenant, principal }: MaterialCaller,
  path: SecretPath,
  workload: DeploymentSpec,
  field: string,
): Rejection | undefined {
  if (principal === undefined || allows(principal.role, 'secrets.write')) return undefined;
  if (isOwnDocument(secrets, tenant, path, workload)) return undefined;
  const text = secretPathText(path);
  return reject('role_forbidden', {
    field,
    received: principal.role,
    expected: `a reference to ${text} without material, or a document of its own; the roles ${rolesThatMay(['secrets.write']).join(', ')} may write ${text}`,
    why: `${text} exists and is not read by this workload alone; the role ${principal.role} does not write such documents (secrets.write).`,
  });
}

/** The rules of a deployment's secrets that need stored state. */
export async function secretRejection(
  secrets: SecretAdmission,
  tenant: TenantStore,
  draft: DeploymentDraft,
  spec: DeploymentSpec,
  previous: DeploymentSpec | undefined,
): Promise<Rejection | undefined> {
  if (spec.secrets.length === 0 && (previous?.secrets.length ?? 0) === 0) return undefined;
  const volumeTypeOf = new Map<string, VolumeType>();
  for (const { volumeId } of spec.volumes ?? []) {
    const type = tenant.get('volumes', joinId(volumeId))?.record.type;
    if (type !== undefined) volumeTypeOf.set(volumeId, type);
  }
  const facts = {
    namespaceOf: namespacesElsewhere(secrets, tenant, spec),
    volumeTypeOf,
    knownKeys: await knownKeys(secrets, tenant, spec),
    ...(previous === undefined ? {} : { update: { previous, next: spec } }),
  };
  for (const rule of statefulSecretRules) {
    const rejection = rule(draft as SecretBearingDraft, facts);
    if (rejection) return rejection;
  }
  return undefined;
}

/**
 * One label, one namespace in a tenant: held by a record of its own, so that two parallel writes cannot both be right.
 * The rule is asked again in the same moment the record is read, since the registry may have taken seconds to answer.
 */
export function claimLabels(
  secrets: SecretAdmission,
  tenant: TenantStore,
  spec: DeploymentSpec,
  transaction: Transaction,
): Rejection | undefined {
  const split = checkSplitAcross(spec, namespacesElsewhere(secrets, tenant, spec));
  if (split) return split;
  const seen = new Set<string>();
  for (const { namespace, label } of paths(spec)) {
    if (seen.has(label)) continue;
    seen.add(label);
    const id = joinId(label);
    const stored = tenant.get('secret-labels', id);
    transaction.expect('secret-labels', id, stored);
    if (stored?.record.namespace !== namespace) transaction.put('secret-labels', id, { namespace });
  }
  return undefined;
}

export interface PlannedMaterial {
  readonly alterations: readonly Alteration[];
  /** Shares the transaction when the store is our own; a remote store is written just before the commit. */
  readonly include: (transaction: Transaction) => void;
  readonly apply: () => Promise<Rejection | undefined>;
}

interface DocumentWrite {
  readonly path: SecretPath;
  readonly values: SecretValues;
  readonly expectedVersion: number;
}

const NOTHING: PlannedMaterial = {
  alterations: [],
  include: () => undefined,
  apply: () => Promise.resolve(undefined),
};

/** `process` may be minted again; `external` and `volume(…)` keep every key that exists (decisions §4). */
function mergeMaterial(
  entry: Pick<SecretEntryDraft, 'values' | 'generate'>,
  replaceable: boolean,
  existing: SecretValues,
  policy: SecretPolicy,
): { readonly values: SecretValues; readonly written: readonly string[]; readonly kept: readonly string[] } {
  const sent = new Map<string, SecretValue>();
  for (const [key, value] of Object.entries(entry.values ?? {})) sent.set(key, new SecretValue(value));
  if (entry.generate !== undefined) {
    for (const [key, value] of mintSecrets(entry.generate as GenerateDraft, policy)) sent.set(key, value);
  }
  const values = new Map(existing);
  const written: string[] = [];
  const kept: string[] = [];
  for (const [key, value] of sent) {
    if (existing.has(key) && !replaceable) {
      kept.push(key);
    } else {
      values.set(key, value);
      written.push(key);
    }
  }
  return { values, written, kept };
}

function announcements(
  index: number,
  entry: SecretEntryDraft,
  path: SecretPath,
  written: readonly string[],
  kept: readonly string[],
): Alteration[] {
  const told = [
    ...(written.length === 0 ? [] : [`written to ${secretPathText(path)}: ${written.join(', ')}`]),
    ...(kept.length === 0
      ? []
      : [
          `kept as stored, because the anchor is ${entry.anchor}: ${kept.join(', ')}; use the rotate operation to change them`,
        ]),
  ];
  const stripped = (field: 'values' | 'generate', value: unknown): Alteration => ({
    field: `secrets[${index}].${field}`,
    from: redacted(value),
    to: '(absent)',
    why: ['write-time only, never stored with the deployment', ...told].join('; '),
  });
  return [
    ...(entry.values === undefined ? [] : [stripped('values', entry.values)]),
    ...(entry.generate === undefined ? [] : [stripped('generate', entry.generate)]),
  ];
}

/** The strictest anchor among the entries of one path decides: what one of them holds on to is not minted again. */
function pathsHeldOnTo(draft: Pick<DeploymentDraft, 'secrets'>): ReadonlySet<string | undefined> {
  return new Set(
    (draft.secrets ?? []).flatMap(({ anchor, vault_path }) => (anchor === 'process' ? [] : [vault_path])),
  );
}

export interface MaterialCaller {
  readonly tenant: TenantStore;
  /** Absent: the control plane itself. */
  readonly principal?: Principal;
}

/** What the write of a workload will put into the secrets store, and how that is announced. Nothing is written yet. */
export async function planMaterial(
  secrets: SecretAdmission,
  caller: MaterialCaller,
  draft: Pick<DeploymentDraft, 'secrets'>,
  workload: DeploymentSpec,
): Promise<PlannedMaterial | Rejection> {
  const writes = new Map<string, DocumentWrite>();
  const alterations: Alteration[] = [];
  const heldOnTo = pathsHeldOnTo(draft);
  for (const [index, entry] of (draft.secrets ?? []).entries()) {
    if (entry.values === undefined && entry.generate === undefined) continue;
    const path = splitSecretPath(entry.vault_path ?? '');
    if (path === undefined) continue;
    const known = writes.get(secretPathText(path)) ?? (await readExisting(secrets, caller.tenant, path));
    if (isRejection(known)) return known;
    const { values, written, kept } = mergeMaterial(
      entry,
      !heldOnTo.has(entry.vault_path),
      known.values,
      secrets.policy,
    );
    if (written.length > 0) {
      const field = `secrets[${index}].${entry.values === undefined ? 'generate' : 'values'}`;
      // Judged by the version that the write expects: what is put there meanwhile fails it.
      const forbidden =
        known.expectedVersion > 0 ? roleRejection(secrets, caller, path, workload, field) : undefined;
      if (forbidden) return forbidden;
      writes.set(secretPathText(path), { ...known, values });
    }
    alterations.push(...announcements(index, entry, path, written, kept));
  }
  if (writes.size === 0) return { ...NOTHING, alterations };
  return { alterations, ...(await planDocuments(secrets, caller.tenant, [...writes.values()])) };
}

async function readExisting(
  { store }: SecretAdmission,
  tenant: TenantStore,
  path: SecretPath,
): Promise<DocumentWrite | Rejection> {
  const document = await store.read(tenant.tenantId, path);
  if (document.ok) return { path, values: document.values, expectedVersion: document.version };
  if (document.reason !== 'missing') return secretFailureRejection(document, 'secrets');
  return { path, values: new Map(), expectedVersion: versionToExpect(document) };
}

export type PlannedDocuments = Pick<PlannedMaterial, 'include' | 'apply'>;

export async function planDocuments(
  { store }: SecretAdmission,
  tenant: TenantStore,
  writes: readonly DocumentWrite[],
): Promise<PlannedDocuments> {
  if ('planWrites' in store) {
    const plan = await (store as EmbeddedSecrets).planWrites(tenant.tenantId, writes);
    if (plan.ok)
      return {
        include: (transaction) => transaction.include(plan.parts),
        apply: () => Promise.resolve(undefined),
      };
    return { include: () => undefined, apply: () => Promise.resolve(planFailure(plan)) };
  }
  return {
    include: () => undefined,
    apply: async () => {
      for (const { path, values, expectedVersion } of writes) {
        const written = await store.write(tenant.tenantId, path, values, { expectedVersion });
        if (!written.ok) return planFailure(written);
      }
      return undefined;
    },
  };
}

function planFailure(failure: { readonly reason: string; readonly message: string }): Rejection {
  if (failure.reason !== 'conflict') return secretFailureRejection(failure as SecretFailure, 'secrets');
  return {
    ...reject('secrets_store_unavailable', {
      field: 'secrets',
      received: '(none)',
      why: `${failure.message}: another write came between; send the request again.`,
    }),
    moved: true,
    retryAfterSeconds: 1,
  };
}

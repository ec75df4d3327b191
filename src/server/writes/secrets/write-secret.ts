import type { secretWriteBody } from '../../../core/contract/secret-bodies.ts';
import type { Draft } from '../../../core/schema/shape.ts';
import { generatedKeys, type SecretWriteDraft } from '../../../core/contract/secret-draft.ts';
import type { Alteration } from '../../../core/model/announcement.ts';
import type { TenantId } from '../../../core/model/ids.ts';
import { ownerField } from '../../../core/model/owner.ts';
import { isDnsLabel, type SecretPath, secretPathText } from '../../../core/model/secret-path.ts';
import {
  type CredentialRotation,
  type MintPolicy,
  nextOfCredential,
} from '../../../core/model/credential.ts';
import { mintedAfter, strictestAnchor, writtenCredential } from '../../../core/secrets/credentials.ts';
import { received } from '../../../core/rejections/redaction.ts';
import { isRejection, reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import { checkDocument } from '../../../core/rules/secrets/material.ts';
import { secretWriteRules } from '../../../core/rules/secrets/write.ts';
import type { SECRETS } from '../../../core/operations/secrets.ts';
import { REGISTRY_NAMESPACE } from '../../registry/credentials.ts';
import type { SecretValues } from '../../secrets/port.ts';
import { credentialOf } from '../../secrets/credential-writes.ts';
import type { SecretConsumer } from '../../secrets/references.ts';
import { idOf } from '../../store/record-ids.ts';
import type { Transaction } from '../../store/transaction.ts';
import { acceptedOf, type Admission, type Caller, commitAttempts, type Outcome } from '../admission.ts';
import { type IfMatch, revisionRejection } from '../if-match.ts';
import { hookViews } from './rotation-hooks.ts';
import {
  type CredentialFacts,
  readCredential,
  type SecretAdmission,
  secretFailureRejection,
} from './credential-facts.ts';
import { overwritesAnchored, plannedMaterial, rotationInProgress, sentValues } from './secret-material.ts';

const REGISTRY_HOST = /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::\d{1,5})?$/;

/** Where documents may be: what the policy grants, and the credentials of registries. */
export function secretNamespaces(granted: readonly string[]): readonly string[] {
  return [...granted, REGISTRY_NAMESPACE];
}

/** Where the document lives: a granted namespace and a DNS label, or a registry's host. */
export function secretPathRejection(
  namespaces: readonly string[],
  { namespace, label }: SecretPath,
): Rejection | undefined {
  if (namespace === REGISTRY_NAMESPACE) {
    if (REGISTRY_HOST.test(label)) return undefined;
    return reject('secret_path_name', {
      field: 'name',
      received: received(label),
      expected: 'host or host:port of a registry, in lower case',
      why: 'Credentials of a registry are stored under its host.',
    });
  }
  if (!namespaces.includes(namespace)) {
    return reject('secret_path_namespace', {
      field: 'namespace',
      received: received(namespace),
      expected: `one of: ${secretNamespaces(namespaces).join(', ')}`,
      why: 'The secrets policy does not grant this namespace.',
    });
  }
  if (!isDnsLabel(label)) {
    return reject('secret_path_name', {
      field: 'name',
      received: received(label),
      why: 'The name after the namespace is a DNS label.',
    });
  }
  return undefined;
}

export function splitRejection(
  admission: Admission,
  caller: Caller,
  { namespace, label }: SecretPath,
): Rejection | undefined {
  const used = admission.secrets.references.namespaceOf(caller.tenant.tenantId, label);
  if (used === undefined || used === namespace || namespace === REGISTRY_NAMESPACE) return undefined;
  return reject('secret_path_namespace_split', {
    field: 'namespace',
    received: received(namespace),
    expected: `${used}/${label}`,
    why: `The tenant's deployments reference ${label} under ${used}; one credential has one namespace.`,
  });
}

interface Composed {
  readonly values: SecretValues;
  readonly alterations: readonly Alteration[];
  readonly minted: Readonly<Record<string, MintPolicy>>;
}

/** The new document. With an anchor that forbids it, a key that exists is not minted again, and that is said. */
function compose(
  admission: Admission,
  caller: Caller,
  body: SecretWriteDraft,
  { path, values: existing, record }: CredentialFacts,
  anchor: string | undefined,
): Composed {
  const values = sentValues(admission.secrets, caller, path, body, existing);
  const made = new Map(generatedKeys(body.generate));
  const alterations: Alteration[] = [];
  for (const key of anchor === undefined || anchor === 'process' ? [] : made.keys()) {
    const kept = existing.get(key);
    if (kept === undefined) continue;
    values.set(key, kept);
    made.delete(key);
    alterations.push({
      field: 'generate.keys',
      from: key,
      to: '(kept)',
      why: `${key} exists and its anchor is ${anchor}, so it is not minted again`,
    });
  }
  const typed = new Set(Object.keys(body.values ?? {}));
  return { values, alterations, minted: mintedAfter(record.minted, values.keys(), made, typed) };
}

const written = acceptedOf<typeof SECRETS.write>();
const described = acceptedOf<typeof SECRETS.read>();

export async function writeSecret(
  admission: Admission,
  caller: Caller,
  path: SecretPath,
  body: Draft<typeof secretWriteBody>,
  ifMatch?: IfMatch,
): Promise<Outcome<typeof SECRETS.write>> {
  const malformed = secretPathRejection(admission.limits.secretPolicy.namespaces, path);
  if (malformed) return malformed;
  for (const rule of secretWriteRules) {
    const rejection = rule(body, admission.limits.secretPolicy);
    if (rejection) return rejection;
  }
  return commitAttempts(admission, caller, async () => {
    const split = splitRejection(admission, caller, path);
    if (split) return split;
    const { tenant } = caller;
    const { secrets } = admission;
    const facts = await readCredential(secrets, tenant, caller, path);
    if ('ok' in facts) return secretFailureRejection(facts, 'name');
    const { newest, values: before } = facts;
    const outdated = revisionRejection(ifMatch, newest);
    if (outdated) return outdated;
    if (facts.record.rotation !== undefined) return rotationInProgress(path, 'name');
    const anchor = strictestAnchor(
      [body.anchor, ...secrets.references.anchors(tenant.tenantId, path)],
      facts.record.hooks,
    );
    const { values, alterations, minted } = compose(admission, caller, body, facts, anchor);
    const overwritten = overwritesAnchored(anchor, path, before, values, 'values');
    if (overwritten) return overwritten;
    const planned = await planDocument(admission, caller, facts, { values, minted });
    if (isRejection(planned)) return planned;
    const { version, transaction } = planned;
    const removed = [...before.keys()].filter((key) => !values.has(key)).map((key) => `keys[${key}]`);
    return {
      answer: written(facts.exists ? 200 : 201, {
        path: secretPathText(path),
        keys: [...values.keys()].sort(),
        version,
        alterations,
        warnings: [],
        removed,
      }),
      transaction,
    };
  });
}

/** A new version of the document, in one commit with its claim of the label, its event and its audit line. */
export async function planDocument(
  { secrets, journal }: Admission,
  caller: Caller,
  { path, stored, newest, values: before }: CredentialFacts,
  { values, minted }: Pick<Composed, 'values' | 'minted'>,
): Promise<{ readonly version: number; readonly transaction: Transaction } | Rejection> {
  const { tenant } = caller;
  const tooLarge = checkDocument(before, values, 'values', secrets.policy);
  if (tooLarge) return tooLarge;
  const material = plannedMaterial(secrets, caller, [
    {
      path,
      values,
      expectedVersion: newest,
      stored,
      settle: (record, version) => ({ ...writtenCredential(record, version, minted), shared: true }),
    },
  ]);
  const failed = await material.apply();
  if (failed) return failed;
  const version = material.version(path);
  const transaction = tenant.transaction();
  if (path.namespace !== REGISTRY_NAMESPACE) {
    const id = idOf('secret-labels', path.label);
    const claimed = tenant.get('secret-labels', id);
    transaction.expect('secret-labels', id, claimed);
    if (claimed?.record.namespace !== path.namespace)
      transaction.put('secret-labels', id, { namespace: path.namespace });
  }
  material.include(transaction);
  const subject = { kind: 'Secret', name: secretPathText(path) } as const;
  journal.audit(transaction, tenant.tenantId, caller, 'secret.written', subject);
  journal.event(transaction, tenant.tenantId, {
    kind: 'secret.written',
    subject,
    message: `${subject.name} written: version ${version}`,
    details: { version, keys: [...values.keys()] },
  });
  return { version, transaction };
}

/** How a webhook is listed among those who read the document; its key may be written again at any time. */
const SIGNING = { secret: 'signing', anchor: 'process', secretsVersion: 0 };

function consumerView({ owner, ...consumer }: SecretConsumer) {
  return { ...ownerField(owner), ...consumer };
}

function signingViews({ references }: SecretAdmission, tenantId: TenantId, path: SecretPath) {
  return references.webhooks(tenantId, path).map((webhook) => ({ webhook, ...SIGNING }));
}

export function consumerViews(secrets: SecretAdmission, tenantId: TenantId, path: SecretPath) {
  return [
    ...secrets.references.consumersOf(tenantId, path).map(consumerView),
    ...signingViews(secrets, tenantId, path),
  ];
}

/** Whatever the namespace of the document is. */
export function consumersOfLabel({ secrets, limits }: Admission, tenantId: TenantId, label: string) {
  return [
    ...secrets.references.consumers(tenantId, label).map(consumerView),
    ...secretNamespaces(limits.secretPolicy.namespaces).flatMap((namespace) =>
      signingViews(secrets, tenantId, { namespace, label }),
    ),
  ];
}

/** What Berth itself knows of the document; nothing, where another hand wrote it and nothing was rotated. */
function credentialView({ tenant }: Caller, path: SecretPath) {
  const record = credentialOf(tenant, path)?.record;
  if (record === undefined || record.current === 0) return {};
  const { current, rotation, refused } = record;
  return { current, ...(rotation && { rotation: versionsOf(rotation) }), ...(refused && { refused }) };
}

export function versionsOf({ phase, next, previous }: CredentialRotation) {
  return phase === 'staged' ? { phase, next } : { phase, previous };
}

export function secretNotFound(path: SecretPath): Rejection {
  return reject('secret_not_found', {
    field: 'name',
    received: received(path.label),
    why: `The tenant has no secret document at ${secretPathText(path)}.`,
  });
}

export async function readSecretMetadata(
  admission: Admission,
  caller: Caller,
  path: SecretPath,
): Promise<Outcome<typeof SECRETS.read>> {
  const malformed = secretPathRejection(admission.limits.secretPolicy.namespaces, path);
  if (malformed) return malformed;
  const metadata = await admission.secrets.store.metadata(caller.tenant.tenantId, path);
  if (isRejection(metadata)) return metadata;
  if (!metadata.ok) return secretFailureRejection(metadata, 'name');
  if (!metadata.exists) {
    return secretNotFound(path);
  }
  const { keys, version, createdAt, versions } = metadata;
  const record = credentialOf(caller.tenant, path)?.record;
  const runs = record === undefined ? [] : hookViews(caller.tenant, record);
  return described(200, {
    path: secretPathText(path),
    namespace: path.namespace,
    name: path.label,
    keys,
    version,
    createdAt,
    versions,
    consumers: consumerViews(admission.secrets, caller.tenant.tenantId, path),
    nextPhase: nextOfCredential(record?.rotation),
    ...(record?.hooks && { hooks: record.hooks }),
    ...(runs.length > 0 && { hookRuns: runs }),
    ...credentialView(caller, path),
  });
}

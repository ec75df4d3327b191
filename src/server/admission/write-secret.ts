import { secretAnchor, secretMaterialFields } from '../../core/contract/deployment-body.ts';
import type { SecretWriteDraft } from '../../core/contract/secret-draft.ts';
import { shape } from '../../core/contract/shape.ts';
import type { Alteration } from '../../core/model/announcement.ts';
import { isDnsLabel, type SecretPath, secretPathText } from '../../core/model/secret-path.ts';
import { SecretValue } from '../../core/model/secret-value.ts';
import { received } from '../../core/rejections/redaction.ts';
import { isRejection, reject } from '../../core/rejections/reject.ts';
import type { Rejection } from '../../core/rejections/rejection.ts';
import { secretWriteRules } from '../../core/rules/secrets/write.ts';
import { REGISTRY_NAMESPACE } from '../registry/credentials.ts';
import { mintSecrets } from '../secrets/generate.ts';
import { type SecretValues, versionToExpect } from '../secrets/port.ts';
import { joinId } from '../store/keys.ts';
import { type Admission, type Caller, commitAttempts, type Outcome } from './admission.ts';
import { type IfMatch, revisionRejection } from './if-match.ts';
import { planDocuments, secretFailureRejection } from './secret-material.ts';

export const secretWriteBody = shape({
  type: 'object',
  sensitive: true,
  fields: {
    ...secretMaterialFields,
    anchor: secretAnchor,
  },
});

const REGISTRY_HOST = /^(?=.{1,253}$)[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?(?::\d{1,5})?$/;

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
      expected: `one of: ${[...namespaces, REGISTRY_NAMESPACE].join(', ')}`,
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

function splitRejection(
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
}

/** The new document. With an anchor that forbids it, a key that exists is not minted again, and that is said. */
function compose(admission: Admission, body: SecretWriteDraft, existing: SecretValues): Composed {
  const values = new Map<string, SecretValue>();
  for (const [key, value] of Object.entries(body.values ?? {})) values.set(key, new SecretValue(value));
  const alterations: Alteration[] = [];
  const mayMintAgain = body.anchor === undefined || body.anchor === 'process';
  if (body.generate !== undefined) {
    for (const [key, minted] of mintSecrets(body.generate, admission.secrets.policy)) {
      const kept = mayMintAgain ? undefined : existing.get(key);
      values.set(key, kept ?? minted);
      if (kept !== undefined) {
        alterations.push({
          field: 'generate.keys',
          from: key,
          to: '(kept)',
          why: `${key} exists and its anchor is ${body.anchor}, so it is not minted again`,
        });
      }
    }
  }
  return { values, alterations };
}

export async function writeSecret(
  admission: Admission,
  caller: Caller,
  path: SecretPath,
  body: SecretWriteDraft,
  ifMatch?: IfMatch,
): Promise<Outcome> {
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
    const existing = await admission.secrets.store.read(tenant.tenantId, path);
    if (!existing.ok && existing.reason !== 'missing') return secretFailureRejection(existing, 'name');
    const before = existing.ok ? existing.values : new Map<string, SecretValue>();
    const expectedVersion = versionToExpect(existing);
    const outdated = revisionRejection(ifMatch, expectedVersion);
    if (outdated) return outdated;
    const { values, alterations } = compose(admission, body, before);
    const planned = await planDocuments(admission.secrets, tenant, [{ path, values, expectedVersion }]);
    const failed = await planned.apply();
    if (failed) return failed;
    const transaction = tenant.transaction();
    if (path.namespace !== REGISTRY_NAMESPACE) {
      const id = joinId(path.label);
      const claimed = tenant.get('secret-labels', id);
      transaction.expect('secret-labels', id, claimed);
      if (claimed?.record.namespace !== path.namespace)
        transaction.put('secret-labels', id, { namespace: path.namespace });
    }
    planned.include(transaction);
    const subject = { kind: 'Secret', name: secretPathText(path) } as const;
    admission.journal.audit(transaction, tenant.tenantId, caller, 'secret.written', subject);
    admission.journal.event(transaction, tenant.tenantId, {
      kind: 'secret.written',
      subject,
      message: `${subject.name} written: version ${expectedVersion + 1}`,
      details: { version: expectedVersion + 1, keys: [...values.keys()] },
    });
    const removed = [...before.keys()].filter((key) => !values.has(key)).map((key) => `keys[${key}]`);
    return {
      answer: {
        status: existing.ok ? 200 : 201,
        body: {
          path: secretPathText(path),
          keys: [...values.keys()].sort(),
          version: expectedVersion + 1,
          alterations,
          warnings: [],
          removed,
        },
      },
      transaction,
    };
  });
}

export async function readSecretMetadata(
  admission: Admission,
  caller: Caller,
  path: SecretPath,
): Promise<Outcome> {
  const malformed = secretPathRejection(admission.limits.secretPolicy.namespaces, path);
  if (malformed) return malformed;
  const metadata = await admission.secrets.store.metadata(caller.tenant.tenantId, path);
  if (isRejection(metadata)) return metadata;
  if (!metadata.ok) return secretFailureRejection(metadata, 'name');
  if (!metadata.exists) {
    return reject('secret_not_found', {
      field: 'name',
      received: received(path.label),
      why: `The tenant has no secret document at ${secretPathText(path)}.`,
    });
  }
  const { keys, version, createdAt, versions } = metadata;
  return {
    status: 200,
    body: {
      path: secretPathText(path),
      namespace: path.namespace,
      name: path.label,
      keys,
      version,
      createdAt,
      versions,
    },
  };
}

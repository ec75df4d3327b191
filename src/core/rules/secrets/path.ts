import type { SecretBearingDraft, SecretDraft } from '../../contract/secret-draft.ts';
import type { SecretPolicy } from '../../model/secret-limits.ts';
import { isDnsLabel, splitSecretPath, type SecretPath } from '../../model/secret-path.ts';
import { reject } from '../../rejections/reject.ts';
import type { Rejection } from '../../rejections/rejection.ts';
import { received } from '../../rejections/redaction.ts';

/** `vault_path` of one entry, in this order: required, relative, shape, namespace, name. */
export function checkVaultPath(
  vaultPath: string | undefined,
  field: string,
  policy: SecretPolicy,
): Rejection | undefined {
  const parts = { field, received: received(vaultPath) };
  if (vaultPath === undefined || vaultPath === '') {
    return reject('secret_vault_path_required', {
      ...parts,
      why: 'A secret entry is a reference, and without a path there is nothing to refer to.',
    });
  }
  if (vaultPath.startsWith('/') || vaultPath.split('/').includes('..')) {
    return reject('secret_vault_path_not_relative', {
      ...parts,
      why: "Paths are resolved inside the tenant's own mount, and neither a leading slash nor a .. element may leave it.",
    });
  }
  const path = splitSecretPath(vaultPath);
  if (path === undefined) {
    return reject('secret_path_shape', {
      ...parts,
      expected: `<namespace>/<label> with <namespace> one of ${policy.namespaces.join(', ')}`,
      why: 'A path has exactly two segments, and neither is empty.',
    });
  }
  return checkGranted(
    path,
    { namespace: field, label: field },
    { namespace: vaultPath, label: vaultPath },
    policy,
  );
}

function checkGranted(
  path: SecretPath,
  fields: SecretPath,
  shown: SecretPath,
  policy: SecretPolicy,
): Rejection | undefined {
  if (!policy.namespaces.includes(path.namespace)) {
    return reject('secret_path_namespace', {
      field: fields.namespace,
      received: received(shown.namespace),
      expected: `one of the granted namespaces: ${policy.namespaces.join(', ')}`,
      why: 'The secrets policy does not grant this namespace; the store would answer 403 when the container is created.',
    });
  }
  if (!isDnsLabel(path.label)) {
    return reject('secret_path_name', {
      field: fields.label,
      received: received(shown.label),
      why: 'The part after the namespace is a DNS label of 1-63 lowercase letters, digits and inner hyphens.',
    });
  }
  return undefined;
}

/** The path parameter of `/secrets/resources/{name}/consumers`, which names a label whatever its namespace. */
export function checkResourceName(name: string): Rejection | undefined {
  if (isDnsLabel(name)) return undefined;
  return reject('secret_path_shape', {
    field: 'resource',
    received: received(name),
    expected: 'the label of a vault_path: 1-63 lowercase letters, digits and inner hyphens',
    why: 'No secret path can end in this text.',
  });
}

/** One credential, one namespace: within the spec, where the first entry of a label decides. */
export function checkSplitWithin(
  entry: SecretDraft,
  index: number,
  namespaceOfLabel: ReadonlyMap<string, string>,
): Rejection | undefined {
  const path = splitSecretPath(entry.vault_path ?? '');
  const first = path && namespaceOfLabel.get(path.label);
  if (path === undefined || first === undefined || first === path.namespace) return undefined;
  return splitRejection(index, path, first, 'this deployment');
}

/** The same across the tenant. `namespaceOf` knows the namespace a label is already referenced or stored under elsewhere. */
export function checkSplitAcross(
  draft: SecretBearingDraft,
  namespaceOf: ReadonlyMap<string, string>,
): Rejection | undefined {
  for (const [index, entry] of (draft.secrets ?? []).entries()) {
    const path = splitSecretPath(entry.vault_path ?? '');
    const used = path && namespaceOf.get(path.label);
    if (path && used !== undefined && used !== path.namespace) {
      return splitRejection(index, path, used, 'this tenant');
    }
  }
  return undefined;
}

function splitRejection(index: number, path: SecretPath, used: string, where: string): Rejection {
  return reject('secret_path_namespace_split', {
    field: `secrets[${index}].vault_path`,
    received: received(`${path.namespace}/${path.label}`),
    expected: `${used}/${path.label}, or another label`,
    why: `${where} already refers to the credential ${path.label} in the namespace ${used}; a rotation of one would miss the other.`,
  });
}

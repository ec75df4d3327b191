import type { DeploymentDraft } from '../../contract/deployment-body.ts';
import type { SecretPolicy } from '../../model/secret-limits.ts';
import { splitSecretPath } from '../../model/secret-path.ts';
import { isSecretKey } from '../../model/secret-template.ts';

/** What to write instead of a credential in clear, so that the workload sees the same variable. */
export interface CredentialHint {
  /** JSON to paste into the body. */
  readonly fields: string;
  readonly path: string;
  readonly key: string;
}

const OWN_NAMESPACE = 'deployments';
const ENTRY_NAME = /^[A-Za-z0-9_]+$/;

/** `DB_PASSWORD` is delivered by the entry `DB` with the key `PASSWORD`; what has no such split is composed. */
function split(variable: string): { readonly name: string; readonly key: string } | undefined {
  const at = variable.lastIndexOf('_');
  const [name, key] = [variable.slice(0, at), variable.slice(at + 1)];
  return at > 0 && ENTRY_NAME.test(name) && isSecretKey(key) ? { name, key } : undefined;
}

function unusedName(wanted: string, entries: NonNullable<DeploymentDraft['secrets']>): string {
  const taken = new Set(entries.map(({ name }) => name));
  let name = wanted;
  for (let count = 2; taken.has(name); count += 1) name = `${wanted}_${count}`;
  return name;
}

function entryText(name: string, path: string): string {
  return `{"name": "${name}", "vault_path": "${path}", "anchor": "external", "rotation": "restart"}`;
}

/** In a namespace that is granted: the label's own, if the draft refers to it already, as one label lives in one namespace. */
function documentPath(draft: DeploymentDraft, { namespaces }: SecretPolicy): string {
  const label = draft.name ?? '<name>';
  const known = (draft.secrets ?? []).find(
    ({ vault_path }) => splitSecretPath(vault_path ?? '')?.label === label,
  );
  const granted = namespaces.includes(OWN_NAMESPACE) ? OWN_NAMESPACE : (namespaces[0] ?? OWN_NAMESPACE);
  return known?.vault_path ?? `${granted}/${label}`;
}

export function credentialHint(
  variable: string,
  draft: DeploymentDraft,
  policy: SecretPolicy,
): CredentialHint {
  const entries = draft.secrets ?? [];
  const path = documentPath(draft, policy);
  const parts = split(variable);
  const same = parts && entries.find(({ name }) => name === parts.name);
  if (parts !== undefined && (same === undefined || same.vault_path === path)) {
    return { fields: `{"secrets": [${entryText(parts.name, path)}]}`, path, key: parts.key };
  }
  const key = variable.replace(/[^A-Za-z0-9_]/g, '_').replace(/^(?=\d)/, '_');
  const label = splitSecretPath(path)?.label ?? '<name>';
  const name = unusedName('SECRET', entries);
  const composed = `"composedEnvironment": {"${key}": "{{secret.${label}.${key}}}"}`;
  return { fields: `{"secrets": [${entryText(name, path)}], ${composed}}`, path, key };
}

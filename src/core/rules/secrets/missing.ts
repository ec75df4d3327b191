import { generatedKeys, type SecretBearingDraft } from '../../contract/secret-draft.ts';
import type { Warning } from '../../model/announcement.ts';
import { splitSecretPath } from '../../model/secret-path.ts';
import { parseTemplate } from '../../model/secret-template.ts';
import type { SigningKey } from '../../model/webhook.ts';
import { memberField } from '../../rejections/redaction.ts';
import type { KnownKeys } from './collision.ts';

/** The keys that the documents of a draft will hold once it is stored; a path without a document is absent. */
export function keysAfter(
  draft: SecretBearingDraft,
  known: KnownKeys,
): ReadonlyMap<string, ReadonlySet<string>> {
  const after = new Map([...known].map(([path, keys]) => [path, new Set(keys)]));
  for (const { vault_path = '', values, generate } of draft.secrets ?? []) {
    const sent = [...Object.keys(values ?? {}), ...generatedKeys(generate).keys()];
    if (sent.length > 0) after.set(vault_path, new Set([...(after.get(vault_path) ?? []), ...sent]));
  }
  return after;
}

/** A reference may be stored before its document; until both are there no container is made, so that is said at once. */
export function missingReferenceWarnings(draft: SecretBearingDraft, known: KnownKeys): readonly Warning[] {
  if ((draft.secrets ?? []).length === 0) return [];
  const after = keysAfter(draft, known);
  const warnings: Warning[] = [];
  const pathOf = new Map<string, string>();
  for (const [index, { vault_path = '' }] of (draft.secrets ?? []).entries()) {
    pathOf.set(splitSecretPath(vault_path)?.label ?? '', vault_path);
    if (after.has(vault_path)) continue;
    const why = `There is no document ${vault_path} yet; until it is written no container is created.`;
    warnings.push({ code: 'secret_missing', field: `secrets[${index}].vault_path`, why });
  }
  for (const [variable, template] of Object.entries(draft.composedEnvironment ?? {})) {
    const parsed = parseTemplate(template);
    for (const part of parsed.ok ? parsed.parts : []) {
      const path = typeof part === 'string' ? undefined : pathOf.get(part.resource);
      const keys = path === undefined ? undefined : after.get(path);
      if (typeof part === 'string' || keys === undefined || keys.has(part.key)) continue;
      const why = `${path} has no key ${part.key}, which ${variable} needs; until it is written no container is created.`;
      warnings.push({ code: 'secret_key_missing', field: memberField('composedEnvironment', variable), why });
    }
  }
  return warnings;
}

/** Of a webhook: without the key nothing is sent. */
export function missingSigningKeyWarnings(
  { vault_path, key }: SigningKey,
  known: KnownKeys,
): readonly Warning[] {
  const keys = known.get(vault_path);
  if (keys === undefined) {
    const why = `There is no document ${vault_path} yet; until it is written nothing is sent.`;
    return [{ code: 'secret_missing', field: 'signing.vault_path', why }];
  }
  if (keys.includes(key)) return [];
  const why = `${vault_path} has no key ${key}; until it is written nothing is sent.`;
  return [{ code: 'secret_key_missing', field: 'signing.key', why }];
}

import type { SecretBearingDraft } from '../../contract/secret-draft.ts';
import { splitSecretPath } from '../../model/secret-path.ts';
import { isSecretKey, parseTemplate, templateReferences } from '../../model/secret-template.ts';
import { reject } from '../../rejections/reject.ts';
import type { Rejection } from '../../rejections/rejection.ts';
import { memberField, redacted } from '../../rejections/redaction.ts';

const MAX_NAMED = 20;

/** Composed templates: empty, malformed, no reference, undeclared resource. A template is never echoed. */
export function checkComposed(draft: SecretBearingDraft): Rejection | undefined {
  if (draft.composedEnvironment === undefined) return undefined;
  const labels = new Set(
    (draft.secrets ?? []).flatMap((entry) => splitSecretPath(entry.vault_path ?? '')?.label ?? []),
  );
  for (const [variable, template] of Object.entries(draft.composedEnvironment)) {
    const rejection = checkVariable(variable) ?? checkTemplate(variable, template, labels);
    if (rejection !== undefined) return rejection;
  }
  return undefined;
}

function checkVariable(variable: string): Rejection | undefined {
  if (isSecretKey(variable)) return undefined;
  return reject('secret_key_invalid', {
    field: memberField('composedEnvironment', variable),
    received: redacted(variable),
    why: 'The key of composedEnvironment is the name of the environment variable it is delivered as.',
  });
}

function checkTemplate(
  variable: string,
  template: string,
  labels: ReadonlySet<string>,
): Rejection | undefined {
  const parts = { field: memberField('composedEnvironment', variable), received: redacted(template) };
  if (template === '') {
    return reject('secret_compose_template_empty', { ...parts, why: 'The template has no text.' });
  }
  const parsed = parseTemplate(template);
  if (!parsed.ok) {
    return reject('secret_compose_template_malformed', {
      ...parts,
      why: 'A {{ opens something that is not a placeholder; it would reach the workload as it stands.',
    });
  }
  const references = templateReferences(parsed.parts);
  if (references.length === 0) {
    return reject('secret_compose_no_reference', {
      ...parts,
      why: 'A template without a placeholder is a constant and belongs in environment.',
    });
  }
  const foreign = references.find((reference) => !labels.has(reference.resource));
  if (foreign === undefined) return undefined;
  return reject('secret_compose_resource_undeclared', {
    ...parts,
    expected:
      labels.size === 0
        ? 'a resource that secrets declares; this deployment declares none'
        : `one of the declared resources: ${[...labels].slice(0, MAX_NAMED).join(', ')}`,
    why: `No entry of secrets has a vault_path that ends in ${foreign.resource}.`,
  });
}

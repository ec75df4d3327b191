import { memberField, redacted } from '../rejections/redaction.ts';
import { reject } from '../rejections/reject.ts';
import type { Rejection } from '../rejections/rejection.ts';
import { detectCredential } from './credentials/detect.ts';
import type { DeploymentInput } from './rule.ts';

const VARIABLE = /^[A-Za-z_][A-Za-z0-9_.-]*$/;
const MAX_VARIABLE_LENGTH = 256;

/** What is no name may be a whole `NAME=value` line, so it is not echoed. */
function variableNameRule(key: string): Rejection | undefined {
  if (key.length <= MAX_VARIABLE_LENGTH && VARIABLE.test(key)) return undefined;
  return reject('environment_invalid', {
    field: memberField('environment', key),
    received: redacted(key),
    why: 'A variable name starts with a letter or underscore and holds letters, digits, underscores, dots and hyphens only.',
  });
}

/** Spec 7.1: constants only. What is printed to paste names the deployment's own path, never the value. */
export function environmentRule({ draft }: DeploymentInput): Rejection | undefined {
  for (const [key, value] of Object.entries(draft.environment ?? {})) {
    const name = variableNameRule(key);
    if (name) return name;
    const finding = detectCredential(key, value);
    if (finding) {
      const prefix = key.toUpperCase().replace(/[^A-Z0-9_]/g, '_');
      return reject('plaintext_credential_in_environment', {
        field: `environment.${key}`,
        received: redacted(value),
        expected: `a secrets entry instead: {"name": "${prefix}", "vault_path": "deployments/${draft.name ?? '<name>'}", "anchor": "external", "rotation": "restart"}`,
        why: `${finding.why} Write the value with PUT /api/v1/secrets/deployments/${draft.name ?? '<name>'} and reference it.`,
      });
    }
  }
  return undefined;
}

import { parseTemplate } from '../model/secret-template.ts';
import { memberField, received, redacted } from '../rejections/redaction.ts';
import { reject } from '../rejections/reject.ts';
import type { Rejection } from '../rejections/rejection.ts';
import { type CredentialFinding, detectCredential, detectInText } from './credentials/detect.ts';
import { credentialHint } from './credentials/hint.ts';
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

export function inClear(
  field: string,
  variable: string,
  value: string,
  finding: CredentialFinding,
  { draft, limits }: DeploymentInput,
): Rejection {
  const { fields, path, key } = credentialHint(variable, draft, limits.secretPolicy);
  return reject('plaintext_credential_in_environment', {
    field,
    received: redacted(value),
    expected: `a reference to the secrets store instead; add ${fields}`,
    why: `${finding.why} Write the value with PUT /api/v1/secrets/${path} {"values": {"${key}": …}} and reference it.`,
  });
}

const MAX_PASTED = 512;

/** A placeholder is filled in by `composedEnvironment` only; here it would reach the workload as it stands. */
function placeholderRule(key: string, value: string): Rejection | undefined {
  if (!/\{\{\s*secret\b/.test(value)) return undefined;
  // Asked after the detector: what is left in the text is no credential, and may be shown to be pasted.
  const template =
    parseTemplate(value).ok && value.length <= MAX_PASTED ? value : '{{secret.<resource>.<key>}}';
  return reject('environment_invalid', {
    field: `environment.${key}`,
    received: redacted(value),
    expected: `a composedEnvironment entry instead: {"composedEnvironment": {${JSON.stringify(key)}: ${JSON.stringify(template)}}}`,
    why: 'environment holds constants, and nothing in it is filled in: the workload would see the placeholder itself.',
  });
}

/** Constants only. What is printed to paste names the deployment's own path, never the value. */
export function environmentRule(input: DeploymentInput): Rejection | undefined {
  for (const [key, value] of Object.entries(input.draft.environment ?? {})) {
    const name = variableNameRule(key);
    if (name) return name;
    const finding = detectCredential(key, value);
    if (finding) return inClear(`environment.${key}`, key, value, finding, input);
    const placeholder = placeholderRule(key, value);
    if (placeholder) return placeholder;
  }
  return undefined;
}

/** A literal that the key's name alone would make a credential: long enough, and letters and digits mixed, unlike `Bearer `. */
const TELLING_LITERAL = /^(?=\S*[A-Za-z])(?=\S*\d)\S{6,}$/;

/** The literal text of templates is stored in clear like a constant. */
export function composedLiteralsRule(input: DeploymentInput): Rejection | undefined {
  for (const [variable, template] of Object.entries(input.draft.composedEnvironment ?? {})) {
    const parsed = parseTemplate(template);
    const literals = parsed.ok ? parsed.parts.filter((part) => typeof part === 'string') : [template];
    const finding =
      detectInText(variable, template) ??
      literals
        .map((part) => part.trim())
        .filter((part) => TELLING_LITERAL.test(part))
        .map((part) => detectCredential(variable, part))
        .find((found) => found !== undefined);
    if (finding)
      return inClear(memberField('composedEnvironment', variable), variable, template, finding, input);
  }
  return undefined;
}

/** One argument, or an option with the argument behind it: `--password`, `hunter2`. */
function argumentFinding(args: readonly string[], index: number): CredentialFinding | undefined {
  const word = args[index] ?? '';
  const found = detectInText('ARGUMENT', word);
  const next = args[index + 1];
  if (found || next === undefined || !/^--?[A-Za-z][\w.-]*$/.test(word)) return found;
  // A finding in the next argument alone is reported for that one.
  return detectInText('ARGUMENT', next) ? undefined : detectInText('ARGUMENT', `${word} ${next}`);
}

/** A command as it was sent, unless an argument of it is a credential. */
export function shownArguments(args: readonly string[]): string {
  return args.some((_, index) => argumentFinding(args, index)) ? redacted(args) : received(args);
}

/** `input`: for what a reference to paste would be named. */
export function wordsRule(
  field: string,
  args: readonly string[] | undefined,
  input: DeploymentInput,
): Rejection | undefined {
  for (const index of (args ?? []).keys()) {
    const finding = argumentFinding(args ?? [], index);
    if (!finding) continue;
    const option = /^--?([A-Za-z][\w-]*)/.exec(args?.[index] ?? '')?.[1] ?? 'PASSWORD';
    const variable = `APP_${option.toUpperCase().replace(/[^A-Z0-9]/g, '_')}`;
    return inClear(`${field}[${index}]`, variable, args?.[index] ?? '', finding, input);
  }
  return undefined;
}

/** Arguments are stored in clear, and every process of the machine can read them. */
export function commandArgumentsRule(input: DeploymentInput): Rejection | undefined {
  return wordsRule('command', input.draft.command, input);
}

export function healthCheckArgumentsRule(input: DeploymentInput): Rejection | undefined {
  return wordsRule('healthCheck.command', input.draft.healthCheck?.command, input);
}

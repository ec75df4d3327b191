import type { Workload, SecretReference } from '../model/deployment.ts';
import { splitSecretPath } from '../model/secret-path.ts';
import { isSecretKey, parseTemplate } from '../model/secret-template.ts';
import { SecretValue } from '../model/secret-value.ts';

export type DeliveringSpec = Pick<Workload, 'secrets' | 'environment' | 'composedEnvironment'>;

export type SecretKeys = ReadonlyMap<string, SecretValue>;

/** The documents of one entry; `next` and `previous` only during a rotation's overlap. */
export interface EntryDocuments {
  readonly current: SecretKeys;
  readonly next?: SecretKeys;
  readonly previous?: SecretKeys;
}

/** Names paths and keys, never values. */
export interface DeliveryFailure {
  readonly ok: false;
  readonly reason: 'missing_document' | 'missing_key' | 'undeliverable' | 'collision';
  readonly message: string;
}

export type Delivery =
  | { readonly ok: true; readonly env: ReadonlyMap<string, SecretValue> }
  | DeliveryFailure;

/** Suffixes during the overlap. */
const SUFFIXES = { current: '', next: '_NEXT', previous: '_PREVIOUS' } as const;
type Role = keyof typeof SUFFIXES;
const ROLES = ['current', 'next', 'previous'] as const;

/**
 * The variables made from secrets, by name: `NAME_key` for every key of each entry's document, and the composed templates.
 * `environment` is not part of the answer, but nothing may hide one of its constants. All or nothing (fails closed).
 */
export function planDelivery(spec: DeliveringSpec, documents: ReadonlyMap<string, EntryDocuments>): Delivery {
  const env = new Map<string, SecretValue>();
  const taken = new Set(Object.keys(spec.environment ?? {}));
  for (const entry of spec.secrets) {
    const found = documents.get(entry.name);
    if (found === undefined) return missingDocument(entry);
    const failure = checkComplete(entry, found) ?? deliverEntry(entry, found, env, taken);
    if (failure !== undefined) return failure;
  }
  for (const [variable, template] of Object.entries(spec.composedEnvironment ?? {})) {
    for (const role of ROLES) {
      const composed = expand(variable, template, spec.secrets, documents, role);
      if (composed === undefined) continue;
      if (!(composed instanceof SecretValue)) return composed;
      const name = `${variable}${SUFFIXES[role]}`;
      const failed = checkDeliverable(name, composed) ?? claimed(name, composed, env, taken);
      if (failed !== undefined) return failed;
    }
  }
  return { ok: true, env };
}

function deliverEntry(
  entry: SecretReference,
  found: EntryDocuments,
  env: Map<string, SecretValue>,
  taken: Set<string>,
): DeliveryFailure | undefined {
  for (const role of ROLES) {
    for (const [key, value] of found[role] ?? []) {
      const variable = variableName(entry.name, key, role);
      const failed = checkDeliverable(variable, value) ?? claimed(variable, value, env, taken);
      if (failed !== undefined) return failed;
    }
  }
  return undefined;
}

export function variableName(name: string, key: string, role: Role = 'current'): string {
  return `${name}_${key}${SUFFIXES[role]}`;
}

/**
 * A document without keys, with an empty value or with a key that is no key is partial. So is a `next` that lacks a key in
 * use: the workload would lose it with `promote`.
 */
function checkComplete(entry: SecretReference, found: EntryDocuments): DeliveryFailure | undefined {
  for (const role of ROLES) {
    const document = found[role];
    if (document === undefined) continue;
    if (document.size === 0) return missingKey(entry.vault_path, '(any)', 'the document holds no key');
    for (const [key, value] of document) {
      if (!isSecretKey(key))
        return missingKey(entry.vault_path, '(unnamed)', 'a key of the document is no variable name');
      if (value.reveal() === '') return missingKey(entry.vault_path, key, 'its value is empty');
    }
  }
  const lost = found.next && [...found.current.keys()].find((key) => !found.next?.has(key));
  return lost === undefined ? undefined : missingKey(entry.vault_path, lost, 'the staged version lacks it');
}

/**
 * Literal text and values are joined once; a value that looks like a placeholder stays as it is. Undefined: no
 * document of the template has a version of this role.
 */
function expand(
  variable: string,
  template: string,
  secrets: readonly SecretReference[],
  documents: ReadonlyMap<string, EntryDocuments>,
  role: Role,
): SecretValue | DeliveryFailure | undefined {
  const parsed = parseTemplate(template);
  if (!parsed.ok) {
    return { ok: false, reason: 'missing_key', message: `the template of ${variable} is malformed` };
  }
  const pieces: string[] = [];
  let isOfRole = role === 'current';
  for (const part of parsed.parts) {
    if (typeof part === 'string') {
      pieces.push(part);
      continue;
    }
    const entry = secrets.find((candidate) => splitSecretPath(candidate.vault_path)?.label === part.resource);
    const found = entry && documents.get(entry.name);
    const document = found?.[role] ?? found?.current;
    isOfRole ||= found?.[role] !== undefined;
    if (entry === undefined || document === undefined) {
      return {
        ok: false,
        reason: 'missing_document',
        message: `${variable} refers to ${part.resource}, which no secret entry declares`,
      };
    }
    // What the other version does not hold is no reason to lose the container: the template itself has it.
    const value = document.get(part.key) ?? (role === 'current' ? undefined : found?.current.get(part.key));
    if (value === undefined) return missingKey(entry.vault_path, part.key, `${variable} refers to it`);
    pieces.push(value.reveal());
  }
  return isOfRole ? new SecretValue(pieces.join('')) : undefined;
}

/** Linux takes `NAME=value` with its end mark in 32 pages, and a value ends at its first NUL. */
const VARIABLE_MAX_BYTES = 131_072;

/** Written outside Berth: what no container can take is refused here, instead of by an engine that cannot start it. */
function checkDeliverable(variable: string, value: SecretValue): DeliveryFailure | undefined {
  const text = value.reveal();
  const bytes = new TextEncoder().encode(text).byteLength + variable.length + 2;
  if (text.includes('\0')) return undeliverable(variable, 'its value holds a NUL character');
  if (bytes > VARIABLE_MAX_BYTES)
    return undeliverable(variable, `it has ${bytes} bytes, and at most ${VARIABLE_MAX_BYTES} are possible`);
  return undefined;
}

function undeliverable(variable: string, why: string): DeliveryFailure {
  return {
    ok: false,
    reason: 'undeliverable',
    message: `the variable ${variable} cannot be given to a container: ${why}`,
  };
}

function claimed(
  variable: string,
  value: SecretValue,
  env: Map<string, SecretValue>,
  taken: Set<string>,
): DeliveryFailure | undefined {
  if (taken.has(variable)) {
    return {
      ok: false,
      reason: 'collision',
      message: `the variable ${variable} is delivered by two sources; one would hide the other`,
    };
  }
  taken.add(variable);
  env.set(variable, value);
  return undefined;
}

function missingDocument(entry: SecretReference): DeliveryFailure {
  return {
    ok: false,
    reason: 'missing_document',
    message: `${entry.vault_path} (${entry.name}) was not read`,
  };
}

function missingKey(path: string, key: string, why: string): DeliveryFailure {
  return { ok: false, reason: 'missing_key', message: `${path} lacks the key ${key}: ${why}` };
}

import { findAddressPassword } from './address.ts';
import { findEmbeddedAssignment } from './assignment.ts';
import { findInEncoded } from './encoded.ts';
import type { CredentialFinding, CredentialRule } from './finding.ts';
import { findIssuedToken } from './issued-tokens.ts';
import { keyWords } from './key-words.ts';
import { findByKey } from './named-key.ts';
import { findPrivateKey } from './private-key.ts';
import { findWebToken } from './web-token.ts';

export type { CredentialFinding } from './finding.ts';

/** What is a credential whatever the key is called; the most telling first. */
const VALUE_RULES: readonly CredentialRule[] = [
  findPrivateKey,
  findIssuedToken,
  findWebToken,
  findAddressPassword,
  findEmbeddedAssignment,
];

const TEXT_RULES: readonly CredentialRule[] = [...VALUE_RULES, (pair) => findInEncoded(VALUE_RULES, pair)];

/** All rules in the order in which they are asked: the shape of a value tells more than the name of its key. */
const RULES: readonly CredentialRule[] = [...TEXT_RULES, findByKey];

/**
 * Whether a text that names no key of its own holds a credential: an argument of a command, the literal text of a template. What only
 * the name of a key would tell is not looked for.
 */
export function detectInText(key: string, text: string): CredentialFinding | undefined {
  return firstFinding(TEXT_RULES, key, text);
}

/** Whether a pair of `environment` is a plaintext credential. */
export function detectCredential(key: string, value: string): CredentialFinding | undefined {
  return firstFinding(RULES, key, value);
}

function firstFinding(
  rules: readonly CredentialRule[],
  key: string,
  value: string,
): CredentialFinding | undefined {
  if (value === '') return undefined;
  const pair = { key, value, words: keyWords(key) };
  for (const rule of rules) {
    const finding = rule(pair);
    if (finding !== undefined) return finding;
  }
  return undefined;
}

import type { CredentialFinding, CredentialRule, EnvironmentPair } from './finding.ts';

const MIN_LENGTH = 24;
const MAX_LENGTH = 65_536;
const BASE64 = /^[A-Za-z0-9+/]+={0,2}$/;
const PRINTABLE = /^[\t\n\r\x20-\x7e]+$/;

/** The text inside a value that is base64 of text. */
export function decodedText(value: string): string | undefined {
  if (value.length < MIN_LENGTH || value.length > MAX_LENGTH) return undefined;
  const joined = value.replace(/\s+/g, '');
  const bare = joined.replace(/={1,2}$/, '');
  if (!BASE64.test(joined) || bare.length % 4 === 1) return undefined;
  const text = atob(bare);
  return PRINTABLE.test(text) ? text : undefined;
}

/** Asks the rules for values again about what was encoded, one level deep: encoding hides nothing. */
export function findInEncoded(
  rules: readonly CredentialRule[],
  pair: EnvironmentPair,
): CredentialFinding | undefined {
  const value = decodedText(pair.value);
  if (value === undefined) return undefined;
  for (const rule of rules) {
    const finding = rule({ ...pair, value });
    if (finding !== undefined) return finding;
  }
  return undefined;
}

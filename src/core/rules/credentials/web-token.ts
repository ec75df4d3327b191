import type { CredentialFinding, EnvironmentPair } from './finding.ts';

const JWT: CredentialFinding = { rule: 'json_web_token', why: 'The value holds a signed JSON Web Token.' };
const AUTHORIZATION: CredentialFinding = {
  rule: 'authorization_header',
  why: 'The value holds the credentials of an Authorization header.',
};

// Header and payload are JSON objects, so both start with the encoding of `{"`. Each part ends at a dot and the
// start may not be inside a run of the same characters, so no character is looked at more than a few times.
const SIGNED = /(?<![A-Za-z0-9_-])ey[A-Za-z0-9_-]{10,}\.ey[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{10}/;
const BEARER =
  /(?<![A-Za-z0-9])(?:[Bb]earer|BEARER)\s{1,4}(?=[A-Za-z._~+/=-]{0,64}[0-9])[A-Za-z0-9._~+/=-]{16}/;
const BASIC = /(?<![A-Za-z0-9])(?:[Bb]asic|BASIC)\s{1,4}([A-Za-z0-9+/]{6,512}={0,2})(?![A-Za-z0-9])/g;
const MAX_BASIC_LOOKS = 64;

function isBasicCredential(encoded: string): boolean {
  const bare = encoded.replace(/=+$/, '');
  return bare.length % 4 !== 1 && /^[\x20-\x7e]+:[\x20-\x7e]+$/.test(atob(bare));
}

export function findWebToken({ value }: EnvironmentPair): CredentialFinding | undefined {
  if (value.length < 12) return undefined;
  if (SIGNED.test(value)) return JWT;
  if (BEARER.test(value)) return AUTHORIZATION;
  let looks = 0;
  for (const [, encoded = ''] of value.matchAll(BASIC)) {
    if (isBasicCredential(encoded)) return AUTHORIZATION;
    looks += 1;
    if (looks === MAX_BASIC_LOOKS) break;
  }
  return undefined;
}

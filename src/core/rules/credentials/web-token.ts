import type { CredentialFinding, EnvironmentPair } from './finding.ts';
import type { PrefixedForm } from './token-scan.ts';

export const JWT: CredentialFinding = {
  rule: 'json_web_token',
  why: 'The value holds a signed JSON Web Token.',
};
export const AUTHORIZATION: CredentialFinding = {
  rule: 'authorization_header',
  why: 'The value holds the credentials of an Authorization header.',
};

function isBasicCredential(encoded: string): boolean {
  const bare = encoded.replace(/={1,2}$/, '');
  return bare.length % 4 !== 1 && /^[\x20-\x7e][\x20-\x39\x3b-\x7e]*:[\x20-\x7e]+$/.test(atob(bare));
}

/** Looked for in the same pass as the tokens of issuers. */
export const AUTHORIZATION_FORMS: readonly PrefixedForm<CredentialFinding>[] = [
  {
    prefixes: ['Bearer ', 'bearer ', 'BEARER '],
    // A digit tells a token from the words of a sentence.
    pattern: /[A-Za-z]{6} {1,4}(?=[A-Za-z._~+/=-]{0,64}[0-9])[A-Za-z0-9._~+/=-]{16}/y,
    found: AUTHORIZATION,
  },
  {
    prefixes: ['Basic ', 'basic ', 'BASIC '],
    pattern: /[A-Za-z]{5} {1,4}([A-Za-z0-9+/]{6,256}={0,2})(?![A-Za-z0-9])/y,
    found: AUTHORIZATION,
    accepts: isBasicCredential,
  },
];

// The encodings of `{"` and, as some issuers indent the payload, of `{` with anything behind it.
const HEADER_START = 'eyJ';
const PAYLOAD_START = 'ey';
const RUN = /[A-Za-z0-9_-]*/y;

function runEnd(text: string, at: number): number {
  RUN.lastIndex = at;
  RUN.test(text);
  return RUN.lastIndex;
}

/** The search goes on behind each part that was read, so every character is read once. */
function holdsSignedToken(text: string): boolean {
  let at = text.indexOf(HEADER_START);
  while (at !== -1) {
    const header = runEnd(text, at);
    if (header - at >= 12 && text[header] === '.' && text.startsWith(PAYLOAD_START, header + 1)) {
      const payload = runEnd(text, header + 1);
      if (text[payload] === '.' && runEnd(text, payload + 1) - payload > 10) return true;
    }
    at = text.indexOf(HEADER_START, header);
  }
  return false;
}

export function findWebToken({ value }: EnvironmentPair): CredentialFinding | undefined {
  return holdsSignedToken(value) ? JWT : undefined;
}

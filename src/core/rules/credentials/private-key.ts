import type { CredentialFinding, EnvironmentPair } from './finding.ts';

export const PRIVATE_KEY: CredentialFinding = {
  rule: 'private_key',
  why: 'The value holds a private key.',
};

const SHORTEST = 28;
const PEM_LABEL = 'PRIVATE KEY';
const PEM_BEGIN = /-----BEGIN ?(?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY$/;
const MAX_LABEL = 64;
// `-----BEGIN ` in base64.
const ENCODED_BEGIN = 'LS0tLS1CRUdJTi';
// A bundle may hold certificates before the key and prose may speak of private keys, so several are looked at.
const MAX_LOOKS = 1_000;

function someOccurrence(text: string, part: string, accepts: (at: number) => boolean): boolean {
  let at = text.indexOf(part);
  for (let looks = 0; at !== -1 && looks < MAX_LOOKS; looks += 1) {
    if (accepts(at)) return true;
    at = text.indexOf(part, at + part.length);
  }
  return false;
}

function holdsPem(text: string): boolean {
  return someOccurrence(text, PEM_LABEL, (at) => {
    const end = at + PEM_LABEL.length;
    return PEM_BEGIN.test(text.slice(Math.max(0, end - MAX_LABEL), end));
  });
}

function holdsEncodedPem(text: string): boolean {
  return someOccurrence(text, ENCODED_BEGIN, (at) => {
    const encoded = text.slice(at, at + MAX_LABEL).replace(/[^A-Za-z0-9+/]/g, '');
    return holdsPem(atob(encoded.slice(0, encoded.length - (encoded.length % 4))));
  });
}

export function findPrivateKey({ value }: EnvironmentPair): CredentialFinding | undefined {
  if (value.length < SHORTEST) return undefined;
  const found =
    holdsPem(value) ||
    holdsEncodedPem(value) ||
    value.includes('PuTTY-User-Key-File-') ||
    value.includes('AGE-SECRET-KEY-1');
  return found ? PRIVATE_KEY : undefined;
}

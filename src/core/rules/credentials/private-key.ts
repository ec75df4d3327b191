import type { CredentialFinding, EnvironmentPair } from './finding.ts';

const PRIVATE_KEY: CredentialFinding = {
  rule: 'private_key',
  why: 'The value holds a private key.',
};

const PEM = /-----BEGIN ?(?:[A-Z0-9]{1,16} ){0,3}PRIVATE KEY/;
const PUTTY = /PuTTY-User-Key-File-\d/;
const AGE = /AGE-SECRET-KEY-1[0-9A-Z]{50}/;
// `-----BEGIN ` in base64; a bundle may hold public parts first, so a few are looked at.
const ENCODED_BEGIN = 'LS0tLS1CRUdJTi';
const MAX_ENCODED_LOOKS = 256;
const ENCODED_LABEL_LENGTH = 64;

function decodesToPrivateKey(encoded: string): boolean {
  const whole = encoded.replace(/[^A-Za-z0-9+/]/g, '');
  return PEM.test(atob(whole.slice(0, whole.length - (whole.length % 4))));
}

function holdsEncodedKey(value: string): boolean {
  let at = value.indexOf(ENCODED_BEGIN);
  for (let looks = 0; at !== -1 && looks < MAX_ENCODED_LOOKS; looks += 1) {
    if (decodesToPrivateKey(value.slice(at, at + ENCODED_LABEL_LENGTH))) return true;
    at = value.indexOf(ENCODED_BEGIN, at + ENCODED_BEGIN.length);
  }
  return false;
}

export function findPrivateKey({ value }: EnvironmentPair): CredentialFinding | undefined {
  if (value.length < 28) return undefined;
  const found = PEM.test(value) || PUTTY.test(value) || AGE.test(value) || holdsEncodedKey(value);
  return found ? PRIVATE_KEY : undefined;
}

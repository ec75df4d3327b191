import { isOneOf, keysOf } from './values.ts';

/** Text forms of random bytes (`generate.encoding`). */
export const SECRET_ENCODINGS = ['base64url', 'base64', 'hex'] as const;
export type SecretEncoding = (typeof SECRET_ENCODINGS)[number];

const ALPHANUMERIC = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

/** Alphabets of `generate.charset`; the order of the keys is the order shown to people. */
export const SECRET_ALPHABETS = {
  alphanumeric: ALPHANUMERIC,
  lowercase: 'abcdefghijklmnopqrstuvwxyz0123456789',
  symbols: `${ALPHANUMERIC}!#%*+-.:=?@_~`,
} as const;
export type SecretCharset = keyof typeof SECRET_ALPHABETS;
export const SECRET_CHARSETS: readonly SecretCharset[] = keysOf(SECRET_ALPHABETS);

export const DEFAULT_ENCODING: SecretEncoding = 'base64url';
export const DEFAULT_CHARSET: SecretCharset = 'alphanumeric';

/** Each is a key of the configuration. */
export interface SecretPolicy {
  /** Namespaces the secrets policy grants to workloads. */
  readonly namespaces: readonly string[];
  /** Entries of one spec: a container waits for all of them. */
  readonly entriesMax: number;
  readonly valueMaxBytes: number;
  /** All values of one document together: it has to fit into one write of either store. */
  readonly documentMaxBytes: number;
  readonly bytesMin: number;
  readonly bytesMax: number;
  readonly bytesDefault: number;
  readonly encodedMaxChars: number;
  readonly lengthMax: number;
  readonly entropyFloorBits: number;
}

export const DEFAULT_SECRET_POLICY: SecretPolicy = {
  namespaces: ['deployments', 'resources'],
  entriesMax: 64,
  valueMaxBytes: 65_536,
  documentMaxBytes: 524_288,
  bytesMin: 16,
  bytesMax: 1_024,
  bytesDefault: 32,
  encodedMaxChars: 1_024,
  lengthMax: 1_024,
  entropyFloorBits: 128,
};

/** Characters of the text that `bytes` random bytes are rendered as. */
export function encodedLength(bytes: number, encoding: SecretEncoding): number {
  switch (encoding) {
    case 'hex':
      return bytes * 2;
    case 'base64':
      return Math.ceil(bytes / 3) * 4;
    case 'base64url':
      return Math.ceil((bytes * 4) / 3);
  }
}

/** Bits of `length` characters drawn uniformly and independently from the alphabet. */
export function drawnEntropyBits(length: number, charset: SecretCharset): number {
  return length * Math.log2(SECRET_ALPHABETS[charset].length);
}

export function isSecretEncoding(text: string): text is SecretEncoding {
  return isOneOf(SECRET_ENCODINGS, text);
}

export function isSecretCharset(text: string): text is SecretCharset {
  return isOneOf(SECRET_CHARSETS, text);
}

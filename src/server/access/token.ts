import { isOneOf } from '../../core/model/values.ts';
import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { TOKEN_KINDS, type TokenKind } from '../../core/model/tenant.ts';

const SECRET_BYTES = 32;
const TOKEN = /^berth_(pat|join|node)_([a-z0-9]{1,40})_([A-Za-z0-9_-]{43})_([0-9a-f]{8})$/;

export interface ParsedToken {
  readonly kind: TokenKind;
  readonly id: string;
  readonly secret: string;
}

function checksum(text: string): string {
  return crc32(text).toString(16).padStart(8, '0');
}

/** `berth_<kind>_<id>_<secret>_<checksum>`: scanners find it, and a typing error costs no look-up. */
export function mintToken(kind: TokenKind, id: string): { readonly token: string; readonly secret: string } {
  const secret = randomBytes(SECRET_BYTES).toString('base64url');
  const body = `berth_${kind}_${id}_${secret}`;
  return { token: `${body}_${checksum(body)}`, secret };
}

export function parseToken(text: string): ParsedToken | undefined {
  if (text.length > 256) return undefined;
  const match = TOKEN.exec(text);
  const [, kind, id, secret, sum] = match ?? [];
  if (kind === undefined || id === undefined || secret === undefined || sum === undefined) return undefined;
  if (checksum(text.slice(0, text.length - sum.length - 1)) !== sum) return undefined;
  return isOneOf(TOKEN_KINDS, kind) ? { kind, id, secret } : undefined;
}

/** Keyed, so that a copy of the store alone does not allow guessing; fast is right for 256 random bits. */
export function hashSecret(key: Buffer, secret: string): string {
  return createHmac('sha256', key).update(secret).digest('hex');
}

export function matchesHash(key: Buffer, secret: string, hash: string): boolean {
  const actual = Buffer.from(hashSecret(key, secret), 'hex');
  const expected = Buffer.from(hash, 'hex');
  return actual.length === expected.length && timingSafeEqual(actual, expected);
}

import { createCipheriv, createDecipheriv, type KeyObject, randomBytes } from 'node:crypto';

const ALGORITHM = 'aes-256-gcm';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
export const KEY_BYTES = 32;

/** Stored bytes do not belong where they were found, or are not what was stored. Says where, never what. */
export class SecretIntegrityError extends Error {
  override readonly name = 'SecretIntegrityError';
}

/**
 * What the bytes are bound to. It is authenticated and not stored, so that bytes copied to another tenant, path or version
 * do not open there. A JSON array, because joined text could be split in two ways.
 */
export type Binding = readonly (string | number)[];

function additionalData(binding: Binding): Buffer {
  return Buffer.from(JSON.stringify(binding), 'utf8');
}

/** nonce ‖ ciphertext ‖ tag, base64. The nonce is random: a data key seals one message, a tenant or root key far fewer than 2^32. */
export function seal(key: KeyObject, plaintext: Uint8Array, binding: Binding): string {
  const nonce = randomBytes(NONCE_BYTES);
  const cipher = createCipheriv(ALGORITHM, key, nonce, { authTagLength: TAG_BYTES });
  cipher.setAAD(additionalData(binding));
  const sealed = [nonce, cipher.update(plaintext), cipher.final(), cipher.getAuthTag()];
  return Buffer.concat(sealed).toString('base64');
}

export function open(key: KeyObject, sealed: string, binding: Binding): Buffer {
  const bytes = Buffer.from(sealed, 'base64');
  // Lenient decoding skips what is not base64; a changed character that decodes to the same bytes is still a change.
  if (bytes.length < NONCE_BYTES + TAG_BYTES || bytes.toString('base64') !== sealed) throw integrity(binding);
  const decipher = createDecipheriv(ALGORITHM, key, bytes.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  });
  decipher.setAAD(additionalData(binding));
  decipher.setAuthTag(bytes.subarray(-TAG_BYTES));
  const head = decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES));
  try {
    return Buffer.concat([head, decipher.final()]);
  } catch (cause) {
    throw integrity(binding, cause);
  }
}

function integrity(binding: Binding, cause?: unknown): SecretIntegrityError {
  return new SecretIntegrityError(`stored bytes failed their integrity check: ${binding.join(' ')}`, {
    cause,
  });
}

import { randomBytes } from 'node:crypto';
import {
  type GenerateDraft,
  generatedKeys,
  type KeyGenerateDraft,
} from '../../core/contract/secret-draft.ts';
import {
  DEFAULT_CHARSET,
  DEFAULT_ENCODING,
  isSecretCharset,
  isSecretEncoding,
  SECRET_ALPHABETS,
  type SecretCharset,
  type SecretPolicy,
} from '../../core/model/secret-limits.ts';
import { SecretValue } from '../../core/model/secret-value.ts';
import type { SecretValues } from './port.ts';

export type RandomSource = (bytes: number) => Uint8Array;

const BYTE_VALUES = 256;

/**
 * Mints every key of a block that the rules have accepted. The text exists in the returned wrappers and nowhere else.
 * A block the rules would refuse is a fault of the caller: weak material must not come out of a forgotten check.
 * `inService` is what the document holds now: a key with alternates takes the one after it.
 */
export function mintSecrets(
  block: GenerateDraft,
  policy: SecretPolicy,
  random: RandomSource = randomBytes,
  inService: SecretValues = new Map(),
): SecretValues {
  return mintKeys(generatedKeys(block), policy, inService, random);
}

/** The same for keys whose way of being made was kept from an earlier write. */
export function mintKeys(
  keys: ReadonlyMap<string, KeyGenerateDraft>,
  policy: SecretPolicy,
  inService: SecretValues,
  random: RandomSource = randomBytes,
): SecretValues {
  return new Map(
    [...keys].map(([key, one]) => [
      key,
      new SecretValue(
        one.alternate === undefined
          ? randomText(one, policy, random)
          : takeTurn(one.alternate, inService.get(key)),
      ),
    ]),
  );
}

/** The value after the one in service; the first, when none of them is. */
function takeTurn(alternates: readonly string[], inService: SecretValue | undefined): string {
  const at = inService === undefined ? -1 : alternates.indexOf(inService.reveal());
  const next = alternates[(at + 1) % alternates.length];
  if (next === undefined) throw new TypeError('unchecked generate block');
  return next;
}

function randomText(block: KeyGenerateDraft, policy: SecretPolicy, random: RandomSource): string {
  if (block.length !== undefined || block.charset !== undefined) {
    const charset = block.charset ?? DEFAULT_CHARSET;
    const { length } = block;
    if (!isSecretCharset(charset) || length === undefined) throw new TypeError('unchecked generate block');
    return drawText(length, charset, random);
  }
  const encoding = block.encoding ?? DEFAULT_ENCODING;
  if (!isSecretEncoding(encoding)) throw new TypeError('unchecked generate block');
  return Buffer.from(random(block.bytes ?? policy.bytesDefault)).toString(encoding);
}

/**
 * Characters drawn uniformly. A byte is taken modulo the alphabet only below the largest multiple of its size; the rest is
 * drawn again, since folding it over would favour the first characters.
 */
export function drawText(length: number, charset: SecretCharset, random: RandomSource = randomBytes): string {
  const alphabet = SECRET_ALPHABETS[charset];
  const fair = BYTE_VALUES - (BYTE_VALUES % alphabet.length);
  let text = '';
  while (text.length < length) {
    // At least half of the bytes are fair for an alphabet of up to 256 characters, so that the loop ends soon.
    for (const byte of random(length - text.length + 16)) {
      if (byte < fair && text.length < length) text += alphabet.charAt(byte % alphabet.length);
    }
  }
  return text;
}

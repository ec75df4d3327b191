import type { GenerateDraft } from '../../contract/secret-draft.ts';
import {
  DEFAULT_CHARSET,
  DEFAULT_ENCODING,
  drawnEntropyBits,
  encodedLength,
  isSecretCharset,
  isSecretEncoding,
  SECRET_CHARSETS,
  SECRET_ENCODINGS,
  type SecretEncoding,
  type SecretPolicy,
} from '../../model/secret-limits.ts';
import { isSecretKey } from '../../model/secret-template.ts';
import { reject } from '../../rejections/reject.ts';
import type { Rejection } from '../../rejections/rejection.ts';
import { firstRejection, type Place } from './place.ts';

type GenerateRule = (block: GenerateDraft, place: Place, policy: SecretPolicy) => Rejection | undefined;

const keysRequired: GenerateRule = (block, place) => {
  if (block.keys !== undefined && block.keys.length > 0) return undefined;
  return reject('secret_generate_keys_required', {
    field: `${place.prefix}generate.keys`,
    received: place.show(block.keys),
    why: 'A generate block without keys mints nothing.',
  });
};

const keysShaped: GenerateRule = (block, place) => {
  const keys = block.keys ?? [];
  const index = keys.findIndex((key) => !isSecretKey(key));
  if (index === -1) return undefined;
  return reject('secret_key_invalid', {
    field: `${place.prefix}generate.keys[${index}]`,
    received: place.show(keys[index]),
    why: 'The key cannot be part of the name of an environment variable.',
  });
};

const keysOnce: GenerateRule = (block, place) => {
  const seen = new Set<string>();
  for (const [index, key] of (block.keys ?? []).entries()) {
    if (seen.has(key)) {
      return reject('secret_generate_key_duplicate', {
        field: `${place.prefix}generate.keys[${index}]`,
        received: place.show(key),
        why: 'The key is listed more than once.',
      });
    }
    seen.add(key);
  }
  return undefined;
};

const oneAxis: GenerateRule = (block, place) => {
  const rendersBytes = block.bytes !== undefined || block.encoding !== undefined;
  if (!rendersBytes || !drawsCharacters(block)) return undefined;
  return reject('secret_generate_axis_conflict', {
    field: `${place.prefix}generate`,
    received: place.show(block),
    why: 'bytes and encoding render random bytes; length and charset draw characters. One block does one of the two.',
  });
};

function drawsCharacters(block: GenerateDraft): boolean {
  return block.length !== undefined || block.charset !== undefined;
}

const encodingKnown: GenerateRule = (block, place) => {
  if (block.encoding === undefined || isSecretEncoding(block.encoding)) return undefined;
  return reject('secret_generate_encoding_unknown', {
    field: `${place.prefix}generate.encoding`,
    received: place.show(block.encoding),
    expected: `one of ${SECRET_ENCODINGS.join(', ')}`,
    why: 'The platform does not render random bytes in this encoding.',
  });
};

const bytesInRange: GenerateRule = (block, place, policy) => {
  if (drawsCharacters(block)) return undefined;
  const encoding = block.encoding ?? DEFAULT_ENCODING;
  if (!isSecretEncoding(encoding)) return undefined;
  const bytes = block.bytes ?? policy.bytesDefault;
  const { min, max } = bytesRange(encoding, policy);
  if (Number.isInteger(bytes) && bytes >= min && bytes <= max) return undefined;
  return reject('secret_generate_bytes_out_of_range', {
    field: `${place.prefix}generate.bytes`,
    received: place.show(block.bytes),
    expected: `an integer from ${min} to ${max} (${encoding})`,
    why: `Material has at least ${policy.entropyFloorBits} bits, and its text at most ${policy.encodedMaxChars} characters.`,
  });
};

/** The narrower of the configured range, the entropy floor and the ceiling of the encoded text. */
export function bytesRange(encoding: SecretEncoding, policy: SecretPolicy): { min: number; max: number } {
  const min = Math.max(policy.bytesMin, Math.ceil(policy.entropyFloorBits / 8));
  let max = policy.bytesMax;
  while (max > 0 && encodedLength(max, encoding) > policy.encodedMaxChars) max--;
  return { min, max };
}

const charsetKnown: GenerateRule = (block, place) => {
  if (block.charset === undefined || isSecretCharset(block.charset)) return undefined;
  return reject('secret_generate_charset_unknown', {
    field: `${place.prefix}generate.charset`,
    received: place.show(block.charset),
    expected: `one of ${SECRET_CHARSETS.join(', ')}`,
    why: 'The platform has no alphabet of this name.',
  });
};

/** `length` has no default (spec 2.5): a charset alone does not say how much to draw. */
const lengthInRange: GenerateRule = (block, place, policy) => {
  if (!drawsCharacters(block)) return undefined;
  const { length } = block;
  if (length !== undefined && Number.isInteger(length) && length >= 1 && length <= policy.lengthMax) {
    return undefined;
  }
  return reject('secret_generate_length_out_of_range', {
    field: `${place.prefix}generate.length`,
    received: place.show(length),
    expected: `an integer from 1 to ${policy.lengthMax}`,
    why: 'The number of characters to draw is missing or outside the range.',
  });
};

const entropyAtFloor: GenerateRule = (block, place, policy) => {
  const charset = block.charset ?? DEFAULT_CHARSET;
  if (block.length === undefined || !isSecretCharset(charset)) return undefined;
  const bits = drawnEntropyBits(block.length, charset);
  if (bits >= policy.entropyFloorBits) return undefined;
  const needed = Math.ceil(policy.entropyFloorBits / drawnEntropyBits(1, charset));
  return reject('secret_generate_below_entropy_floor', {
    field: `${place.prefix}generate.length`,
    received: place.show(block.length),
    expected: `at least ${needed} characters of ${charset} (${policy.entropyFloorBits} bits)`,
    why: `${block.length} characters of ${charset} carry ${Math.floor(bits)} bits; the platform floor is ${policy.entropyFloorBits}.`,
  });
};

/** All minted values have to fit into one document: a short body may not ask for unbounded material. */
const documentFits: GenerateRule = (block, place, policy) => {
  const chars =
    block.length ?? encodedLength(block.bytes ?? policy.bytesDefault, encodingOf(block) ?? DEFAULT_ENCODING);
  const keys = block.keys ?? [];
  if (keys.length * chars <= policy.documentMaxBytes) return undefined;
  return reject('secret_value_too_long', {
    field: `${place.prefix}generate.keys`,
    received: place.show(keys),
    expected: `all values together at most ${policy.documentMaxBytes} bytes`,
    why: `${keys.length} values of ${chars} characters do not fit into one document.`,
  });
};

function encodingOf(block: GenerateDraft): SecretEncoding | undefined {
  return block.encoding !== undefined && isSecretEncoding(block.encoding) ? block.encoding : undefined;
}

/** What is minted, then the two axes against each other, then each axis from its name to its amount. */
export const generateRules: readonly GenerateRule[] = [
  keysRequired,
  keysShaped,
  keysOnce,
  oneAxis,
  encodingKnown,
  bytesInRange,
  charsetKnown,
  lengthInRange,
  entropyAtFloor,
  documentFits,
];

export function checkGenerate(
  block: GenerateDraft | undefined,
  place: Place,
  policy: SecretPolicy,
): Rejection | undefined {
  return block === undefined ? undefined : firstRejection(generateRules, block, place, policy);
}

import { firstRejection } from '../rule.ts';
import {
  type GenerateDraft,
  generatedKeys,
  hasKeyList,
  type KeyGenerateDraft,
  singleKeys,
} from '../../contract/secret-draft.ts';
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
import { isNewSecretKey } from '../../model/secret-template.ts';
import { utf8Length } from '../../model/text-bytes.ts';
import { memberField, redacted } from '../../rejections/redaction.ts';
import { reject } from '../../rejections/reject.ts';
import type { Rejection } from '../../rejections/rejection.ts';
import type { Place } from './place.ts';

/** `block` is the path of what is judged: the whole block, or what it says of one key. */
type BlockPlace = Place & { readonly block: string };
type GenerateRule = (block: GenerateDraft, place: BlockPlace, policy: SecretPolicy) => Rejection | undefined;

const keysRequired: GenerateRule = (block, place) => {
  if (block.keys !== undefined && block.keys.length > 0) return undefined;
  return reject('secret_generate_keys_required', {
    field: `${place.block}.keys`,
    received: place.show(block.keys),
    why: 'A generate block without keys mints nothing.',
  });
};

const keysShaped: GenerateRule = (block, place) => {
  const keys = block.keys ?? [];
  const index = keys.findIndex((key) => !isNewSecretKey(key));
  if (index === -1) return undefined;
  return reject('secret_key_invalid', {
    field: `${place.block}.keys[${index}]`,
    received: redacted(keys[index]),
    why: 'The key cannot be part of the name of an environment variable.',
  });
};

const keysOnce: GenerateRule = (block, place) => {
  const seen = new Set<string>();
  for (const [index, key] of (block.keys ?? []).entries()) {
    if (seen.has(key)) {
      return reject('secret_generate_key_duplicate', {
        field: `${place.block}.keys[${index}]`,
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
    field: place.block,
    received: singleKeys(block).some(([, { alternate }]) => alternate) ? redacted(block) : place.show(block),
    why: 'bytes and encoding render random bytes; length and charset draw characters. One block does one of the two.',
  });
};

function drawsCharacters(block: GenerateDraft): boolean {
  return block.length !== undefined || block.charset !== undefined;
}

const encodingKnown: GenerateRule = (block, place) => {
  if (block.encoding === undefined || isSecretEncoding(block.encoding)) return undefined;
  return reject('secret_generate_encoding_unknown', {
    field: `${place.block}.encoding`,
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
    field: `${place.block}.bytes`,
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
    field: `${place.block}.charset`,
    received: place.show(block.charset),
    expected: `one of ${SECRET_CHARSETS.join(', ')}`,
    why: 'The platform has no alphabet of this name.',
  });
};

/** `length` has no default: a charset alone does not say how much to draw. */
const lengthInRange: GenerateRule = (block, place, policy) => {
  if (!drawsCharacters(block)) return undefined;
  const { length } = block;
  if (length !== undefined && Number.isInteger(length) && length >= 1 && length <= policy.lengthMax) {
    return undefined;
  }
  return reject('secret_generate_length_out_of_range', {
    field: `${place.block}.length`,
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
    field: `${place.block}.length`,
    received: place.show(block.length),
    expected: `at least ${needed} characters of ${charset} (${policy.entropyFloorBits} bits)`,
    why: `${block.length} characters of ${charset} carry ${Math.floor(bits)} bits; the platform floor is ${policy.entropyFloorBits}.`,
  });
};

/** All minted values have to fit into one document: a short body may not ask for unbounded material. */
const documentFits: GenerateRule = (block, place, policy) => {
  const made = generatedKeys(block);
  let bytes = 0;
  for (const one of made.values()) bytes += mintedBytes(one, policy);
  if (bytes <= policy.documentMaxBytes) return undefined;
  return reject('secret_value_too_long', {
    field: `${place.block}.keys`,
    received: place.show(block.keys),
    expected: `all values together at most ${policy.documentMaxBytes} bytes`,
    why: `${made.size} values of ${bytes} bytes together do not fit into one document.`,
  });
};

function mintedBytes(block: KeyGenerateDraft, policy: SecretPolicy): number {
  if (block.alternate !== undefined) return Math.max(0, ...block.alternate.map(utf8Length));
  return (
    block.length ?? encodedLength(block.bytes ?? policy.bytesDefault, encodingOf(block) ?? DEFAULT_ENCODING)
  );
}

function encodingOf(block: GenerateDraft): SecretEncoding | undefined {
  return block.encoding !== undefined && isSecretEncoding(block.encoding) ? block.encoding : undefined;
}

type KeyRule = (
  key: string,
  block: KeyGenerateDraft,
  place: BlockPlace,
  policy: SecretPolicy,
) => Rejection | undefined;

const singleKeyShaped: KeyRule = (key, _block, place) => {
  if (isNewSecretKey(key)) return undefined;
  return reject('secret_key_invalid', {
    field: place.block,
    received: redacted(key),
    why: 'The key cannot be part of the name of an environment variable.',
  });
};

const alternateAlone: KeyRule = (_key, { alternate, ...random }, place) => {
  if (alternate === undefined || Object.keys(random).length === 0) return undefined;
  return reject('secret_generate_axis_conflict', {
    field: place.block,
    received: redacted({ alternate, ...random }),
    expected: 'alternate alone, or how random text is made',
    why: 'alternate takes given values in turn; nothing random is drawn for the same key.',
  });
};

/** With a single value, or one that comes twice, a rotation would replace a value by itself. */
const alternatesTurn: KeyRule = (_key, { alternate }, place, policy) => {
  if (alternate === undefined) return undefined;
  const fits = (value: string): boolean => value !== '' && utf8Length(value) <= policy.valueMaxBytes;
  const distinct = new Set(alternate).size === alternate.length;
  if (alternate.length >= 2 && distinct && alternate.every(fits)) return undefined;
  return reject('secret_generate_alternate_invalid', {
    field: `${place.block}.alternate`,
    received: redacted(alternate),
    expected: `at least two different values, none empty, each at most ${policy.valueMaxBytes} bytes`,
    why: distinct
      ? 'There is nothing to take in turn.'
      : 'A value is listed twice, so a rotation could replace it by itself.',
  });
};

const randomText: KeyRule = (_key, block, place, policy) =>
  block.alternate === undefined ? firstRejection(textRules, block, place, policy) : undefined;

/** The two axes against each other, then each axis from its name to its amount. */
const textRules: readonly GenerateRule[] = [
  oneAxis,
  encodingKnown,
  bytesInRange,
  charsetKnown,
  lengthInRange,
  entropyAtFloor,
];

/** Of what the block says of a single key, under its name. */
const keyRules: readonly KeyRule[] = [singleKeyShaped, alternateAlone, alternatesTurn, randomText];

const eachSingleKey: GenerateRule = (block, place, policy) => {
  for (const [key, one] of singleKeys(block)) {
    const here = { ...place, block: memberField(place.block, key) };
    const twice = block.keys?.includes(key)
      ? reject('secret_generate_key_duplicate', {
          field: here.block,
          received: place.show(key),
          why: 'The key is listed in keys and described by itself.',
        })
      : undefined;
    const rejection = twice ?? firstRejection(keyRules, key, one, here, policy);
    if (rejection) return rejection;
  }
  return undefined;
};

/** A block that only says how single keys are made has no list of keys. */
const keyList: GenerateRule = (block, place, policy) =>
  hasKeyList(block) || singleKeys(block).length === 0
    ? firstRejection([keysRequired, keysShaped, keysOnce, ...textRules], block, place, policy)
    : undefined;

/** What is minted and how: the keys that share one way, then each that has its own, then all together. */
export const generateRules: readonly GenerateRule[] = [keyList, eachSingleKey, documentFits];

export function checkGenerate(
  block: GenerateDraft | undefined,
  place: Place,
  policy: SecretPolicy,
): Rejection | undefined {
  if (block === undefined) return undefined;
  return firstRejection(generateRules, block, { ...place, block: `${place.prefix}generate` }, policy);
}

import { type GenerateDraft, generatedKeys } from '../../contract/secret-draft.ts';
import type { SecretPolicy } from '../../model/secret-limits.ts';
import { isNewSecretKey } from '../../model/secret-template.ts';
import type { SecretValue } from '../../model/secret-value.ts';
import { utf8Length } from '../../model/text-bytes.ts';
import { reject } from '../../rejections/reject.ts';
import type { Rejection } from '../../rejections/rejection.ts';
import { memberField, redacted } from '../../rejections/redaction.ts';
import type { Place } from './place.ts';

type Values = Readonly<Record<string, string>>;

/** Keys and values sent to be stored. Nothing under `values` is echoed. */
export function checkValues(
  values: Values | undefined,
  place: Place,
  policy: SecretPolicy,
): Rejection | undefined {
  if (values === undefined) return undefined;
  const field = `${place.prefix}values`;
  let total = 0;
  for (const [position, [key, value]] of Object.entries(values).entries()) {
    if (!isNewSecretKey(key)) {
      return reject('secret_key_invalid', {
        field: memberField(field, key),
        received: redacted(key),
        why: `The key at position ${position + 1} cannot be part of the name of an environment variable.`,
      });
    }
    const bytes = utf8Length(value);
    const parts = { field: memberField(field, key), received: redacted(value) };
    if (bytes === 0) {
      return reject('secret_value_empty', {
        ...parts,
        why: 'An empty credential would be delivered as an empty variable and fail in the workload.',
      });
    }
    if (bytes > policy.valueMaxBytes) {
      return reject('secret_value_too_long', {
        ...parts,
        expected: `at most ${policy.valueMaxBytes} bytes`,
        why: `The value has ${bytes} bytes.`,
      });
    }
    total += bytes;
  }
  if (total <= policy.documentMaxBytes) return undefined;
  return reject('secret_value_too_long', {
    field,
    received: redacted(values),
    expected: `all values together at most ${policy.documentMaxBytes} bytes`,
    why: `The values of this document have ${total} bytes together.`,
  });
}

type Document = ReadonlyMap<string, SecretValue>;

function bytesOf(document: Document): { readonly keys: number; readonly values: number } {
  let [keys, values] = [0, 0];
  for (const [key, value] of document) {
    keys += utf8Length(key);
    values += utf8Length(value.reveal());
  }
  return { keys, values };
}

/** What is sent is judged before; with what a document has already it may be more than one document holds. What another hand made larger may shrink. */
export function checkDocument(
  before: Document,
  after: Document,
  field: string,
  { documentMaxBytes }: SecretPolicy,
): Rejection | undefined {
  const [held, wanted] = [bytesOf(before), bytesOf(after)];
  const isWithin = (part: 'keys' | 'values'): boolean =>
    wanted[part] <= Math.max(documentMaxBytes, held[part]);
  if (isWithin('keys') && isWithin('values')) return undefined;
  return reject('secret_value_too_long', {
    field,
    received: redacted(Object.fromEntries([...after].map(([key, value]) => [key, value.reveal()]))),
    expected: `all values of a document together at most ${documentMaxBytes} bytes, and all keys too; give what is new a document of its own`,
    why: `With what is stored the document would have ${after.size} keys of ${wanted.keys} bytes and values of ${wanted.values} bytes together.`,
  });
}

/** A key is either provided or minted: which of the two would be stored is not for the server to guess. */
export function checkProvidedAndGenerated(
  values: Values | undefined,
  generate: GenerateDraft | undefined,
  place: Place,
): Rejection | undefined {
  const twice = [...generatedKeys(generate).keys()].find(
    (key) => values !== undefined && Object.hasOwn(values, key),
  );
  if (twice === undefined) return undefined;
  const index = generate?.keys?.indexOf(twice) ?? -1;
  const listed = index === -1 ? memberField(`${place.prefix}generate`, twice) : undefined;
  return reject('secret_key_provided_and_generated', {
    field: listed ?? `${place.prefix}generate.keys[${index}]`,
    received: place.show(twice),
    why: 'The key is to be generated and has a value in values.',
  });
}

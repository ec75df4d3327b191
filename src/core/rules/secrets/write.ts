import type { SecretWriteDraft } from '../../contract/secret-draft.ts';
import type { SecretPolicy } from '../../model/secret-limits.ts';
import { reject } from '../../rejections/reject.ts';
import type { Rejection } from '../../rejections/rejection.ts';
import { redacted } from '../../rejections/redaction.ts';
import { checkAnchor } from './entry.ts';
import { checkGenerate } from './generate.ts';
import { checkProvidedAndGenerated, checkValues } from './material.ts';
import { WRITE_PLACE } from './place.ts';

export type SecretWriteRule = (body: SecretWriteDraft, policy: SecretPolicy) => Rejection | undefined;

const notEmpty: SecretWriteRule = (body) => {
  if (body.generate !== undefined || Object.keys(body.values ?? {}).length > 0) return undefined;
  return reject('secret_write_empty', {
    field: 'values',
    received: redacted(body.values),
    why: 'A write replaces the document, and this one has neither values nor keys to generate.',
  });
};

/** Rules of the secret write, in order. */
export const secretWriteRules: readonly SecretWriteRule[] = [
  notEmpty,
  (body) => checkAnchor(body.anchor, 'anchor'),
  (body, policy) => checkValues(body.values, WRITE_PLACE, policy),
  (body, policy) => checkGenerate(body.generate, WRITE_PLACE, policy),
  (body) => checkProvidedAndGenerated(body.values, body.generate, WRITE_PLACE),
];

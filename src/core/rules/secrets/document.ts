import type { secretDocumentBody } from '../../contract/secret-bodies.ts';
import type { SecretPolicy } from '../../model/secret-limits.ts';
import { received, redacted } from '../../rejections/redaction.ts';
import { reject } from '../../rejections/reject.ts';
import type { Draft } from '../../schema/shape.ts';
import type { Rule } from '../rule.ts';
import { checkGenerate } from './generate.ts';
import { WRITE_PLACE } from './place.ts';

export interface SecretDocumentInput {
  readonly draft: Draft<typeof secretDocumentBody>;
  readonly policy: SecretPolicy;
}

const kindRule: Rule<SecretDocumentInput> = ({ draft: { kind } }) =>
  kind === undefined || kind === 'Secret'
    ? undefined
    : reject('manifest_wrong_kind', {
        field: 'kind',
        received: received(kind),
        expected: 'Secret',
        why: 'This route takes documents of kind Secret.',
      });

/** A file is copied, committed and mailed: what stands in it is no secret any more. */
const valuesRule: Rule<SecretDocumentInput> = ({ draft: { values, namespace, name } }) =>
  values === undefined
    ? undefined
    : reject('secret_values_in_document', {
        field: 'values',
        received: redacted(values),
        expected: `generate: {keys: [...]}; or no document, and the values by: berth secret write ${namespace ?? 'NAMESPACE'}/${name ?? 'NAME'} --key KEY`,
        why: 'A document of kind Secret holds no values.',
      });

/** Of a document of kind Secret, in order; where it is to live is judged between the second and the third. */
export const secretDocumentRules: readonly Rule<SecretDocumentInput>[] = [
  kindRule,
  valuesRule,
  ({ draft, policy }) => checkGenerate(draft.generate ?? {}, WRITE_PLACE, policy),
];

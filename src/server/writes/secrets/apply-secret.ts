import { secretDocumentBody } from '../../../core/contract/secret-bodies.ts';
import { generatedKeys } from '../../../core/contract/secret-draft.ts';
import { type SecretPath, secretPathText } from '../../../core/model/secret-path.ts';
import type { SECRETS } from '../../../core/operations/secrets.ts';
import { isRejection } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import type { Rule } from '../../../core/rules/rule.ts';
import { checkDocument } from '../../../core/rules/secrets/material.ts';
import { secretDocumentRules } from '../../../core/rules/secrets/document.ts';
import { type Draft, draftOf, readBody, type Sent } from '../../../core/schema/shape.ts';
import { mintedAfter } from '../../../core/secrets/credentials.ts';
import { acceptedOf, type Admission, type Caller, commitAttempts, type Outcome } from '../admission.ts';
import { documentRejections } from '../found-rejections.ts';
import { readCredential, secretFailureRejection } from './credential-facts.ts';
import { rotationInProgress, sentValues } from './secret-material.ts';
import { planDocument, secretPathRejection, splitRejection } from './write-secret.ts';

type SentSecret = Sent<typeof secretDocumentBody>;

const readSecret = (body: unknown) => readBody(secretDocumentBody, body);

function pathOf({ namespace = '', name = '' }: Draft<typeof secretDocumentBody>): SecretPath {
  return { namespace, label: name };
}

/** Every rule that needs nothing stored, in order. */
function rulesOf({ limits: { secretPolicy: policy } }: Admission): readonly Rule<SentSecret>[] {
  const [kind, values, ...rest] = secretDocumentRules.map((rule) => (sent: SentSecret) => {
    return rule({ draft: draftOf(secretDocumentBody, sent), policy });
  });
  const path: Rule<SentSecret> = (sent) =>
    secretPathRejection(policy.namespaces, pathOf(draftOf(secretDocumentBody, sent)));
  return [kind, values, path, ...rest].filter((rule) => rule !== undefined);
}

const applied = acceptedOf<typeof SECRETS.apply>();

/** Mints what is missing of a document of kind Secret. What exists stays as it is, whoever wrote it. */
export async function applySecret(
  admission: Admission,
  caller: Caller,
  body: unknown,
  { dryRun }: { readonly dryRun: boolean },
): Promise<Outcome<typeof SECRETS.apply>> {
  const sent = readSecret(body);
  if (isRejection(sent)) return sent;
  for (const rule of rulesOf(admission)) {
    const refused = rule(sent);
    if (refused) return refused;
  }
  const draft = draftOf(secretDocumentBody, sent);
  const path = pathOf(draft);
  const { secrets } = admission;
  return commitAttempts(admission, caller, async () => {
    const split = splitRejection(admission, caller, path);
    if (split) return split;
    const facts = await readCredential(secrets, caller.tenant, caller, path);
    if ('ok' in facts) return secretFailureRejection(facts, 'name');
    const asked = generatedKeys(draft.generate);
    const missing = new Map([...asked].filter(([key]) => !facts.values.has(key)));
    const alterations = [...asked.keys()]
      .filter((key) => !missing.has(key))
      .map((key) => ({
        field: 'generate.keys',
        from: key,
        to: '(kept)',
        why: `${key} exists, and a document mints only what is missing`,
      }));
    const answer = (version: number) => ({
      path: secretPathText(path),
      keys: [...new Set([...facts.values.keys(), ...missing.keys()])].sort(),
      version,
      minted: [...missing.keys()],
      alterations,
      warnings: [],
      removed: [],
    });
    if (missing.size === 0) return { answer: applied(200, answer(facts.inService)) };
    if (facts.record.rotation !== undefined) return rotationInProgress(path, 'name');
    const made = sentValues(secrets, caller, path, { generate: Object.fromEntries(missing) }, facts.values);
    const values = new Map([...facts.values, ...made]);
    const tooLarge = checkDocument(facts.values, values, 'generate', secrets.policy);
    if (tooLarge) return tooLarge;
    if (dryRun) return { answer: applied(200, answer(facts.newest + 1)) };
    const minted = mintedAfter(facts.record.minted, values.keys(), missing, new Set());
    const planned = await planDocument(admission, caller, facts, { values, minted });
    if (isRejection(planned)) return planned;
    const { version, transaction } = planned;
    return { answer: applied(facts.exists ? 200 : 201, answer(version)), transaction };
  });
}

/** Beside the first one, all that shape and rules refuse in the document. */
export function secretRejections(
  admission: Admission,
  body: unknown,
  first: Rejection,
): Promise<readonly Rejection[]> {
  return documentRejections(first, body, readSecret, rulesOf(admission));
}

import { type SecretPath, secretPathText } from '../../../core/model/secret-path.ts';
import { SecretValue } from '../../../core/model/secret-value.ts';
import { failure, type SecretDocument, type SecretFailure, type SecretVersion } from '../port.ts';
import { count, failureOf, member, text } from './answers.ts';
import type { VaultAnswer, VaultCall } from './http.ts';

type Reached = Extract<VaultAnswer, { reached: true }>;

/** A value that is no text was not written by us and cannot be delivered as it is: the document counts as partial. */
export function documentOf(json: unknown, path: SecretPath): SecretDocument | SecretFailure {
  const data = member(json, 'data');
  const content = member(data, 'data');
  const version = count(member(data, 'metadata'), 'version');
  if (typeof content !== 'object' || content === null || version === 0) {
    return failure('missing', `${secretPathText(path)}: the secrets store holds no readable version`);
  }
  const values = new Map<string, SecretValue>();
  for (const [key, value] of Object.entries(content)) {
    if (typeof value !== 'string') {
      const message = `${secretPathText(path)}: a value of the document is not text`;
      return { ...failure('missing', message), currentVersion: version };
    }
    values.set(key, new SecretValue(value));
  }
  return { ok: true, version, createdAt: text(member(data, 'metadata'), 'created_time'), values };
}

/** A version that was deleted or destroyed is refused with its metadata: the next write has to expect that one, not none. */
export function unreadable(answer: VaultAnswer, path: SecretPath, call: VaultCall): SecretFailure {
  const failed = failureOf(answer, secretPathText(path), call);
  if (failed.reason !== 'missing' || !answer.reached) return failed;
  const version = count(member(member(answer.json, 'data'), 'metadata'), 'version');
  if (version === 0) return failed;
  const message = `${secretPathText(path)}: version ${version} was deleted in the secrets store (404)`;
  return { ...failure('missing', message), currentVersion: version };
}

/** Dates of answers are whole seconds. */
const CLOCK_STEP_MS = 1_000;

/** A time in the future is a deletion that is planned (`delete_version_after`), by the clock of the server that keeps it. */
function isDeleted(about: unknown, at: number): boolean {
  const planned = text(about, 'deletion_time');
  return planned !== '' && !(Date.parse(planned) >= at + CLOCK_STEP_MS);
}

/** Versions that can be read now, oldest first. */
export function readableVersions({ json, at = Date.now() }: Reached): readonly SecretVersion[] {
  const versions = member(member(json, 'data'), 'versions');
  if (typeof versions !== 'object' || versions === null) return [];
  return Object.entries(versions)
    .filter(([, about]) => !isDeleted(about, at) && member(about, 'destroyed') !== true)
    .map(([version, about]) => ({ version: Number(version), createdAt: text(about, 'created_time') }))
    .sort((a, b) => a.version - b.version);
}

import { isRecord, textsIn } from '../../../core/model/values.ts';
import { failure, type SecretFailure } from '../port.ts';
import type { VaultAnswer, VaultCall } from './http.ts';

/** The `errors` list of an answer that is not a success; empty for a plain 404. */
export function errorsOf(json: unknown): readonly string[] {
  const errors = member(json, 'errors');
  return textsIn(errors);
}

export function member(json: unknown, name: string): unknown {
  return isRecord(json) ? json[name] : undefined;
}

export function text(json: unknown, name: string): string {
  const value = member(json, name);
  return typeof value === 'string' ? value : '';
}

export function count(json: unknown, name: string): number {
  const value = member(json, name);
  return typeof value === 'number' && Number.isSafeInteger(value) ? value : 0;
}

/** KV v2 refuses a stale check-and-set with 400 and this message; there is no code. */
export function isCasMismatch(answer: VaultAnswer): boolean {
  return answer.reached && answer.status === 400 && says(answer, 'check-and-set parameter did not match');
}

/** A mount that was just made answers 400 until its storage is laid out; nothing is applied. */
export function isUpgrading(answer: VaultAnswer): boolean {
  return answer.reached && answer.status === 400 && says(answer, 'Upgrading from non-versioned');
}

export function isMountInUse(answer: VaultAnswer): boolean {
  return answer.reached && answer.status === 400 && says(answer, 'already in use');
}

/** Storage bounds its entries, and says so as a fault of its own (500); the listener bounds bodies (413). */
function isTooLarge(answer: Extract<VaultAnswer, { reached: true }>): boolean {
  return answer.status === 413 || (answer.status >= 400 && says(answer, 'value being too large'));
}

/** The namespace of the configuration; servers say 404 without a route for anything below one that is not there. */
export function isNamespaceMissing(answer: VaultAnswer): boolean {
  return answer.reached && answer.status === 404 && says(answer, 'namespace not found');
}

/** The route exists in no mount, or not in this version of the engine; a document that is missing says nothing. */
export function isUnrouted(answer: VaultAnswer): boolean {
  if (!answer.reached) return false;
  return (
    answer.status === 405 ||
    (answer.status === 404 && (says(answer, 'no handler for route') || says(answer, 'unsupported path')))
  );
}

function says(answer: Extract<VaultAnswer, { reached: true }>, text: string): boolean {
  return errorsOf(answer.json).some((error) => error.includes(text));
}

/** The two statuses the API answers with when it did what was asked. */
export type VaultSuccess = Extract<VaultAnswer, { reached: true }> & { readonly status: 200 | 204 };

export function isSuccess(answer: VaultAnswer): answer is VaultSuccess {
  return answer.reached && (answer.status === 200 || answer.status === 204);
}

/** Worth a second try when the call is safe to repeat. A sealed store stays sealed, and a slow one is not helped by more work. */
export function isTransient(answer: VaultAnswer): boolean {
  if (!answer.reached) return answer.retriable;
  return answer.status === 429 || (answer.status >= 500 && !isSealed(answer) && !isTooLarge(answer));
}

function isSealed(answer: Extract<VaultAnswer, { reached: true }>): boolean {
  if (answer.status === 501) return true;
  return answer.status === 503 && errorsOf(answer.json).some((error) => /sealed/i.test(error));
}

/** The capability that the policy has to grant for a call. */
function neededFor({ method, path }: Pick<VaultCall, 'method' | 'path'>): string {
  const [bare = path, query] = path.split('?');
  const capability =
    query === 'list=true' ? 'list' : { GET: 'read', POST: 'create and update', DELETE: 'delete' }[method];
  return `the capability ${capability} on ${decodeURIComponent(bare)}`;
}

/** What a refusal means for a secret. Messages of the server are not passed on: Berth cannot vouch for them. */
export function failureOf(
  answer: VaultAnswer,
  what: string,
  call?: Pick<VaultCall, 'method' | 'path'>,
): SecretFailure {
  if (!answer.reached) return failure('unavailable', `${what}: the secrets store ${answer.problem}`);
  if (isSealed(answer)) return failure('sealed', `${what}: the secrets store is sealed`);
  if (isNamespaceMissing(answer))
    return failure('unusable', `${what}: the namespace of secrets.vault.namespace is not there (404)`);
  if (isTooLarge(answer))
    return failure(
      'too_large',
      `${what}: the document is larger than the secrets store takes (${answer.status})`,
    );
  switch (answer.status) {
    case 403:
      return failure(
        'denied',
        `${what}: the secrets store refused access (403)${call === undefined ? '' : `; its policy has to grant ${neededFor(call)}`}`,
      );
    case 404:
      return failure('missing', `${what}: the secrets store has no such document (404)`);
    case 429:
      return failure('unavailable', `${what}: the secrets store limits the rate of requests (429)`);
    case 307:
    case 472:
    case 473:
      return failure(
        'unavailable',
        `${what}: the configured address is a standby that does not serve (${answer.status})`,
      );
    default:
      return failure('unavailable', `${what}: the secrets store answered ${answer.status}`);
  }
}

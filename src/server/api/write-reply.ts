import type { Exactly } from '../../core/schema/shape.ts';
import type { AnswerOf, Operation } from '../../core/operations/operation.ts';
import { isRejection } from '../../core/rejections/reject.ts';
import type { Rejection } from '../../core/rejections/rejection.ts';
import type { Accepted, Outcome } from '../writes/admission.ts';
import { type IfMatch, parseIfMatch } from '../writes/if-match.ts';
import { booleanParameter } from './paging.ts';
import { statusOf } from './replies.ts';
import { Rejections, type Reply, type ReplyTo, type RouteRequest } from './route.ts';

/** A use case answers with everything but the revision, which is that of the commit. */
function withRevision<O extends Operation>(
  { body }: Accepted<O>,
  revision: number | undefined,
): Exactly<AnswerOf<O>> {
  return (revision === undefined ? body : { ...body, revision }) as Exactly<AnswerOf<O>>;
}

/** The record's revision is its ETag; it is that of the commit, so it is added when the commit is known. */
export function writeReply<O extends Operation>(outcome: Outcome<O>): ReplyTo<O> {
  if (isRejection(outcome)) return outcome;
  const { status, revision, replayed } = outcome;
  const body = withRevision(outcome, revision);
  if (revision === undefined) return { status, body };
  return {
    status,
    body,
    headers: { etag: `"${revision}"`, ...(replayed ? { 'idempotency-replayed': 'true' } : {}) },
  };
}

interface AskedForAll {
  readonly query: { readonly all?: string; readonly dryRun?: string };
  readonly charge: (requests: number) => void;
}

/** With `all`: everything that is refused, not only what comes first; of a dry run as the answer. A fault stays a fault. */
export async function fullReply<O extends Operation>(
  request: AskedForAll,
  write: () => Promise<Outcome<O>>,
  every: (first: Rejection) => Promise<readonly Rejection[]>,
): Promise<ReplyTo<O>>;
export async function fullReply<O extends Operation>(
  { query, charge }: AskedForAll,
  write: () => Promise<Outcome<O>>,
  every: (first: Rejection) => Promise<readonly Rejection[]>,
): Promise<Reply> {
  const all = booleanParameter(query, 'all');
  if (isRejection(all)) return all;
  const outcome = await write();
  if (!all || (isRejection(outcome) && statusOf(outcome) >= 500)) return writeReply(outcome);
  const rejections = isRejection(outcome) ? await every(outcome) : [];
  charge(rejections.length);
  if (query.dryRun === 'true') return new Rejections(rejections);
  return isRejection(outcome) ? { ...outcome, among: rejections } : writeReply(outcome);
}

/** The record as it is, without a revision in it: that is in the ETag alone. */
export function plainReply<O extends Operation>(outcome: Outcome<O>): ReplyTo<O> {
  const reply = writeReply(outcome);
  return isRejection(outcome) || isRejection(reply)
    ? reply
    : { ...reply, body: withRevision(outcome, undefined) };
}

/** The order is stored beside the record: its revision is not that of the commit. */
export function orderReply<O extends Operation>(outcome: Outcome<O>): ReplyTo<O> {
  if (isRejection(outcome)) return outcome;
  const { status, replayed } = outcome;
  const body = withRevision(outcome, undefined);
  return { status, body, ...(replayed ? { headers: { 'idempotency-replayed': 'true' } } : {}) };
}

/** The revision of a document is its version, in whichever store it is kept. */
export function versionReply<O extends Operation>(
  outcome: Rejection | (Accepted<O> & { readonly body: { readonly version: number } }),
): ReplyTo<O> {
  if (isRejection(outcome)) return outcome;
  const { status, revision, body } = outcome;
  const { version } = body;
  return {
    status,
    body: withRevision(outcome, revision === undefined ? undefined : version),
    headers: { etag: `"${version}"` },
  };
}

/** A write that the client lets happen to one revision of the record only; without If-Match, to whatever is there. */
export async function guardedReply<O extends Operation>(
  { headers }: Pick<RouteRequest, 'headers'>,
  write: (ifMatch: IfMatch | undefined) => Promise<Outcome<O>>,
  reply: (outcome: Outcome<O>) => ReplyTo<O> = writeReply,
): Promise<ReplyTo<O>> {
  const ifMatch = parseIfMatch(headers['if-match']);
  return isRejection(ifMatch) ? ifMatch : reply(await write(ifMatch));
}

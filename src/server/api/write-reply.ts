import { isRejection } from '../../core/rejections/reject.ts';
import type { Outcome } from '../admission/admission.ts';
import { type IfMatch, parseIfMatch } from '../admission/if-match.ts';
import type { Reply, RouteRequest } from './route.ts';

/** The record's revision is its ETag; it is that of the commit, so it is added when the commit is known. */
export function writeReply(outcome: Outcome): Reply {
  if (isRejection(outcome)) return outcome;
  const { status, body, revision, replayed } = outcome;
  if (revision === undefined) return { status, body };
  return {
    status,
    body: { ...body, revision },
    headers: { etag: `"${revision}"`, ...(replayed ? { 'idempotency-replayed': 'true' } : {}) },
  };
}

/** A write that the client lets happen to one revision of the record only; without If-Match, to whatever is there. */
export async function guardedReply(
  { headers }: Pick<RouteRequest, 'headers'>,
  write: (ifMatch: IfMatch | undefined) => Promise<Outcome>,
  reply: (outcome: Outcome) => Reply = writeReply,
): Promise<Reply> {
  const ifMatch = parseIfMatch(headers['if-match']);
  return isRejection(ifMatch) ? ifMatch : reply(await write(ifMatch));
}

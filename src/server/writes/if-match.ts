import { received } from '../../core/rejections/redaction.ts';
import { reject } from '../../core/rejections/reject.ts';
import type { Rejection } from '../../core/rejections/rejection.ts';

/** Revisions that the client is willing to replace; `any` for `*`. */
export type IfMatch = 'any' | readonly number[];

export function parseIfMatch(header: string | undefined): IfMatch | Rejection | undefined {
  if (header === undefined) return undefined;
  if (header.trim() === '*') return 'any';
  const revisions = header.split(',').map((part) => /^(?:W\/)?"?(\d{1,15})"?$/.exec(part.trim())?.[1]);
  if (revisions.some((revision) => revision === undefined)) {
    return reject('header_invalid', {
      field: 'If-Match',
      received: received(header),
      expected: 'the ETag of a read, e.g. "42", or *',
      why: 'If-Match does not hold entity tags of this interface.',
    });
  }
  return revisions.map(Number);
}

export function revisionRejection(ifMatch: IfMatch | undefined, revision: number): Rejection | undefined {
  if (ifMatch === undefined || ifMatch === 'any' || ifMatch.includes(revision)) return undefined;
  return reject('revision_mismatch', {
    field: 'If-Match',
    received: ifMatch.join(', '),
    expected: `"${revision}"`,
    why: 'The record changed since it was read; read it again and apply the change to what is there now.',
  });
}

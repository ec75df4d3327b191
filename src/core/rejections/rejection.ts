import type { RejectionCode } from './catalogue.ts';

/** The rejection record, minus `doc`, which the edge adds because only it knows the base URL. */
export interface Rejection {
  readonly rejected: true;
  readonly code: RejectionCode;
  readonly field: string;
  readonly received: string;
  readonly expected: string;
  readonly why: string;
  /** Instead of the catalogue's status, for a code whose status depends on the cause. Not part of the record. */
  readonly status?: number;
  /** What the refusal relied on moved meanwhile: the write path decides again before it says so. Not part of the record. */
  readonly moved?: boolean;
  /** All that is refused in the document, this one first: sent as `X-Berth-Rejections`. Not part of the record. */
  readonly among?: readonly Pick<Rejection, 'code' | 'field'>[];
  /** Sent as `Retry-After`. Not part of the record. */
  readonly retryAfterSeconds?: number;
}

/** As it is sent. */
export type RejectionRecord = Readonly<
  Record<'code' | 'field' | 'received' | 'expected' | 'why' | 'doc', string>
>;

/** The body of a refusal: exactly these six keys. */
export function rejectionBody(
  { code, field, received, expected, why }: Rejection,
  baseUrl: string,
): RejectionRecord {
  return { code, field, received, expected, why, doc: `${baseUrl}/docs/errors/${code}` };
}

export interface RejectionParts {
  readonly field: string;
  /** Already safe text: made by `received()` or `redacted()`. */
  readonly received: string;
  /** Absent: the catalogue's accepted form. */
  readonly expected?: string;
  readonly why: string;
}

import type { RejectionCode } from './catalogue.ts';

/** The record of spec 2.1, minus `doc`, which the edge adds because only it knows the base URL. */
export interface Rejection {
  readonly rejected: true;
  readonly code: RejectionCode;
  readonly field: string;
  readonly received: string;
  readonly expected: string;
  readonly why: string;
}

export interface RejectionParts {
  readonly field: string;
  /** Already safe text: made by `received()` or `redacted()`. */
  readonly received: string;
  /** Absent: the catalogue's accepted form. */
  readonly expected?: string;
  readonly why: string;
}

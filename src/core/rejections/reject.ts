import { isRecord } from '../model/values.ts';
import { CATALOGUE, type RejectionCode } from './catalogue.ts';
import type { Rejection, RejectionParts } from './rejection.ts';

export function reject(code: RejectionCode, parts: RejectionParts): Rejection {
  return { rejected: true, code, expected: CATALOGUE[code].accepted, ...parts };
}

export function isRejection(value: unknown): value is Rejection {
  return isRecord(value) && value['rejected'] === true;
}

/** Of what is read or refused: the refusal. */
export function rejectionIn(read: unknown): Rejection | undefined {
  return isRejection(read) ? read : undefined;
}

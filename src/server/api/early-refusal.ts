import { isRejection } from '../../core/rejections/reject.ts';
import type { Rejection } from '../../core/rejections/rejection.ts';
import { principalOfRequest } from './admit-request.ts';
import type { ApiContext } from './api-context.ts';
import type { ApiRequest } from './request-parts.ts';

/** Shorter ones are read in one go, and who sends them is asked once. */
const SHORT_BYTES = 64 * 1024;

export function isShort(bytes: number): boolean {
  return bytes <= SHORT_BYTES;
}

/** Whether a body comes that is held in memory for a while: a long one, or one that does not say how long it is. */
export function bringsLongBody({ headers }: Pick<ApiRequest, 'headers'>): boolean {
  const length = headers['content-length'];
  return length === undefined ? headers['transfer-encoding'] !== undefined : !isShort(Number(length));
}

/** Nothing is held in memory for a stranger: a long body is read only for who has a credential. */
export function strangerRejection(context: ApiContext, request: ApiRequest): Rejection | undefined {
  // While it starts nobody is known; the handler says so.
  if (!context.options.ready()) return undefined;
  const principal = principalOfRequest(context, request, false);
  return isRejection(principal) ? principal : undefined;
}

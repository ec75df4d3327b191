import { reject } from '../../core/rejections/reject.ts';
import type { Rejection } from '../../core/rejections/rejection.ts';

/** For now: whoever asks again soon may be answered, by another control plane too. */
export function unavailable(why: string): Rejection {
  return {
    ...reject('store_unavailable', { field: 'store', received: '(none)', why }),
    retryAfterSeconds: 1,
  };
}

/** Of a request that comes on a connection which others hold open until they have their answers. */
export const stopping = (): Rejection =>
  unavailable('The control plane is stopping and takes no further requests on this connection.');

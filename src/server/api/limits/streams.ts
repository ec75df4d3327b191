import { reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import type { TenantId } from '../../../core/model/ids.ts';
import type { Principal } from '../../access/principal.ts';
import { Tally } from './tally.ts';

export interface StreamLimits {
  readonly perToken: number;
  /** The only place that says how many a tenant may hold. */
  readonly perTenant: (tenantId: TenantId) => number;
}

export const NO_STREAM_LIMITS: StreamLimits = {
  perToken: Number.POSITIVE_INFINITY,
  perTenant: () => Number.POSITIVE_INFINITY,
};

const RETRY_SECONDS = 5;

/**
 * Answers that last as long as their reader wants: events, logs, commands. Counted for the credential and its own tenant, in this
 * process: what runs out is descriptors and memory of it.
 */
export class StreamCounts {
  readonly #limits: StreamLimits;
  readonly #ofToken = new Tally();
  readonly #ofTenant = new Tally();
  open = 0;
  refused = 0;

  constructor(limits: StreamLimits) {
    this.#limits = limits;
  }

  /** Counted until the returned function is called, which is once. */
  take({ tokenId, tenantId }: Principal): (() => void) | Rejection {
    const { perToken } = this.#limits;
    if (this.#ofToken.of(tokenId) >= perToken) return this.#refuse('token', perToken);
    const perTenant = this.#limits.perTenant(tenantId);
    if (this.#ofTenant.of(tenantId) >= perTenant) return this.#refuse('tenant', perTenant);
    const add = (by: 1 | -1): void => {
      this.open += by;
      this.#ofToken.add(tokenId, by);
      this.#ofTenant.add(tenantId, by);
    };
    add(1);
    return () => add(-1);
  }

  #refuse(whose: 'token' | 'tenant', most: number): Rejection {
    this.refused += 1;
    return {
      ...reject('stream_limit_reached', {
        field: 'Authorization',
        received: `${most} open streams of the ${whose}`,
        expected: `at most ${most} streams per ${whose} at once`,
        why: `The ${whose} holds as many event streams, logs and commands as it may; end one, or read several things from one stream.`,
      }),
      retryAfterSeconds: RETRY_SECONDS,
    };
  }
}

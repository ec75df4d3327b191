import type { ServerResponse } from 'node:http';
import { reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import type { Principal } from '../../access/principal.ts';
import { Tally } from './tally.ts';

export interface UnreadLimits {
  readonly bytesPerToken: number;
  readonly bytesPerTenant: number;
  /** A reader that takes nothing for so long is hung up on. */
  readonly sendTimeoutMs: number;
}

export const NO_UNREAD_LIMITS: UnreadLimits = {
  bytesPerToken: Number.POSITIVE_INFINITY,
  bytesPerTenant: Number.POSITIVE_INFINITY,
  sendTimeoutMs: 30_000,
};

/** Beyond this many tenants' worth in all, every tenant that holds anything waits. */
const TENANTS_AT_ONCE = 4;
/** Who takes a little now and then is given this much time and no more. */
const SLOWEST_BYTES_PER_MS = 16;
const RETRY_SECONDS = 2;
/** An answer that TLS sends as one record. */
const SHORT_BYTES = 16_384;

interface Written {
  readonly response: ServerResponse;
  readonly principal: Principal;
}

/**
 * Answers that were written and not yet taken by their reader; they are in memory until then. Counted for the credential and its
 * tenant, in this process.
 */
export class UnreadAnswers {
  readonly #limits: UnreadLimits;
  readonly #ofToken = new Tally();
  readonly #ofTenant = new Tally();
  /** Short answers of this turn of the event loop. */
  #written: Written[] = [];
  bytes = 0;
  refused = 0;
  /** Connections closed because they were not read. */
  ended = 0;

  constructor(limits: UnreadLimits) {
    this.#limits = limits;
  }

  refusal({ tokenId, tenantId }: Principal): Rejection | undefined {
    if (this.bytes === 0) return undefined;
    const { bytesPerToken, bytesPerTenant } = this.#limits;
    const held = this.#ofToken.of(tokenId);
    if (held >= bytesPerToken) return this.#refuse('token', held, bytesPerToken);
    const ofTenant = this.#ofTenant.of(tenantId);
    if (ofTenant >= bytesPerTenant) return this.#refuse('tenant', ofTenant, bytesPerTenant);
    if (held > 0 && this.bytes >= TENANTS_AT_ONCE * bytesPerTenant)
      return this.#refuse('token', held, bytesPerToken);
    return undefined;
  }

  /** Counts what a stream keeps for its reader until the connection is over; false: that would be too much. */
  hold(response: ServerResponse, principal: Principal, bytes: number): boolean {
    if (response.destroyed || this.refusal(principal) !== undefined) return false;
    this.#count(response, principal, bytes);
    return true;
  }

  #count(response: ServerResponse, { tokenId, tenantId }: Principal, bytes: number): void {
    const add = (by: number): void => {
      this.bytes += by;
      this.#ofToken.add(tokenId, by);
      this.#ofTenant.add(tenantId, by);
    };
    add(bytes);
    response.once('close', () => add(-bytes));
  }

  /**
   * After an answer was written: what the connection did not take at once is counted until it did. With TLS it never takes anything before the
   * turn ends, although it sends it at once: a short answer is looked at then. One that waits behind others on its connection is counted now.
   */
  follow(response: ServerResponse, principal: Principal): void {
    const bytes = response.writableLength;
    if (bytes === 0 || response.destroyed) return;
    if (bytes > SHORT_BYTES || response.socket === null) return this.#follow(response, principal, bytes);
    if (this.#written.push({ response, principal }) === 1) setImmediate(() => this.#endTurn());
  }

  #endTurn(): void {
    const written = this.#written;
    this.#written = [];
    for (const { response, principal } of written) {
      const bytes = response.writableLength;
      if (bytes > 0 && !response.destroyed) this.#follow(response, principal, bytes);
    }
  }

  #follow(response: ServerResponse, principal: Principal, bytes: number): void {
    this.#count(response, principal, bytes);
    const end = this.hangUpLate(response);
    const late = setTimeout(end, this.#limits.sendTimeoutMs + bytes / SLOWEST_BYTES_PER_MS);
    response.once('close', () => clearTimeout(late));
  }

  /** A connection that takes nothing of its answer for the time is ended. */
  hangUpLate(response: ServerResponse): () => void {
    const end = (): void => {
      this.ended += 1;
      response.destroy();
    };
    response.setTimeout(this.#limits.sendTimeoutMs, end);
    return end;
  }

  #refuse(whose: 'token' | 'tenant', held: number, most: number): Rejection {
    this.refused += 1;
    return {
      ...reject('answers_unread', {
        field: 'Authorization',
        received: `${held} bytes of answers to the ${whose} that were not read yet`,
        expected: `at most ${most} bytes per ${whose}`,
        why: 'Unread answers fill the memory of the control plane; read or close the connections that are open.',
      }),
      retryAfterSeconds: RETRY_SECONDS,
    };
  }
}

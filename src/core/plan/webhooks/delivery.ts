import type { EventRecord } from '../../model/event.ts';
import { isAbout, isOfKind } from '../../model/event-filter.ts';
import type { TenantId } from '../../model/ids.ts';
import type { EventFilter, WebhookSpec } from '../../model/webhook.ts';

const FIRST_RETRY_MS = 1000;
const MAX_RETRY_MS = 15 * 60_000;
/** A receiver may ask for no longer a wait than this. */
const MAX_ASKED_MS = 3_600_000;
/** An event that the receiver refuses for what it is does not hold up the others longer than so many attempts. */
const MAX_REFUSED = 10;

export function isWanted({ kinds = [], subjects = [] }: EventFilter, event: EventRecord): boolean {
  return (
    (kinds.length === 0 || kinds.some((kind) => isOfKind(kind, event.kind))) &&
    (subjects.length === 0 || subjects.some((subject) => isAbout(subject, event.subject)))
  );
}

/** What an attempt came to, by the receiver's answer or for want of one. */
export type Answer =
  | { readonly status: number; readonly retryAfterMs?: number }
  | { readonly failure: 'timeout' | 'unreachable' | 'blocked' | 'unsigned'; readonly message: string }
  /** Nothing was tried: this process is at its bounds, or ends. */
  | { readonly failure: 'busy' | 'closed' };

/** One attempt to send an event. */
export type PostEvent = (
  tenantId: TenantId,
  webhook: Pick<WebhookSpec, 'url' | 'signing'>,
  event: EventRecord,
  signal: AbortSignal,
) => Promise<Answer>;

/** The fixed set that attempts are counted by. */
export const OUTCOMES = [
  'delivered',
  'refused',
  'error',
  'timeout',
  'unreachable',
  'blocked',
  'unsigned',
  'dead_letter',
] as const;
export type Outcome = (typeof OUTCOMES)[number];

export type Verdict =
  | { readonly outcome: 'delivered'; readonly code: number }
  | { readonly outcome: 'none'; readonly isEnding: boolean }
  | {
      readonly outcome: Exclude<Outcome, 'delivered' | 'dead_letter'>;
      readonly reason: string;
      readonly code?: number;
      readonly retryAfterMs?: number;
      /** 410: the receiver wants nothing more. */
      readonly isGone?: true;
      /** The event is refused for what it is: the next one may be taken. */
      readonly isRefused?: true;
    };

const REFUSED = new Set([400, 413, 415, 422]);

export function judge(answer: Answer): Verdict {
  if ('failure' in answer) {
    return 'message' in answer
      ? { outcome: answer.failure, reason: answer.message }
      : { outcome: 'none', isEnding: answer.failure === 'closed' };
  }
  const { status: code, retryAfterMs } = answer;
  if (code >= 200 && code < 300) return { outcome: 'delivered', code };
  const asked = retryAfterMs === undefined ? {} : { retryAfterMs: Math.min(retryAfterMs, MAX_ASKED_MS) };
  if (code >= 300 && code < 400)
    return { outcome: 'refused', code, reason: `HTTP ${code}: redirects are not followed`, ...asked };
  if (code === 410)
    return { outcome: 'refused', code, reason: 'HTTP 410: the receiver wants nothing more', isGone: true };
  return {
    outcome: code >= 500 ? 'error' : 'refused',
    code,
    reason: `HTTP ${code}`,
    ...asked,
    ...(REFUSED.has(code) && { isRefused: true as const }),
  };
}

/** An event that is refused for what it is, so often. */
export function isGivenUp(verdict: Verdict, attempts: number): boolean {
  return 'isRefused' in verdict && attempts >= MAX_REFUSED;
}

/** Doubles with each attempt, half of it by chance: receivers that come back are not met by everybody at once. */
export function retryDelayMs(attempts: number, random: number, askedMs = 0): number {
  const whole = Math.min(MAX_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(attempts - 1, 20));
  return Math.max(askedMs, Math.round(whole * (0.5 + random / 2)));
}

/** CloudEvents 1.0, JSON format. */
export function cloudEvent({ id, at, kind, tenantId, subject, message, details }: EventRecord): object {
  return {
    specversion: '1.0',
    id,
    source: `/tenants/${tenantId}`,
    type: `io.berth.${kind}`,
    subject: `${subject.kind}/${subject.name}`,
    time: at,
    datacontenttype: 'application/json',
    data: { kind, subject, message, details },
  };
}

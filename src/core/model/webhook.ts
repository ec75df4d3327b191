import type { EventRecord } from './event.ts';
import type { TenantId } from './ids.ts';

/** Which events are sent; a list that is absent or empty leaves out none. */
export interface EventFilter {
  /** A kind such as `node.failed`, or all that begin alike: `deployment.*`. */
  readonly kinds?: readonly string[];
  /** A name, `Kind/name`, or all of a kind: `Node/*`. */
  readonly subjects?: readonly string[];
}

/** Where the key is that requests are signed with; read when one is sent, never stored. */
export interface SigningKey {
  readonly vault_path: string;
  readonly key: string;
}

export interface WebhookSpec {
  readonly name: string;
  readonly url: string;
  readonly events: EventFilter;
  readonly signing: SigningKey;
  /** Nothing is sent; events are held as for a receiver that is away. */
  readonly paused: boolean;
}

export interface WebhookRecord extends WebhookSpec {
  /** Another one of the same name has another id. */
  readonly id: string;
  readonly tenantId: TenantId;
  readonly createdAt: string;
  readonly updatedAt: string;
}

/** Of the journal: every event up to here is done with. Events are ordered by commit; those of one commit by their ids. */
export interface JournalPosition {
  /** Which store the revision is one of: a store that was written anew has others. */
  readonly origin: string;
  readonly revision: number;
  readonly event: string;
}

export interface WebhookFailure {
  readonly at: string;
  readonly event: string;
  readonly reason: string;
  /** HTTP status; absent: there was no answer. */
  readonly code?: number;
}

/** How the sending goes; written by the control plane that sends. */
export interface WebhookDelivery {
  readonly position: JournalPosition;
  /** Events not yet sent, as of the last write. */
  readonly pending: number;
  readonly lastSuccess?: { readonly at: string; readonly event: string; readonly code: number };
  readonly lastFailure?: WebhookFailure;
  /** While the oldest event is not taken. */
  readonly failing?: {
    readonly event: string;
    readonly attempts: number;
    readonly since: string;
    readonly retryAt: string;
  };
  /** The receiver answered 410 to this revision of the webhook: nothing more is sent until it is written again. */
  readonly gone?: { readonly at: string; readonly revision: number };
  /** As many as are kept. */
  readonly deadLetters: number;
  /** What they take together; absent: written by a release that did not count it. */
  readonly deadLetterBytes?: number;
  /** Dead letters that had to make room for newer ones. */
  readonly dropped: number;
  /** The last order to send dead letters again that was carried out. */
  readonly redelivered?: number;
}

/** Dead letters to send again. */
export interface WebhookOrders {
  readonly redeliver: number;
  /** Absent: all of them. */
  readonly events?: readonly string[];
}

/** An event that was given up. */
export interface DeadLetter {
  readonly event: EventRecord;
  readonly deadAt: string;
  readonly reason: string;
  readonly attempts: number;
  readonly code?: number;
}

/** How long an event is tried. */
export const HOLD_DAYS = 3;
/** Of one webhook; older ones make room. */
export const MAX_DEAD_LETTERS = 1000;
/** The same in bytes; the newest one stays, however large it is. */
export const MAX_DEAD_LETTER_BYTES = 2 ** 20;
export const MAX_FILTER_ENTRIES = 64;
export const MAX_REDELIVERED = 100;

export function specOf({ name, url, events, signing, paused }: WebhookSpec): WebhookSpec {
  return { name, url, events, signing, paused };
}

import type { EventRecord } from '../../../core/model/event.ts';
import type { JournalPosition, WebhookRecord } from '../../../core/model/webhook.ts';
import { isWanted } from '../../../core/plan/webhooks/delivery.ts';
import type { Stored } from '../../store/collection.ts';
import type { TenantStore } from '../../store/store.ts';
import type { ReconcileRequest } from '../reconciler.ts';
import { Backlog } from './backlog.ts';

/** One webhook as this process sends for it. */
export interface Lane {
  readonly webhook: string;
  readonly filter: string;
  readonly backlog: Backlog;
  /** On the monotonic clock; before it nothing is sent. */
  dueMs: number;
  toldMs: number;
  /** Of the webhook, when it was last looked at. */
  revision: number;
  /** An earlier process may have been told to wait. */
  isResumed: boolean;
  /** One at a time works on it. */
  turn: Promise<void>;
  /** Others that want their turn: sending makes way for them. */
  waiting: number;
  /** Under the filter of before everything up to here was done: a wider one sends nothing of the past. */
  from: JournalPosition | undefined;
}

export interface Hook {
  readonly request: ReconcileRequest;
  readonly tenant: TenantStore;
  readonly stored: Stored<WebhookRecord>;
  readonly lane: Lane;
  /** Of this webhook in this store: what is told by revisions holds within it. */
  readonly origin: string;
}

/** What a webhook publishes about its own deliveries is not delivered by it. */
const OWN_EVENTS: ReadonlySet<string> = new Set([
  'webhook.failing',
  'webhook.recovered',
  'webhook.gone',
  'webhook.dead_lettered',
]);

function wantsOf({ name, events }: WebhookRecord): (event: EventRecord) => boolean {
  return (event) =>
    isWanted(events, event) &&
    !(event.subject.kind === 'Webhook' && event.subject.name === name && OWN_EVENTS.has(event.kind));
}

/** As it is sent for from now on; `before` is how this process sent until now, perhaps under another filter, or for another webhook of the name. */
export function laneOf(
  { record: { id, events }, record, modRevision }: Stored<WebhookRecord>,
  origin: string,
  before: Lane | undefined,
): Lane {
  const filter = JSON.stringify(events);
  if (before !== undefined && before.webhook === id && before.filter === filter) return before;
  const done = before?.webhook === id ? before.backlog.settled(origin, '') : undefined;
  return {
    webhook: id,
    filter,
    backlog: new Backlog(wantsOf(record)),
    dueMs: 0,
    toldMs: Number.NEGATIVE_INFINITY,
    revision: modRevision,
    isResumed: before === undefined,
    turn: before?.turn ?? Promise.resolve(),
    // Whoever waits for the one before has its turn first.
    waiting: 0,
    from: done && { ...done, revision: Math.min(done.revision + 1, modRevision) },
  };
}

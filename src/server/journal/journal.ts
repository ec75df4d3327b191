import type { ArchiveChange, AuditRecord, EventSubject } from '../../core/model/event.ts';
import type { DeploymentRecord } from '../../core/model/deployment.ts';
import type { TenantId } from '../../core/model/ids.ts';
import type { Principal } from '../access/principal.ts';
import { type Clock, timeText } from '../clock.ts';
import type { Ids } from '../ids.ts';
import { archiveId, archiveRecord, putVersion, removeDeployment } from '../store/deployment-rows.ts';
import type { Transaction } from '../store/transaction.ts';

/** On whose behalf a change is made; controllers act as the system. */
export interface Actor {
  readonly principal?: Principal;
  readonly requestId: string;
  readonly source?: string;
  readonly forwardedFor?: string;
}

export interface PublishedEvent {
  readonly kind: string;
  readonly subject: EventSubject;
  readonly message: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

/** Bounded history, of large specs in bytes too. */
const ARCHIVE_VERSIONS = 100;
const ARCHIVE_BYTES = 4 * 1024 * 1024;
export const FEWEST_VERSIONS = 16;
/** Where specs grew, many are one too many at once: so many writes remove them, so many each. */
const REMOVED_AT_ONCE = 20;
const REMOVED_IN = 5;

/** How many versions of this size are kept. */
function versionsKept(bytes: number): number {
  return Math.min(ARCHIVE_VERSIONS, Math.max(FEWEST_VERSIONS, Math.floor(ARCHIVE_BYTES / bytes)));
}

export function actorName(actor: Actor): string {
  return actor.principal?.tokenId ?? 'system';
}

/** Adds the event, the audit line and the archive version to the transaction of the change they tell of. */
export class Journal {
  readonly #clock: Clock;
  readonly #ids: Ids;

  constructor(clock: Clock, ids: Ids) {
    this.#clock = clock;
    this.#ids = ids;
  }

  /** Read before the id is made: who asks since a time begins at the lowest id of its millisecond. */
  #now(): string {
    return timeText(this.#clock);
  }

  event(transaction: Transaction, tenantId: TenantId, event: PublishedEvent): void {
    const at = this.#now();
    const id = this.#ids.next('event');
    transaction.putCold('events', id, {
      id,
      at,
      kind: event.kind,
      tenantId,
      subject: event.subject,
      message: event.message,
      details: event.details ?? {},
    });
  }

  audit(
    transaction: Transaction,
    tenantId: TenantId,
    actor: Actor,
    action: string,
    subject: EventSubject,
    details?: AuditRecord['details'],
  ): void {
    const at = this.#now();
    const id = this.#ids.next('audit');
    const { principal } = actor;
    transaction.putCold('audit', id, {
      id,
      at,
      actor: actorName(actor),
      ...(principal === undefined || principal.tenantId === tenantId
        ? {}
        : { actorTenantId: principal.tenantId }),
      role: principal?.role ?? 'system',
      tenantId,
      action,
      subject,
      result: 'accepted',
      requestId: actor.requestId,
      ...(actor.source === undefined ? {} : { source: actor.source }),
      ...(actor.forwardedFor === undefined ? {} : { forwardedFor: actor.forwardedFor }),
      ...(details && { details }),
    });
  }

  /** Stores a deployment with a new version. The version that it pushes out of the bounds goes in the same commit. */
  version(
    transaction: Transaction,
    actor: Actor,
    {
      previous,
      record,
      change,
    }: {
      readonly previous: DeploymentRecord | undefined;
      readonly record: DeploymentRecord;
      readonly change: ArchiveChange;
    },
  ): void {
    putVersion(transaction, { previous, record }, { change, at: this.#now(), by: actorName(actor) });
    removeOldest(transaction, record);
  }

  /** Removes a deployment; that is a version too, and the last one. */
  lastVersion(transaction: Transaction, actor: Actor, previous: DeploymentRecord): void {
    removeDeployment(transaction, previous);
    const record = { ...previous, version: previous.version + 1 };
    const origin = { change: 'deleted', at: this.#now(), by: actorName(actor) } as const;
    const id = archiveId(record.spec.name, record.version);
    transaction.putCold('archives', id, archiveRecord(record, origin));
    removeOldest(transaction, record);
  }
}

/** What is too much with this version. */
function removeOldest(transaction: Transaction, { spec, version }: DeploymentRecord): void {
  const remove = (old: number): void => {
    if (old > 0) transaction.deleteCold('archives', archiveId(spec.name, old));
  };
  // So many are kept of any size: the spec need not be written out to know how long it is.
  if (version <= FEWEST_VERSIONS) return;
  remove(version - ARCHIVE_VERSIONS);
  const kept = versionsKept(JSON.stringify(spec).length);
  if (kept === ARCHIVE_VERSIONS) return;
  const from = version - kept - (version % REMOVED_IN) * REMOVED_AT_ONCE;
  for (let more = 0; more < REMOVED_AT_ONCE; more += 1) remove(from - more);
}

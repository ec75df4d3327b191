import { type Answer, exactly } from '../../../core/schema/shape.ts';
import type { archive, auditLine, event as eventAnswer } from '../../../core/contract/answers/history.ts';
import { ARCHIVES, AUDIT, EVENTS } from '../../../core/operations/history.ts';
import { deploymentNotFound } from '../../writes/deployments/deployment-write.ts';
import { fieldText } from '../../../core/model/values.ts';
import { isRejection } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import { EVENT_KIND } from '../../../core/contract/webhook-body.ts';
import type { AuditRecord, EventRecord } from '../../../core/model/event.ts';
import { isAbout, isOfKind, KIND_FORM } from '../../../core/model/event-filter.ts';
import type { IdKind } from '../../../core/model/ids.ts';
import { lowestAt } from '../../ids.ts';
import type { Stored } from '../../store/collection.ts';
import type { ColdRecords } from '../../store/records.ts';
import { invalidParameter, type PageRequest, pageReply, pageRequest, readPage } from '../paging.ts';
import {
  JsonText,
  lasts,
  type ReplyTo,
  type RequestFor,
  type Route,
  type RouteRequest,
  serve,
} from '../route.ts';
import type { EventFeeds } from '../event-feed.ts';
import { eventStream } from '../event-stream.ts';

/** RFC 3339; `Date.parse` takes much more, and what it makes of it depends on the clock of the machine. */
const TIME = /^(\d{4}-\d\d-\d\d)T(?:[01]\d|2[0-3]):\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/i;

/** The 30th of February would be a day in March. */
function isInCalendar(day: string): boolean {
  const ms = Date.parse(day);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(day);
}

function sinceParameter(text: string | undefined): number | undefined | Rejection {
  if (text === undefined) return undefined;
  const day = TIME.exec(text)?.[1];
  const ms = day !== undefined && isInCalendar(day) ? Date.parse(text) : Number.NaN;
  return Number.isNaN(ms)
    ? invalidParameter('since', text, 'an RFC 3339 time such as 2026-01-31T12:00:00Z')
    : ms;
}

interface EventFilter {
  readonly kind?: string;
  readonly subject?: string;
  readonly since?: number;
}

export function matchesFilter(filter: EventFilter, event: EventRecord): boolean {
  if (filter.kind !== undefined && !isOfKind(filter.kind, event.kind)) return false;
  if (
    filter.subject !== undefined &&
    !isAbout(filter.subject, event.subject) &&
    // Of an order to its deployment that names it, too.
    `Instance/${fieldText(event.details, 'instance') ?? ''}` !== filter.subject
  )
    return false;
  return filter.since === undefined || Date.parse(event.at) >= filter.since;
}

interface AuditFilter {
  readonly actor?: string | undefined;
  readonly action?: string | undefined;
  readonly subject?: string | undefined;
  readonly since?: number | undefined;
}

function matchesAudit({ actor, action, subject, since }: AuditFilter, line: AuditRecord): boolean {
  return (
    (actor === undefined || line.actor === actor) &&
    (action === undefined || isOfKind(action, line.action)) &&
    (subject === undefined || isAbout(subject, line.subject)) &&
    (since === undefined || Date.parse(line.at) >= since)
  );
}

function auditFilter(query: RequestFor<typeof AUDIT.list>['query']): AuditFilter | Rejection {
  const { actor, action, subject } = query;
  if (action !== undefined && (action.length > EVENT_KIND.maxLength || !KIND_FORM.test(action)))
    return invalidParameter(
      'action',
      action,
      'an action such as deployment.created, or a beginning such as deployment.*',
    );
  const since = sinceParameter(query.since);
  return isRejection(since) ? since : { actor, action, subject, since };
}

const asEvent = exactly<Answer<typeof eventAnswer>>();
const asAuditLine = exactly<Answer<typeof auditLine>>();

const SLICE = 250;
/** Records scanned for one page; beyond it the page ends early, with a link to go on. More events than are kept of a tenant by default. */
const MAX_LOOKED_AT = 20_000;
/** So many records that a filter skips count as one more request. */
const SKIPPED_PER_REQUEST = 32;

interface Found<T> {
  readonly found: readonly Stored<T>[];
  /** The last one that was scanned, if there may be more behind it. */
  readonly upTo?: string;
}

/** Ids are never of an earlier millisecond than their records. */
function startAt(kind: IdKind, { after }: PageRequest, since: number | undefined): string | undefined {
  return after ?? (since === undefined ? undefined : lowestAt(kind, Math.max(0, since)));
}

/** Reads on until the page is full, and one more: a filter may skip most of what is stored, but hardly ever ends a page early. */
async function readMatching<K extends 'events' | 'audit'>(
  { store, charge }: Pick<RouteRequest, 'store' | 'charge'>,
  kind: K,
  matches: (record: ColdRecords[K]) => boolean,
  start: string | undefined,
  { limit }: PageRequest,
): Promise<Found<ColdRecords[K]>> {
  const count = limit + 1;
  const found: Stored<ColdRecords[K]>[] = [];
  let from = start;
  for (let looked = 0; looked < MAX_LOOKED_AT; looked += SLICE) {
    // Others are answered between two slices.
    if (looked > 0) await new Promise(setImmediate);
    const { entries } = await store.rangeCold(kind, '', {
      limit: SLICE,
      ...(from === undefined ? {} : { after: from }),
    });
    const matching = entries.filter(({ record }) => matches(record));
    charge((entries.length - matching.length) / SKIPPED_PER_REQUEST);
    found.push(...matching.slice(0, count - found.length));
    if (found.length === count) return { found };
    from = entries.at(-1)?.id;
    if (entries.length < SLICE || from === undefined) return { found };
  }
  return from === undefined ? { found } : { found, upTo: from };
}

async function events(
  request: RequestFor<typeof EVENTS.list>,
  feeds: EventFeeds,
): Promise<ReplyTo<typeof EVENTS.list>> {
  const { query, headers } = request;
  const { kind, subject, since } = query;
  const sinceMs = sinceParameter(since);
  if (isRejection(sinceMs)) return sinceMs;
  const filter: EventFilter = {
    ...(kind === undefined ? {} : { kind }),
    ...(subject === undefined ? {} : { subject }),
    ...(sinceMs === undefined ? {} : { since: sinceMs }),
  };
  if (lasts(EVENTS.list, headers)) {
    const wants = (event: EventRecord): boolean => matchesFilter(filter, event);
    return eventStream(request, feeds, { key: JSON.stringify(filter), wants });
  }
  const page = pageRequest(query);
  if (isRejection(page)) return page;
  const { found, upTo } = await readMatching(
    request,
    'events',
    (event) => matchesFilter(filter, event),
    startAt('event', page, filter.since),
    page,
  );
  return pageReply(
    page,
    EVENTS.list.path,
    query,
    found,
    ({ id }) => id,
    ({ record }) => asEvent(record),
    upTo,
  );
}

async function audit(request: RequestFor<typeof AUDIT.list>): Promise<ReplyTo<typeof AUDIT.list>> {
  const { store, query } = request;
  const page = pageRequest(query);
  if (isRejection(page)) return page;
  const filter = auditFilter(query);
  if (isRejection(filter)) return filter;
  if (Object.values(filter).every((one) => one === undefined)) {
    const entries = await readPage(page, (options) => store.rangeColdText('audit', '', options));
    return pageReply(
      page,
      AUDIT.list.path,
      query,
      entries,
      ({ id }) => id,
      ({ record }) => new JsonText<Answer<typeof auditLine>>(record),
    );
  }
  const { found, upTo } = await readMatching(
    request,
    'audit',
    (line) => matchesAudit(filter, line),
    startAt('audit', page, filter.since),
    page,
  );
  return pageReply(
    page,
    AUDIT.list.path,
    query,
    found,
    ({ id }) => id,
    ({ record }) => asAuditLine(record),
    upTo,
  );
}

export function historyRoutes(feeds: EventFeeds): Route[] {
  return [
    serve(EVENTS.list, (request) => events(request, feeds)),
    serve(ARCHIVES.list, async ({ store, params, query }) => {
      const page = pageRequest(query);
      if (isRejection(page)) return page;
      const name = params.name;
      const entries = await readPage(page, (options) => store.archivesText(name, options));
      if (entries.length === 0 && (await store.archivesText(name, { limit: 1 })).entries.length === 0)
        return deploymentNotFound('name', name);
      return pageReply(
        page,
        `/api/v1/archives/deployments/${encodeURIComponent(name)}`,
        query,
        entries,
        ({ id }) => id,
        ({ record }) => new JsonText<Answer<typeof archive>>(record),
      );
    }),
    serve(AUDIT.list, audit),
  ];
}

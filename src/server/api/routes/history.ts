import { type Answer, exactly } from '../../../core/schema/shape.ts';
import type { archive, auditLine, event as eventAnswer } from '../../../core/contract/answers/history.ts';
import { ARCHIVES, AUDIT, EVENTS } from '../../../core/operations/history.ts';
import { deploymentNotFound } from '../../writes/deployments/deployment-write.ts';
import { fieldText } from '../../../core/model/values.ts';
import { isRejection } from '../../../core/rejections/reject.ts';
import type { EventRecord } from '../../../core/model/event.ts';
import { lowestAt } from '../../ids.ts';
import type { Stored } from '../../store/collection.ts';
import { prefixOf } from '../../store/record-ids.ts';
import { invalidParameter, pageReply, pageRequest, readPage } from '../paging.ts';
import {
  JsonText,
  lasts,
  type ReplyTo,
  type RequestFor,
  type Route,
  type RouteRequest,
  serve,
} from '../route.ts';
import { EventFeeds } from '../event-feed.ts';
import { eventStream } from '../event-stream.ts';

/** RFC 3339; `Date.parse` takes much more, and what it makes of it depends on the clock of the machine. */
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/i;

function timeOf(text: string): number {
  return TIME.test(text) ? Date.parse(text) : Number.NaN;
}

interface EventFilter {
  readonly kind?: string;
  readonly subject?: string;
  readonly since?: number;
}

export function matchesFilter(filter: EventFilter, event: EventRecord): boolean {
  if (filter.kind !== undefined && event.kind !== filter.kind) return false;
  if (
    filter.subject !== undefined &&
    event.subject.name !== filter.subject &&
    `${event.subject.kind}/${event.subject.name}` !== filter.subject &&
    // Of an order to its deployment that names it, too.
    `Instance/${fieldText(event.details, 'instance') ?? ''}` !== filter.subject
  )
    return false;
  return filter.since === undefined || Date.parse(event.at) >= filter.since;
}

const asEvent = exactly<Answer<typeof eventAnswer>>();

const SLICE = 250;
/** Events scanned for one page; beyond it the page ends early, with a link to go on. More than are kept of a tenant by default. */
const MAX_LOOKED_AT = 20_000;
/** So many events that a filter skips count as one more request. */
const SKIPPED_PER_REQUEST = 32;

interface FoundEvents {
  readonly found: readonly Stored<EventRecord>[];
  /** The last one that was scanned, if there may be more behind it. */
  readonly upTo?: string;
}

/** Reads on until the page is full: a filter may skip most of what is stored, but hardly ever ends a page early. */
async function readEvents(
  { store, charge }: Pick<RouteRequest, 'store' | 'charge'>,
  filter: EventFilter,
  after: string | undefined,
  count: number,
): Promise<FoundEvents> {
  const found: Stored<EventRecord>[] = [];
  // Ids are never of an earlier millisecond than their events.
  let from = after ?? (filter.since === undefined ? undefined : lowestAt('event', Math.max(0, filter.since)));
  for (let looked = 0; looked < MAX_LOOKED_AT; looked += SLICE) {
    // Others are answered between two slices.
    if (looked > 0) await new Promise(setImmediate);
    const { entries } = await store.rangeCold('events', '', {
      limit: SLICE,
      ...(from === undefined ? {} : { after: from }),
    });
    const matching = entries.filter(({ record }) => matchesFilter(filter, record));
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
  const sinceMs = since === undefined ? undefined : timeOf(since);
  if (since !== undefined && Number.isNaN(sinceMs))
    return invalidParameter('since', since, 'an RFC 3339 time such as 2026-01-31T12:00:00Z');
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
  const { found, upTo } = await readEvents(request, filter, page.after, page.limit + 1);
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

export function historyRoutes(): Route[] {
  const feeds = new EventFeeds();
  return [
    serve(EVENTS.list, (request) => events(request, feeds)),
    serve(ARCHIVES.list, async ({ store, params, query }) => {
      const page = pageRequest(query);
      if (isRejection(page)) return page;
      const name = params.name;
      const under = `${prefixOf('archives', name)}/`;
      const entries = await readPage(page, (options) => store.rangeColdText('archives', under, options));
      if (
        entries.length === 0 &&
        (await store.rangeCold('archives', under, { limit: 1 })).entries.length === 0
      )
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
    serve(AUDIT.list, async ({ store, query }) => {
      const page = pageRequest(query);
      if (isRejection(page)) return page;
      const entries = await readPage(page, (options) => store.rangeColdText('audit', '', options));
      return pageReply(
        page,
        AUDIT.list.path,
        query,
        entries,
        ({ id }) => id,
        ({ record }) => new JsonText<Answer<typeof auditLine>>(record),
      );
    }),
  ];
}

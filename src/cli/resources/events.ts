import { actorText } from '../../core/model/actor-text.ts';
import { textOf } from '../fields.ts';
import type { Listing } from '../output.ts';
import type { Audit, Event } from '../records.ts';
import { ageOf, field, labelsOf, type Resource } from './resource.ts';

export function subjectText({ subject }: Pick<Event, 'subject'>): string {
  return `${textOf(subject?.kind).toLowerCase()}/${textOf(subject?.name)}`;
}

export const EVENTS: Listing<Event> = {
  nameOf: (record) => textOf(record.id),
  columns: [
    ageOf((one) => one.at),
    field('KIND', (one) => one.kind),
    { header: 'SUBJECT', cell: subjectText },
    { header: 'MESSAGE', cell: (record) => textOf(record.message).split('\n').join('; ') },
  ],
};

export const events: Resource<Event> = {
  ...EVENTS,
  name: 'events',
  aliases: ['event', 'ev'],
  nothing: 'no events',
  list: (client, { deployment }) => client.list('GET /api/v1/events', { query: { subject: deployment } }),
};

/** With the names that tokens have. */
export function auditListing(names: ReadonlyMap<string, string>): Listing<Audit> {
  return {
    nameOf: (record) => textOf(record.id),
    columns: [
      ageOf((one) => one.at),
      field('AT', (one) => one.at, true),
      { header: 'ACTOR', cell: (record) => actorText(record, names) },
      field('TOKEN', (one) => one.actor, true),
      field('ROLE', (one) => one.role, true),
      field('ACTION', (one) => one.action),
      { header: 'SUBJECT', cell: subjectText },
      field('RESULT', (one) => one.result),
      field('FROM', (one) => one.forwardedFor ?? one.source),
      field('REQUEST', (one) => one.requestId, true),
      { header: 'DETAILS', cell: ({ details }) => labelsOf({ labels: details }), wide: true },
    ],
  };
}

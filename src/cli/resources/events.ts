import { textOf } from '../fields.ts';
import type { Listing } from '../output.ts';
import type { Event } from '../records.ts';
import { ageOf, field, type Resource } from './resource.ts';

export const EVENTS: Listing<Event> = {
  nameOf: (record) => textOf(record.id),
  columns: [
    ageOf((one) => one.at),
    field('KIND', (one) => one.kind),
    {
      header: 'SUBJECT',
      cell: (record) => `${textOf(record.subject?.kind).toLowerCase()}/${textOf(record.subject?.name)}`,
    },
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

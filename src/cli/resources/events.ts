import { textOf } from '../fields.ts';
import type { Listing } from '../output.ts';
import { ageOf, field, named, type Resource } from './resource.ts';

export const EVENTS: Listing = {
  nameOf: named('id'),
  columns: [
    ageOf('at'),
    field('KIND', 'kind'),
    {
      header: 'SUBJECT',
      cell: (record) => `${textOf(record, 'subject.kind').toLowerCase()}/${textOf(record, 'subject.name')}`,
    },
    { header: 'MESSAGE', cell: (record) => textOf(record, 'message').split('\n').join('; ') },
  ],
};

export const events: Resource = {
  ...EVENTS,
  name: 'events',
  aliases: ['event', 'ev'],
  nothing: 'no events',
  list: (client, { deployment }) => client.list('/api/v1/events', { subject: deployment }),
};

import { named } from '../client.ts';
import { textOf } from '../fields.ts';
import type { Webhook } from '../records.ts';
import { ageOf, field, messageOf, type Resource } from './resource.ts';

export const webhooks: Resource<Webhook> = {
  name: 'webhooks',
  aliases: ['webhook'],
  nameOf: (record) => `webhook/${textOf(record.name)}`,
  page: (record) => `/webhooks/${textOf(record.name)}`,
  nothing: 'no webhooks yet',
  next: 'berth webhook create NAME --url URL --signing-key NAMESPACE/NAME',
  list: (client) => client.list('GET /api/v1/webhooks'),
  one: (client, name) => client.record('GET /api/v1/webhooks/{name}', named(name)),
  columns: [
    field('NAME', (one) => one.name),
    field('STATE', (one) => one.status?.state),
    field('PENDING', (one) => one.status?.pending),
    field('DEAD', (one) => one.status?.deadLetters),
    ageOf((one) => one.status?.lastSuccess?.at, 'DELIVERED'),
    ageOf((one) => one.createdAt),
    field('URL', (one) => one.url),
    messageOf(({ status }) => (status?.state === 'active' ? '' : status?.lastFailure?.reason)),
  ],
};

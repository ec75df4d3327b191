import { formatBytes } from '../../core/model/quantity.ts';
import { type Json, segment } from '../client.ts';
import { numberOf, textOf, textsOf, valueOf } from '../fields.ts';
import type { Column } from '../output.ts';
import { ageOf, field, type Resource } from './resource.ts';

export const tokens: Resource = {
  name: 'tokens',
  aliases: ['token'],
  nameOf: (record) => `token/${textOf(record, 'id')}`,
  nothing: 'no tokens',
  list: (client) => client.list('/api/v1/tokens'),
  columns: [
    field('ID', 'id'),
    field('NAME', 'name'),
    field('ROLE', 'role'),
    field('KIND', 'kind', true),
    { header: 'STATE', cell: (record, now) => tokenState(record, now) },
    field('EXPIRES', 'expiresAt'),
    ageOf('createdAt'),
  ],
};

function tokenState(record: Json, now: number): string {
  if (textOf(record, 'revokedAt') !== '') return 'revoked';
  const expires = textOf(record, 'expiresAt');
  return expires !== '' && Date.parse(expires) <= now ? 'expired' : 'active';
}

const limit = (header: string, path: string, show: (value: number) => string = String): Column => ({
  header,
  cell: (record) => {
    const value = numberOf(record, path);
    return value === undefined ? '-' : show(value);
  },
});

export const tenants: Resource = {
  name: 'tenants',
  aliases: ['tenant'],
  nameOf: (record) => `tenant/${textOf(record, 'slug')}`,
  nothing: 'no tenants',
  list: (client) => client.list('/api/v1/tenants'),
  one: (client, name) => client.record({ path: `/api/v1/tenants/${segment(name)}` }),
  columns: [
    field('SLUG', 'slug'),
    field('NAME', 'name'),
    field('ID', 'id'),
    limit('CONTAINERS', 'quota.containers'),
    limit('CPU', 'quota.cpu'),
    limit('MEMORY', 'quota.memoryBytes', formatBytes),
    ageOf('createdAt'),
  ],
};

/** Null: the store does not let anybody look. */
const EXISTS: ReadonlyMap<unknown, string> = new Map([
  [false, 'no'],
  [null, 'denied'],
]);

export const secrets: Resource = {
  name: 'secrets',
  aliases: ['secret'],
  nameOf: (record) => `secret/${textOf(record, 'path')}`,
  nothing:
    'no deployment references a secret yet, and only those that are referenced are listed; berth secret show PATH finds every one',
  list: (client) => client.list('/api/v1/secrets/resources'),
  one: (client, name) => client.record({ path: `/api/v1/secrets/${name.split('/').map(segment).join('/')}` }),
  columns: [
    field('PATH', 'path'),
    { header: 'EXISTS', cell: (record) => EXISTS.get(valueOf(record, 'exists')) ?? 'yes' },
    { header: 'KEYS', cell: (record) => textsOf(record, 'keys').join(',') },
    field('VERSION', 'version'),
    { header: 'CONSUMERS', cell: (record) => textOf(record, 'consumers') },
  ],
};

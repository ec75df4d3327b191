import { formatBytes } from '../../core/model/quantity.ts';
import { secretParams } from '../secret-path.ts';
import { textOf } from '../fields.ts';
import type { Column } from '../output.ts';
import type { Secret, Tenant, Token } from '../records.ts';
import { ageOf, expiresOf, field, type Resource } from './resource.ts';

export const tokens: Resource<Token> = {
  name: 'tokens',
  aliases: ['token'],
  nameOf: (record) => `token/${textOf(record.id)}`,
  nothing: 'no tokens',
  list: (client) => client.list('GET /api/v1/tokens'),
  columns: [
    field('ID', (one) => one.id),
    field('NAME', (one) => one.name),
    field('ROLE', (one) => one.role),
    field('KIND', (one) => one.kind, true),
    { header: 'STATE', cell: (record, now) => tokenState(record, now) },
    expiresOf((one) => one.expiresAt),
    ageOf((one) => one.createdAt),
  ],
};

function tokenState(record: Token, now: number): string {
  if (textOf(record.revokedAt) !== '') return 'revoked';
  const expires = textOf(record.expiresAt);
  return expires !== '' && Date.parse(expires) <= now ? 'expired' : 'active';
}

const limit = (
  header: string,
  read: (quota: NonNullable<Tenant['quota']>) => number | undefined,
  show: (value: number) => string = String,
): Column<Tenant> => ({
  header,
  cell: ({ quota }) => {
    const value = read(quota ?? {});
    return value === undefined ? '-' : show(value);
  },
});

export const tenants: Resource<Tenant> = {
  name: 'tenants',
  aliases: ['tenant'],
  nameOf: (record) => `tenant/${textOf(record.slug)}`,
  nothing: 'no tenants',
  list: (client) => client.list('GET /api/v1/tenants'),
  one: (client, name) => client.record('GET /api/v1/tenants/{tenant}', { params: { tenant: name } }),
  columns: [
    field('SLUG', (one) => one.slug),
    field('NAME', (one) => one.name),
    field('ID', (one) => one.id),
    limit('CONTAINERS', (quota) => quota.containers),
    limit('CPU', (quota) => quota.cpu),
    limit('MEMORY', (quota) => quota.memoryBytes, formatBytes),
    ageOf((one) => one.createdAt),
  ],
};

/** Null: the store does not let anybody look. */
const EXISTS: ReadonlyMap<unknown, string> = new Map([
  [false, 'no'],
  [null, 'denied'],
]);

export const secrets: Resource<Secret> = {
  name: 'secrets',
  aliases: ['secret'],
  nameOf: (record) => `secret/${textOf(record.path)}`,
  nothing:
    'no deployment references a secret yet, and only those that are referenced are listed; berth secret show PATH finds every one',
  list: (client) => client.list('GET /api/v1/secrets/resources'),
  one: async (client, name) => {
    const record = await client.record('GET /api/v1/secrets/{namespace}/{name}', secretParams(name));
    // Who reads it is known of those that are referenced; of the others nobody does.
    const referenced = await client.list('GET /api/v1/secrets/resources');
    return { ...record, consumers: referenced.find(({ path }) => path === name)?.consumers ?? 0 };
  },
  columns: [
    field('PATH', (one) => one.path),
    { header: 'EXISTS', cell: (record) => EXISTS.get(record.exists) ?? 'yes' },
    { header: 'KEYS', cell: (record) => (record.keys ?? []).join(',') },
    field('VERSION', (one) => one.version),
    { header: 'CONSUMERS', cell: (record) => textOf(record.consumers) },
  ],
};

import { secretStanding } from '../../core/contract/secret-standing.ts';
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

const NAMED_CONSUMERS = 3;

/** Who refers to it, the first few by name. */
function consumersText({ consumers = [] }: Secret): string {
  const names = consumers.map(({ deployment, job, ingress, webhook }) => {
    if (webhook !== undefined) return `webhook/${webhook}`;
    const owner = job === undefined ? textOf(deployment) : `job/${job}`;
    return ingress === undefined ? owner : `${owner} (tls of ${ingress})`;
  });
  const distinct = [...new Set(names)];
  const more = distinct.length - NAMED_CONSUMERS;
  const shown = distinct.slice(0, NAMED_CONSUMERS).join(', ');
  if (shown === '') return '-';
  return more > 0 ? `${shown} and ${more} more` : shown;
}

export const secrets: Resource<Secret> = {
  name: 'secrets',
  aliases: ['secret'],
  nameOf: (record) => `secret/${textOf(record.path)}`,
  nothing: 'no secrets',
  next: 'berth secret write NAMESPACE/NAME --key KEY',
  list: (client) => client.list('GET /api/v1/secrets'),
  one: (client, name) => client.record('GET /api/v1/secrets/{namespace}/{name}', secretParams(name)),
  columns: [
    field('PATH', (one) => one.path),
    { header: 'STATE', cell: ({ exists }) => secretStanding(exists) },
    { header: 'KEYS', cell: (record) => (record.keys ?? []).join(',') },
    field('VERSION', (one) => one.version),
    { header: 'CONSUMERS', cell: consumersText },
  ],
};

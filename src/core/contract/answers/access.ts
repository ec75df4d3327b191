import { shape } from '../../schema/shape.ts';
import { QUOTA_KINDS, type QuotaKind } from '../../model/quota.ts';
import { ROLES } from '../../model/tenant.ts';
import { recordOf } from '../../model/values.ts';
import {
  announced,
  containerDefaults,
  integer,
  listOf,
  number,
  optional,
  revision,
  text,
  texts,
  time,
  flag,
} from './field-shapes.ts';

function byKind<const Item>(item: Item): Readonly<Record<QuotaKind, Item>> {
  return recordOf(QUOTA_KINDS, () => item);
}

const limits = { type: 'object', optional: true, fields: byKind(optional(integer)) } as const;

const quota = shape({
  type: 'object',
  named: 'Quota',
  description:
    'What is absent has no limit; of records, bytes and streams, the limit of the platform (`usage` shows it).',
  fields: {
    containers: optional(integer),
    cpu: optional(number),
    memoryBytes: optional(integer),
    records: limits,
    bytes: limits,
    streams: optional(integer),
  },
});

const used = {
  type: 'object',
  fields: byKind({ type: 'object', fields: { used: integer, limit: integer } } as const),
} as const;

const tenantFields = {
  id: text,
  slug: text,
  name: text,
  createdAt: time,
  quota,
  containerDefaults: {
    type: 'object',
    description: 'What bounds its containers: what is set for it, and what applies.',
    fields: { set: containerDefaults, effective: containerDefaults },
  },
} as const;

export const tenant = shape({
  type: 'object',
  named: 'Tenant',
  fields: {
    ...tenantFields,
    usage: {
      type: 'object',
      optional: true,
      description: 'What is stored and what may be; where a single tenant is read.',
      fields: { records: used, bytes: used },
    },
    standing: {
      type: 'object',
      optional: true,
      description: 'How its records stand; where a single tenant is read, and in a list that asks for it.',
      fields: {
        nodes: { type: 'object', fields: { total: integer, ready: integer } },
        deployments: { type: 'object', fields: { total: integer, running: integer } },
        instances: {
          type: 'object',
          description: 'Of the current specs of all deployments.',
          fields: { desired: integer, healthy: integer },
        },
        jobs: integer,
        volumes: integer,
        attention: {
          type: 'object',
          description:
            'Records that somebody has to look at: degraded or unplaced deployments, nodes that are not ready, jobs whose last run failed, volumes that are degraded, nearly full or diverged.',
          fields: { deployments: integer, nodes: integer, jobs: integer, volumes: integer },
        },
        quota: {
          ...listOf({
            type: 'object',
            fields: {
              resource: { ...text, description: 'As `containers`, `cpu`, `memory`, `records.deployments`.' },
              used: number,
              limit: number,
              own: { ...flag, description: "Set for the tenant; otherwise the platform's." },
            },
          }),
          description:
            "Limits that were set for the tenant, and the platform's own once half of one is used.",
        },
      },
    },
  },
});

export const tenantWritten = shape({
  type: 'object',
  named: 'TenantWritten',
  fields: { ...tenantFields, revision, ...announced },
});

const imagePolicyFields = {
  signatures: {
    type: 'list',
    description: 'Images that have to be signed; every entry that covers an image has to be met.',
    items: {
      type: 'object',
      named: 'SignatureDemand',
      fields: {
        images: text,
        keys: texts,
        fingerprints: { ...texts, description: 'Of the keys, in their order.' },
      },
    },
  },
  revision,
} as const;

export const imagePolicy = shape({ type: 'object', named: 'ImagePolicy', fields: imagePolicyFields });

export const imagePolicyWritten = shape({
  type: 'object',
  named: 'ImagePolicyWritten',
  fields: { ...imagePolicyFields, ...announced },
});

const tokenFields = {
  id: text,
  kind: { type: 'string', values: ['pat', 'join', 'node'] },
  tenantId: text,
  role: { type: 'string', values: ROLES },
  name: text,
  createdAt: time,
  createdBy: text,
  expiresAt: optional(time),
  revokedAt: optional(time),
  nodeName: { ...text, optional: true, description: 'Of a token of a node, or of one that enrols a node.' },
} as const;

export const token = shape({ type: 'object', named: 'Token', fields: tokenFields });

export const tokenWritten = shape({
  type: 'object',
  named: 'TokenWritten',
  fields: {
    ...tokenFields,
    token: { ...text, optional: true, description: 'Only in the answer that created it.' },
    revision,
    ...announced,
  },
});

export const session = shape({
  type: 'object',
  named: 'Session',
  description: 'Who calls, for which tenant, and what the role permits.',
  fields: {
    tokenId: text,
    tokenName: { ...text, optional: true, description: 'What the token was called when it was made.' },
    role: { type: 'string', values: ROLES },
    permissions: texts,
    tenant: { type: 'object', fields: { id: text, slug: text, name: text } },
    expiresAt: { ...time, optional: true, description: 'Of a session.' },
    csrfToken: {
      ...text,
      optional: true,
      description: 'Of a session: to be sent as X-CSRF-Token with every write.',
    },
  },
});

export const sessionEnded = shape({ type: 'object', named: 'SessionEnded', fields: { ended: flag } });

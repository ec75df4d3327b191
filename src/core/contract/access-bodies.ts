import { ACCEPTED_CONTAINER_DEFAULTS } from '../model/container-defaults.ts';
import { QUOTA_KINDS } from '../model/quota.ts';
import { type Role, ROLES } from '../model/tenant.ts';
import { shape } from './shape.ts';

export const tenantBody = shape({
  type: 'object',
  fields: {
    slug: {
      type: 'string',
      description: 'Lowercase DNS label; used in network names and the CLI.',
      ownCode: 'tenant_name_invalid',
    },
    name: {
      type: 'string',
      description: 'Display name; the slug when absent.',
      ownCode: 'tenant_name_invalid',
    },
  },
});

const amountsByKind = shape({
  type: 'object',
  fields: Object.fromEntries(
    QUOTA_KINDS.map((kind) => [kind, { type: 'any', schema: { type: 'integer', minimum: 0 } }] as const),
  ),
});

export const quotaBody = shape({
  type: 'object',
  nullClears: true,
  fields: {
    containers: { type: 'any', schema: { type: 'integer', minimum: 0 } },
    cpu: { type: 'any', schema: { type: 'number', minimum: 0 } },
    memoryBytes: { type: 'any', schema: { type: 'integer', minimum: 0 } },
    records: {
      ...amountsByKind,
      description: 'Stored records by kind; absent: the default of the platform.',
    },
    bytes: { ...amountsByKind, description: 'Their bytes by kind; absent: the default of the platform.' },
    streams: {
      type: 'any',
      schema: { type: 'integer', minimum: 0 },
      description: 'Event streams and followed logs at a time.',
    },
  },
});

const { memory, pids, cpuWeight, logSize } = ACCEPTED_CONTAINER_DEFAULTS;

export const containerDefaultsBody = shape({
  type: 'object',
  nullClears: true,
  fields: {
    memory: { type: 'any', schema: { type: 'string', example: '512Mi' }, description: memory.form },
    pids: { type: 'any', schema: { type: 'integer', minimum: 16 }, description: pids.form },
    cpuWeight: { type: 'any', schema: { type: 'integer', minimum: 1 }, description: cpuWeight.form },
    logSize: { type: 'any', schema: { type: 'string', example: '30M' }, description: logSize.form },
  },
});

/** The role of nodes is given by enrolment only. */
export const ASSIGNABLE_ROLES: readonly Role[] = ROLES.filter((role) => role !== 'node');

export const tokenBody = shape({
  type: 'object',
  fields: {
    name: { type: 'string', description: 'What the token is for.', ownCode: 'token_invalid' },
    role: { type: 'string', description: `One of ${ASSIGNABLE_ROLES.join(', ')}.`, ownCode: 'token_invalid' },
    ttl: {
      type: 'string',
      description: 'How long it is good for, e.g. 720h; default 90 days, at most 366.',
      ownCode: 'token_invalid',
    },
  },
});

export const imagePolicyBody = shape({
  type: 'object',
  nullClears: true,
  fields: {
    signatures: {
      type: 'list',
      description:
        'Images that have to be signed; every entry that covers an image has to be met. Empty: none.',
      items: {
        type: 'object',
        fields: {
          images: {
            type: 'string',
            description:
              '*, a repository with its registry, or everything below a place: registry.example.com/acme/*.',
            ownCode: 'image_policy_invalid',
          },
          keys: {
            type: 'list',
            description:
              'Public keys in PEM, as `cosign public-key` prints them; a signature of one of them will do.',
            items: { type: 'string', ownCode: 'image_policy_invalid' },
          },
        },
      },
    },
  },
});

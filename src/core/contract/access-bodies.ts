import { ACCEPTED_CONTAINER_DEFAULTS } from '../model/container-defaults.ts';
import { QUOTA_KINDS } from '../model/quota.ts';
import { MAX_DEMANDS, MAX_KEY_CHARACTERS, MAX_KEYS } from '../model/image-policy.ts';
import { type Role, ROLES } from '../model/tenant.ts';
import { DURATION, MEMORY, NAME } from './forms.ts';
import { shape } from '../schema/shape.ts';

/** Characters of a display name. */
export const MAX_DISPLAY_NAME = 200;

export const tenantBody = shape({
  type: 'object',
  fields: {
    slug: {
      type: 'string',
      form: NAME,
      description: 'Lowercase DNS label; used in network names and the CLI.',
      ownCode: 'tenant_name_invalid',
    },
    name: {
      type: 'string',
      form: { minLength: 1, maxLength: MAX_DISPLAY_NAME },
      description: 'Display name; the slug when absent.',
      ownCode: 'tenant_name_invalid',
    },
  },
  required: ['slug'],
  named: 'TenantDescription',
});

const AMOUNT = { type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER } as const;

const amountsByKind = shape({
  type: 'object',
  fields: Object.fromEntries(
    QUOTA_KINDS.map(
      (kind) => [kind, { type: 'any', schema: { ...AMOUNT, type: ['integer', 'null'] } }] as const,
    ),
  ),
});

export const quotaBody = shape({
  type: 'object',
  named: 'QuotaDescription',
  nullClears: true,
  fields: {
    containers: { type: 'any', schema: AMOUNT },
    cpu: { type: 'any', schema: { type: 'number', minimum: 0 } },
    memoryBytes: { type: 'any', schema: AMOUNT },
    records: {
      ...amountsByKind,
      description: 'Stored records by kind; absent: the default of the platform.',
    },
    bytes: { ...amountsByKind, description: 'Their bytes by kind; absent: the default of the platform.' },
    streams: {
      type: 'any',
      schema: AMOUNT,
      description: 'Event streams and followed logs at a time.',
    },
  },
});

const { memory, pids, cpuWeight, logSize } = ACCEPTED_CONTAINER_DEFAULTS;

const CONTAINER_MEMORY = `${MEMORY.pattern}|^([1-9][0-9]?|100)%$`;

export const containerDefaultsBody = shape({
  type: 'object',
  nullClears: true,
  fields: {
    memory: {
      type: 'any',
      schema: { type: 'string', pattern: CONTAINER_MEMORY, examples: ['512Mi'] },
      description: memory.form,
    },
    pids: {
      type: 'any',
      schema: { type: 'integer', minimum: 16, maximum: 4_194_304 },
      description: pids.form,
    },
    cpuWeight: {
      type: 'any',
      schema: { type: 'integer', minimum: 1, maximum: 10_000 },
      description: cpuWeight.form,
    },
    logSize: {
      type: 'any',
      schema: { type: 'string', ...MEMORY, examples: ['30M'] },
      description: logSize.form,
    },
  },
});

/** The role of nodes is given by enrolment only. */
export const ASSIGNABLE_ROLES: readonly Role[] = ROLES.filter((role) => role !== 'node');

/** Characters of the name of a token. */
export const MAX_TOKEN_NAME = 100;

export const tokenBody = shape({
  type: 'object',
  fields: {
    name: {
      type: 'string',
      form: { minLength: 1, maxLength: MAX_TOKEN_NAME },
      description: 'What the token is for.',
      ownCode: 'token_invalid',
    },
    role: {
      type: 'string',
      form: { enum: ASSIGNABLE_ROLES },
      description: `One of ${ASSIGNABLE_ROLES.join(', ')}.`,
      ownCode: 'token_invalid',
    },
    ttl: {
      type: 'string',
      form: DURATION,
      description: 'How long it is good for, e.g. 720h; default 90 days, at most 366.',
      ownCode: 'token_invalid',
    },
  },
  required: ['name', 'role'],
  named: 'TokenDescription',
});

export const imagePolicyBody = shape({
  type: 'object',
  nullClears: true,
  fields: {
    signatures: {
      type: 'list',
      form: { maxItems: MAX_DEMANDS },
      description:
        'Images that have to be signed; every entry that covers an image has to be met. Empty: none.',
      items: {
        type: 'object',
        fields: {
          images: {
            type: 'string',
            form: { minLength: 1 },
            description:
              '*, a repository with its registry, or everything below a place: registry.example.com/acme/*.',
            ownCode: 'image_policy_invalid',
          },
          keys: {
            type: 'list',
            description:
              'Public keys in PEM, as `cosign public-key` prints them; a signature of one of them will do.',
            items: {
              type: 'string',
              form: { maxLength: MAX_KEY_CHARACTERS },
              ownCode: 'image_policy_invalid',
            },
            form: { minItems: 1, maxItems: MAX_KEYS },
          },
        },
        required: ['images', 'keys'],
      },
    },
  },
});

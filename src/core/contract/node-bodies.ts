import { DURATION, LABEL_VALUE, LABELS, NODE_NAME } from './forms.ts';
import { shape } from '../schema/shape.ts';

const PLATFORM = { pattern: '^[a-z0-9]{1,32}/[a-z0-9]{1,32}(/[a-z0-9]{1,32})?$' };
const SHORT = { pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]*$', minLength: 1, maxLength: 128 };

export const nodeBody = shape({
  type: 'object',
  fields: {
    nodeName: {
      type: 'string',
      form: NODE_NAME,
      description: 'Unique across the platform; the id of the node.',
      ownCode: 'node_name_invalid',
    },
    labels: {
      type: 'map',
      items: { type: 'string', form: LABEL_VALUE },
      form: { ...LABELS, maxProperties: 64 },
      description: 'For constraints; berth.io/country and berth.io/geo-region for residency.',
    },
    capacity: {
      type: 'object',
      fields: {
        cpu: { type: 'number', form: { exclusiveMinimum: 0, maximum: 100_000 }, description: 'Cores.' },
        memoryBytes: { type: 'integer', form: { minimum: 1, maximum: Number.MAX_SAFE_INTEGER } },
      },
      required: ['cpu', 'memoryBytes'],
    },
    publicKey: { type: 'string', description: 'Ed25519 public key of the agent, base64 of its SPKI form.' },
    platform: { type: 'string', form: PLATFORM, description: 'linux/amd64, linux/arm64' },
    engine: {
      type: 'object',
      fields: { kind: { type: 'string', form: SHORT }, version: { type: 'string', form: SHORT } },
      required: ['kind', 'version'],
    },
    agentVersion: { type: 'string', form: SHORT },
  },
  required: ['nodeName', 'capacity', 'publicKey', 'platform', 'engine', 'agentVersion'],
  named: 'NodeDescription',
});

export const claimBody = shape({
  type: 'object',
  fields: {
    tenantId: { type: 'string', description: 'UUID or slug of the tenant that is to take the node over.' },
  },
  required: ['tenantId'],
});

export const joinTokenBody = shape({
  type: 'object',
  fields: {
    nodeName: {
      type: 'string',
      form: NODE_NAME,
      description: 'The only name it may enrol; such a token may also replace a lost machine of that name.',
    },
    ttl: {
      type: 'string',
      form: DURATION,
      description: 'How long it is good for, e.g. 1h; default 15m, at most 24h.',
    },
  },
});

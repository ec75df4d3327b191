import { shape } from './shape.ts';

export const nodeBody = shape({
  type: 'object',
  fields: {
    nodeName: {
      type: 'string',
      description: 'Unique across the platform; the id of the node.',
      ownCode: 'node_name_invalid',
    },
    labels: {
      type: 'map',
      items: { type: 'string' },
      description: 'For constraints; berth.io/country and berth.io/geo-region for residency.',
    },
    capacity: {
      type: 'object',
      fields: { cpu: { type: 'number', description: 'Cores.' }, memoryBytes: { type: 'integer' } },
    },
    publicKey: { type: 'string', description: 'Ed25519 public key of the agent, base64 of its SPKI form.' },
    platform: { type: 'string', description: 'linux/amd64, linux/arm64' },
    engine: { type: 'object', fields: { kind: { type: 'string' }, version: { type: 'string' } } },
    agentVersion: { type: 'string' },
  },
});

export const claimBody = shape({
  type: 'object',
  fields: {
    tenantId: { type: 'string', description: 'UUID or slug of the tenant that is to take the node over.' },
  },
});

export const joinTokenBody = shape({
  type: 'object',
  fields: {
    nodeName: {
      type: 'string',
      description: 'The only name it may enrol; such a token may also replace a lost machine of that name.',
    },
    ttl: { type: 'string', description: 'How long it is good for, e.g. 1h; default 15m, at most 24h.' },
  },
});

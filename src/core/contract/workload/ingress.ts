import { HOST_NAME, INGRESS_PATH, INGRESS_TLS, PORT } from '../forms.ts';
import { INGRESS_PROTOCOLS, INGRESS_PROVIDERS } from '../../model/ingress.ts';
import { type Draft, shape } from '../../schema/shape.ts';

export const MAX_INGRESS = 32;

export const ingressEntry = shape({
  type: 'object',
  named: 'IngressDescription',
  fields: {
    host: {
      type: 'string',
      form: HOST_NAME,
      description: 'Of http, and required there: the name that requests come for.',
      absent: 'of tcp and udp',
      example: 'shop.example.com',
    },
    path: {
      type: 'string',
      form: INGRESS_PATH,
      description: 'Of http: a prefix of whole segments; the longest one that fits is taken.',
      absent: 'all paths',
      example: '/api',
    },
    listen: {
      type: 'integer',
      form: PORT,
      description: 'Of tcp and udp, and required there: the port on the ingress nodes.',
      absent: 'of http',
      example: 5432,
      exampleWith: { host: undefined, protocol: 'tcp', port: 5432 },
    },
    port: {
      type: 'integer',
      form: PORT,
      description: 'The port that the container listens on.',
      example: 8080,
    },
    protocol: {
      type: 'string',
      form: { enum: INGRESS_PROTOCOLS },
      description: 'http: by host and path; tcp and udp: passed on as they are.',
      absent: 'http',
      example: 'tcp',
      exampleWith: { host: undefined, listen: 5432, port: 5432 },
      ownCode: 'ingress_invalid',
    },
    tls: {
      type: 'any',
      schema: INGRESS_TLS,
      description:
        'Of http: auto, a certificate by ACME; off, plain HTTP; or a reference to a certificate with its key.',
      absent: 'auto',
      example: 'off',
    },
    provider: {
      type: 'string',
      form: { enum: INGRESS_PROVIDERS },
      description:
        "caddy: served by the tenant's ingress nodes; traefik: labels on the containers for a Traefik of yours, with host and port alone.",
      absent: 'caddy',
      example: 'traefik',
      ownCode: 'ingress_invalid',
    },
  },
  required: ['port'],
  example: { host: 'shop.example.com', port: 8080 },
});

/** Keys that the server owns: they appear in a GET body, and are ignored when it is sent back. */

export type IngressEntryDraft = Draft<typeof ingressEntry>;

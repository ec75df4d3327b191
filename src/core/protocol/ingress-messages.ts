import { listOf, message, optional } from '../schema/message-shape.ts';
import { count, humanText, integer, name, serverText, textUpTo } from './field-shapes.ts';

/** The tenant's way in, as its ingress nodes are told of it and as they tell of it. */
const MAX_ROUTES = 5_000;
/** Of a file of Caddy's storage, or of a certificate with its chain and its key. */
const MAX_MATERIAL_LENGTH = 48 * 1024;

const id = textUpTo(128);
const host = textUpTo(253);
const key = textUpTo(512);

/** In the map: what comes in at ingress nodes, and to which deployment it goes. */
export const ingressRoute = message({
  type: 'object',
  fields: {
    /** Its name: the id of the router. */
    deployment: name,
    protocol: { type: 'string', values: ['http', 'tcp', 'udp'] },
    /** Of `http`. */
    host: optional(serverText),
    /** Of `http`: a prefix; absent: all. */
    path: optional(serverText),
    /** Of `tcp` and `udp`: the port on ingress nodes. */
    listen: optional(count),
    /** The deployment's virtual address, and the port of its containers. */
    address: serverText,
    port: count,
    tls: { type: 'string', values: ['auto', 'off', 'secret'] },
    /** Of `tls` by secret: another one when the certificate is another. */
    certificate: optional(serverText),
  },
});

/** Where certificates come from. */
export const acmeSettings = message({
  type: 'object',
  fields: { directory: serverText, email: optional(serverText), caPem: optional(serverText) },
});

/** In `hello` of an agent that serves the ingress. */
export const ingressFacts = message({
  type: 'object',
  fields: {
    caddy: optional(textUpTo(64)),
    problem: optional(humanText),
    http: integer,
    https: integer,
  },
});

/** In `report`: always whole; absent: as it was said last in this session. */
export const ingressReport = message({
  type: 'object',
  fields: {
    routes: listOf(
      {
        type: 'object',
        fields: {
          deployment: textUpTo(64),
          host: optional(host),
          path: optional(textUpTo(1024)),
          listen: optional(integer),
          state: { type: 'string', values: ['serving', 'waiting', 'failed'] },
          problem: optional(humanText),
          certificate: optional({ type: 'object', fields: { issuer: humanText, notAfter: textUpTo(32) } }),
        },
      },
      MAX_ROUTES,
    ),
  },
});

/** In `report`: requests since the report before, by deployment; absent: there were none. */
export const ingressTraffic = listOf(
  {
    type: 'object',
    fields: {
      deployment: textUpTo(64),
      /** Answers of 1xx, 2xx, 3xx, 4xx and 5xx. */
      answers: listOf(count, 5),
      /** From the first byte of a request to the last of its answer, of all of them. */
      milliseconds: count,
    },
  },
  MAX_ROUTES,
);

/**
 * Questions of ingress nodes; sent only after a map that names ingress nodes, because an older control plane ends a session with a
 * message that it does not know.
 */
export const ingressQuestions = {
  /** `certificate/<deployment>/<host>`: PEM of certificate and key; `acme/<path>`: a file of Caddy's storage. */
  ingressGet: { type: 'object', fields: { id, key } },
  /** Of `acme/…` only. */
  ingressPut: {
    type: 'object',
    fields: {
      id,
      key,
      /** Text, so what is not is base64 by the agent's own choice. */
      value: textUpTo(MAX_MATERIAL_LENGTH),
      /** The version that it replaces, 0: there must be none; absent: whatever is there. */
      expected: optional(count),
    },
  },
} as const;

/** Answer to both. Neither value nor problem: there is none, or it was stored. */
export const ingressMaterial = message({
  type: 'object',
  fields: {
    id: serverText,
    /** In memory only, except for files of Caddy's storage. */
    value: optional(serverText),
    /** Of what is stored now. */
    version: optional(count),
    problem: optional(serverText),
  },
});

import { createHash } from 'node:crypto';
import { type IncomingMessage, STATUS_CODES } from 'node:http';
import type { Socket } from 'node:net';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { checkBody } from '../../core/contract/shape.ts';
import { nearest } from '../../core/contract/nearest.ts';
import { allows, type Permission } from '../../core/model/permission.ts';
import type { Tenant } from '../../core/model/tenant.ts';
import { CATALOGUE } from '../../core/rejections/catalogue.ts';
import { received } from '../../core/rejections/redaction.ts';
import { isRejection, reject } from '../../core/rejections/reject.ts';
import type { Rejection } from '../../core/rejections/rejection.ts';
import { type AccessDependencies, authenticate, tenantActedFor } from '../access/authenticate.ts';
import type { Principal } from '../access/principal.ts';
import type { Caller } from '../admission/admission.ts';
import { KvUnavailableError } from '../store/kv.ts';
import { parseBody } from './body.ts';
import { duplicateHeader, hostRejection, idempotencyKeyRejection, requestIdOf } from './headers.ts';
import type { ApiMetrics } from './metrics.ts';
import { type RateLimit, RateLimiter } from './rate-limit.ts';
import type { Reply, Route, RouteRequest } from './route.ts';
import { sendStream } from './stream.ts';

export interface ApiOptions {
  readonly access: AccessDependencies;
  readonly routes: readonly Route[];
  readonly limits: { readonly bodyBytes: number; readonly jsonDepth: number; readonly rate: RateLimit };
  readonly freshId: () => string;
  /** Configured base URL; absent: from the Host header of each request. */
  readonly baseUrl?: string;
  readonly https?: { readonly cert: string; readonly key: string };
  readonly log: Logger;
  readonly metrics: ApiMetrics;
  /** False until the store has been read: then every request is refused rather than answered from nothing. */
  readonly ready: () => boolean;
}

const HEADERS_TIMEOUT_MS = 10_000;
const REQUEST_TIMEOUT_MS = 30_000;
const MAX_HEADER_BYTES = 16 * 1024;
/** Node looks for connections past their time only this often. */
const CONNECTION = {
  maxHeaderSize: MAX_HEADER_BYTES,
  headersTimeout: HEADERS_TIMEOUT_MS,
  connectionsCheckingInterval: 1000,
  /** Refused by us instead, with a record. */
  requireHostHeader: false,
} as const;

const HOST = /^[A-Za-z0-9.:[\]_-]{1,255}$/;

function baseUrlOf(request: FastifyRequest, configured: string | undefined): string {
  if (configured !== undefined) return configured;
  const { host } = request.headers;
  return `${request.protocol}://${host !== undefined && HOST.test(host) ? host : 'localhost'}`;
}

export function statusOf(rejection: Rejection): number {
  return rejection.status ?? CATALOGUE[rejection.code].status;
}

/** The body is the record of spec 2.1, exactly its six keys. */
export function rejectionBody(rejection: Rejection, baseUrl: string): Record<string, string> {
  const { code, field, received: got, expected, why } = rejection;
  return { code, field, received: got, expected, why, doc: `${baseUrl}/docs/errors/${code}` };
}

const NO_BYTES = Buffer.alloc(0);

interface Served {
  readonly options: ApiOptions;
  readonly limiter: RateLimiter;
}

function send(
  reply: FastifyReply,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
): FastifyReply {
  return reply
    .code(status)
    .headers({ 'content-type': 'application/json; charset=utf-8', 'cache-control': 'no-store', ...headers })
    .send(JSON.stringify(body));
}

function sendRejection(
  { options }: Served,
  request: FastifyRequest,
  reply: FastifyReply,
  rejection: Rejection,
): FastifyReply {
  const status = statusOf(rejection);
  // Set here too: a path that cannot be routed is answered before the hooks run.
  const headers: Record<string, string> = { 'x-request-id': request.id, 'x-content-type-options': 'nosniff' };
  if (status === 401) headers['www-authenticate'] = 'Bearer';
  if (rejection.retryAfterSeconds !== undefined) headers['retry-after'] = String(rejection.retryAfterSeconds);
  options.log.info(
    {
      requestId: request.id,
      method: request.method,
      path: request.routeOptions.url,
      status,
      code: rejection.code,
      field: rejection.field,
    },
    'rejected',
  );
  return send(reply, status, rejectionBody(rejection, baseUrlOf(request, options.baseUrl)), headers);
}

function queryRejection(route: Route, query: Readonly<Record<string, unknown>>): Rejection | undefined {
  const known = Object.keys(route.query ?? {});
  for (const [name, value] of Object.entries(query)) {
    if (known.includes(name) && typeof value === 'string') continue;
    if (known.includes(name)) {
      return reject('query_parameter_invalid', {
        field: name,
        received: received(value),
        expected: 'the parameter once',
        why: `The query parameter ${name} was sent more than once.`,
      });
    }
    const near = nearest(name, known);
    const list = known.length === 0 ? 'this route takes no query parameters' : `one of: ${known.join(', ')}`;
    return reject('query_parameter_unknown', {
      field: name,
      received: received(value),
      expected: list,
      why:
        near === undefined
          ? `There is no query parameter ${name} here.`
          : `There is no query parameter ${name} here; did you mean ${near}?`,
    });
  }
  return undefined;
}

const UUID = /^[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}$/i;

function tenantAssertion(
  route: Route,
  request: FastifyRequest,
): { readonly field: string; readonly value: string } | undefined | Rejection {
  const header = request.headers['x-tenant-id'];
  const value = typeof header === 'string' && header !== '' ? header : undefined;
  if (route.tenant === 'header' && value === undefined) {
    return reject('dvm_recommendation_tenant_required', {
      field: 'X-Tenant-ID',
      received: '(absent)',
      why: 'Recommendations are read for one tenant, which this header names.',
    });
  }
  if (route.tenant === 'header-uuid' && (value === undefined || !UUID.test(value))) {
    return reject('node_claim_release_no_tenant', {
      field: 'X-Tenant-ID',
      received: received(value),
      why: 'A claim is released per tenant; the header holds the UUID of the releasing tenant.',
    });
  }
  return value === undefined ? undefined : { field: 'X-Tenant-ID', value };
}

function tenantOf(
  { options }: Served,
  route: Route,
  principal: Principal,
  request: FastifyRequest,
): Tenant | Rejection {
  const asserted = tenantAssertion(route, request);
  if (isRejection(asserted)) return asserted;
  const { store } = options.access;
  const params = request.params as Readonly<Record<string, string>>;
  if (route.tenant !== 'path') return tenantActedFor(store, principal, asserted);
  const inPath = tenantActedFor(store, principal, { field: 'tenant', value: params['tenant'] ?? '' });
  if (isRejection(inPath) || asserted === undefined) return inPath;
  const inHeader = tenantActedFor(store, principal, asserted);
  if (isRejection(inHeader) || inHeader.id === inPath.id) return inHeader;
  return reject('tenant_forbidden', {
    field: 'X-Tenant-ID',
    received: received(asserted.value),
    why: 'The header and the path name two tenants.',
  });
}

export function permitted(principal: Principal, permission: Route['permission']): boolean {
  const wanted: readonly Permission[] = typeof permission === 'string' ? [permission] : permission;
  // A join token enrols and does nothing else, whatever role it was made with.
  if (principal.kind === 'join') return wanted.includes('node.enrol');
  return wanted.some((one) => allows(principal.role, one));
}

function admitRequest(
  served: Served,
  route: Route,
  request: FastifyRequest,
): Omit<RouteRequest, 'body' | 'caller'> | Rejection {
  const { options, limiter } = served;
  if (!options.ready()) return starting();
  const malformed = duplicateHeader(request.raw.rawHeaders) ?? hostRejection(request.raw);
  if (malformed) return malformed;
  const principal = authenticate(options.access, request.headers.authorization);
  if (isRejection(principal)) return principal;
  const wait = limiter.retryAfterSeconds(principal.tokenId);
  if (wait !== undefined) {
    const { perSecond, burst } = options.limits.rate;
    return {
      ...reject('rate_limited', {
        field: 'Authorization',
        received: '(redacted)',
        expected: `at most ${perSecond} requests per second, ${burst} in a burst`,
        why: `This token sends too fast; wait ${wait} s.`,
      }),
      retryAfterSeconds: wait,
    };
  }
  const tenant = tenantOf(served, route, principal, request);
  if (isRejection(tenant)) return tenant;
  if (!permitted(principal, route.permission)) {
    return reject('role_forbidden', {
      field: 'Authorization',
      received: principal.role,
      why: `The role ${principal.role} may not do this (${String(route.permission)}).`,
    });
  }
  const query = request.query as Readonly<Record<string, string>>;
  const unknown = request.url.includes('?') ? queryRejection(route, query) : undefined;
  if (unknown) return unknown;
  return {
    principal,
    tenant,
    store: options.access.store.forTenant(tenant.id),
    params: request.params as Readonly<Record<string, string>>,
    query,
    headers: request.headers,
    requestId: request.id,
    departure: departure(request),
  };
}

/** Made only when asked for: most requests are answered before anybody could go away. */
function departure(request: FastifyRequest): () => AbortSignal {
  let controller: AbortController | undefined;
  return () => {
    if (controller === undefined) {
      const created = new AbortController();
      controller = created;
      request.raw.once('close', () => {
        if (!request.raw.complete || request.raw.destroyed) created.abort();
      });
    }
    return controller.signal;
  };
}

function bodyOf(
  served: Served,
  route: Route,
  request: FastifyRequest,
): { readonly value: unknown } | Rejection {
  const bytes = Buffer.isBuffer(request.body) ? request.body : NO_BYTES;
  if (route.body === undefined) return { value: undefined };
  if (bytes.length === 0 && route.body.optional) return { value: undefined };
  const parsed = parseBody(bytes, request.headers['content-type'], route.body, {
    maxDepth: served.options.limits.jsonDepth,
  });
  if (isRejection(parsed) || route.body.unchecked) return parsed;
  return checkBody(route.body.shape, parsed.value) ?? parsed;
}

function idempotencyOf(route: Route, request: FastifyRequest): Caller['idempotency'] | Rejection {
  const key = request.headers['idempotency-key'];
  if (route.method !== 'POST' || typeof key !== 'string') return undefined;
  const malformed = idempotencyKeyRejection(key);
  if (malformed) return malformed;
  const body = Buffer.isBuffer(request.body) ? request.body : NO_BYTES;
  return {
    id: createHash('sha256').update(key).digest('hex'),
    requestDigest: createHash('sha256')
      .update(`${request.method} ${request.url}\n`)
      .update(body)
      .digest('hex'),
  };
}

async function serve(served: Served, route: Route, request: FastifyRequest): Promise<Reply> {
  const admitted = admitRequest(served, route, request);
  if (isRejection(admitted)) return admitted;
  const idempotency = idempotencyOf(route, request);
  if (isRejection(idempotency)) return idempotency;
  const body = bodyOf(served, route, request);
  if (isRejection(body)) return body;
  const caller: Caller = {
    principal: admitted.principal,
    requestId: admitted.requestId,
    tenant: admitted.store,
    tenantSlug: admitted.tenant.slug,
    ...(idempotency === undefined ? {} : { idempotency }),
  };
  return route.handle({ ...admitted, caller, body: body.value });
}

function starting(): Rejection {
  return {
    ...reject('store_unavailable', {
      field: 'store',
      received: '(none)',
      why: 'The control plane is starting and has not read its store yet; /healthz says why.',
    }),
    retryAfterSeconds: 1,
  };
}

/** A fault is turned into an answer here and nowhere else. */
function faultRejection(served: Served, request: FastifyRequest, error: unknown): Rejection {
  if (error instanceof KvUnavailableError) {
    return {
      ...reject('store_unavailable', {
        field: 'store',
        received: '(none)',
        why: error.certainlyNotApplied
          ? `${error.message}; nothing was stored.`
          : `${error.message}; it is not known whether the write was stored: read the record before sending it again.`,
      }),
      retryAfterSeconds: 1,
    };
  }
  served.options.log.error({ requestId: request.id, err: error, path: request.routeOptions.url }, 'fault');
  return reject('internal_error', {
    field: 'server',
    received: '(none)',
    why: `The control plane failed on this request (${request.id}); its log says more.`,
  });
}

async function answer(
  served: Served,
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const start = performance.now();
  let result: Reply;
  try {
    result = await serve(served, route, request);
  } catch (error) {
    result = faultRejection(served, request, error);
  }
  if ('stream' in result) return sendStream(request, reply, result);
  const status = isRejection(result) ? statusOf(result) : result.status;
  served.options.metrics.request(route, status, (performance.now() - start) / 1000);
  if (isRejection(result)) return sendRejection(served, request, reply, result);
  if (route.method !== 'GET') {
    served.options.log.info(
      { requestId: request.id, method: route.method, path: route.path, status },
      'accepted',
    );
  }
  return send(reply, result.status, result.body, result.headers);
}

function fastifyPath(path: string): string {
  return path.replaceAll(/\{([A-Za-z]+)\}/g, ':$1');
}

function pathPattern(path: string): RegExp {
  return new RegExp(`^${path.replaceAll(/\{[A-Za-z]+\}/g, '[^/]+')}$`);
}

function missingRoute(served: Served): (request: FastifyRequest, reply: FastifyReply) => FastifyReply {
  const patterns = served.options.routes.map((route) => ({ route, pattern: pathPattern(route.path) }));
  return (request, reply) => {
    const path = request.url.split('?', 1)[0] ?? '';
    const methods = patterns.filter(({ pattern }) => pattern.test(path)).map(({ route }) => route.method);
    if (methods.length > 0) {
      void reply.header('allow', [...new Set(methods)].join(', '));
      return sendRejection(
        served,
        request,
        reply,
        reject('method_not_allowed', {
          field: 'method',
          received: request.method,
          expected: `one of: ${[...new Set(methods)].join(', ')}`,
          why: 'The path exists, but not with this method.',
        }),
      );
    }
    const paths = served.options.routes.map((route) => route.path);
    const near = nearest(path, paths);
    return sendRejection(
      served,
      request,
      reply,
      reject('route_not_found', {
        field: 'path',
        received: received(path),
        ...(near === undefined ? {} : { expected: near }),
        why: 'There is no such path.',
      }),
    );
  };
}

function requestFault(
  served: Served,
): (
  error: Error & { code?: string; statusCode?: number },
  request: FastifyRequest,
  reply: FastifyReply,
) => FastifyReply {
  return (error, request, reply) => {
    if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
      const limit = served.options.limits.bodyBytes;
      return sendRejection(
        served,
        request,
        reply,
        reject('body_too_large', {
          field: 'body',
          received: `(${request.headers['content-length'] ?? 'unknown number of'} bytes)`,
          expected: `at most ${limit} bytes`,
          why: `The body is larger than ${limit} bytes.`,
        }),
      );
    }
    if (error.statusCode === 415) {
      return sendRejection(
        served,
        request,
        reply,
        reject('content_type_unsupported', {
          field: 'Content-Type',
          received: received(request.headers['content-type']),
          why: 'The header does not hold a media type.',
        }),
      );
    }
    if (error.statusCode !== undefined && error.statusCode < 500) {
      return sendRejection(
        served,
        request,
        reply,
        reject('body_malformed', {
          field: 'body',
          received: '(redacted)',
          why: 'The request could not be read as it was framed.',
        }),
      );
    }
    return sendRejection(served, request, reply, faultRejection(served, request, error));
  };
}

/** What cannot be read as a request at all still gets a record, and the connection ends: nobody knows where the next one starts. */
function refuseConnection(options: ApiOptions, error: NodeJS.ErrnoException, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy(error);
    return;
  }
  const late = error.code === 'ERR_HTTP_REQUEST_TIMEOUT';
  const rejection = reject(late ? 'body_malformed' : 'header_invalid', {
    field: late ? 'body' : 'headers',
    received: '(redacted)',
    expected: late
      ? `a complete request within ${REQUEST_TIMEOUT_MS / 1000} s`
      : `a well-formed HTTP/1.1 request with at most ${MAX_HEADER_BYTES} bytes of headers`,
    why: late ? 'The request did not arrive in time.' : 'The request could not be read as HTTP.',
  });
  const requestId = options.freshId();
  options.log.info({ requestId, code: rejection.code, cause: error.code }, 'rejected');
  const status = statusOf(rejection);
  const body = JSON.stringify(rejectionBody(rejection, options.baseUrl ?? 'http://localhost'));
  socket.end(
    [
      `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}`,
      'content-type: application/json; charset=utf-8',
      `content-length: ${Buffer.byteLength(body)}`,
      `x-request-id: ${requestId}`,
      'cache-control: no-store',
      'connection: close',
      '',
      body,
    ].join('\r\n'),
  );
}

export function createApp(options: ApiOptions): FastifyInstance {
  const served: Served = { options, limiter: new RateLimiter(options.limits.rate, options.access.clock) };
  const app = fastify({
    logger: false,
    bodyLimit: options.limits.bodyBytes,
    requestTimeout: REQUEST_TIMEOUT_MS,
    routerOptions: { maxParamLength: 512 },
    genReqId: (raw: IncomingMessage) => requestIdOf(raw.headers['x-request-id'], options.freshId),
    ...(options.https === undefined ? { http: CONNECTION } : { https: { ...CONNECTION, ...options.https } }),
    clientErrorHandler: (error: NodeJS.ErrnoException, socket: Socket) =>
      refuseConnection(options, error, socket),
    frameworkErrors: (_error: Error, request: FastifyRequest, reply: FastifyReply) => {
      void sendRejection(
        served,
        request,
        reply,
        reject('route_not_found', {
          field: 'path',
          received: '(malformed)',
          why: 'The path is not a valid URL path.',
        }),
      );
    },
  } as Parameters<typeof fastify>[0]) as unknown as FastifyInstance;
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  app.addHook('onRequest', (request, reply, done) => {
    void reply.header('x-request-id', request.id).header('x-content-type-options', 'nosniff');
    done();
  });
  app.setNotFoundHandler(missingRoute(served));
  app.setErrorHandler(requestFault(served) as never);
  for (const route of options.routes) {
    app.route({
      method: route.method,
      url: fastifyPath(route.path),
      exposeHeadRoute: false,
      // A parameter matches nothing at all, too: a trailing slash is not a name.
      handler: (request, reply) =>
        Object.values(request.params as Readonly<Record<string, string>>).includes('')
          ? reply.callNotFound()
          : answer(served, route, request, reply),
    });
  }
  return app;
}

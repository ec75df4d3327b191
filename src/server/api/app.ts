import { paramsOf } from './request-parts.ts';
import { createHash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { isRecord } from '../../core/model/values.ts';
import { checkBody } from '../../core/schema/shape.ts';
import { received } from '../../core/rejections/redaction.ts';
import { isRejection, reject } from '../../core/rejections/reject.ts';
import type { Rejection } from '../../core/rejections/rejection.ts';
import { cameByHttps } from '../access/session.ts';
import type { Principal } from '../access/principal.ts';
import type { Caller } from '../writes/admission.ts';
import { admitRequest, credentialRejection, principalOfRequest } from './admit-request.ts';
import { parseBody } from './body.ts';
import { BodyBudget, bodyBudget } from './body-budget.ts';
import { bringsLongBody, strangerRejection } from './early-refusal.ts';
import { idempotencyKeyRejection, requestIdOf, sourceOf } from './headers.ts';
import { LateRequests } from './late-requests.ts';
import { NO_STREAM_LIMITS, StreamCounts } from './limits/streams.ts';
import { NO_UNREAD_LIMITS, UnreadAnswers } from './limits/unread.ts';
import { RateLimiter } from './rate-limit.ts';
import {
  faultRejection,
  MAX_HEADER_BYTES,
  missingRoute,
  REQUEST_TIMEOUT_MS,
  LATE_REQUEST,
  refuseConnection,
  requestFault,
} from './refusals.ts';
import { HTTPS_ONLY, HTTPS_ONLY_YEAR, send, sendRejection, sendRejections, statusOf } from './replies.ts';
import { lasts, Rejections, type Reply, type Route } from './route.ts';
import type { ApiOptions, ApiContext } from './api-context.ts';
import { openSocket, socketRejection } from './sockets.ts';
import { sendStream } from './stream.ts';

const HEADERS_TIMEOUT_MS = 10_000;
/** Node looks for connections past their time only this often. */
const CONNECTION = {
  maxHeaderSize: MAX_HEADER_BYTES,
  headersTimeout: HEADERS_TIMEOUT_MS,
  connectionsCheckingInterval: 1000,
  /** Of TLS: otherwise it may take two minutes. */
  handshakeTimeout: HEADERS_TIMEOUT_MS,
  /** Refused by us instead, with a record. */
  requireHostHeader: false,
} as const;

function noSchemas(): never {
  throw new Error('bodies and answers are read and described by core/schema, not by the framework');
}
/** Unless told, the framework loads two compilers of schemas, a fifth of the time that a start takes. */
const NO_SCHEMAS = { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } };

/** The answer is from what is known here; the store could not be asked for what is newest. */
const STALE = 'berth-stale';

const NO_BYTES = Buffer.alloc(0);

function bodyOf(
  context: ApiContext,
  route: Route,
  request: FastifyRequest,
  charge: (requests: number) => void,
): { readonly value: unknown } | Rejection {
  const bytes = Buffer.isBuffer(request.body) ? request.body : NO_BYTES;
  if (route.body === undefined) return { value: undefined };
  if (bytes.length === 0 && route.body.optional) return { value: undefined };
  const parsed = parseBody(bytes, request.headers['content-type'], route.body, {
    maxDepth: context.options.limits.jsonDepth,
    charge,
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

/** Known once the request was admitted. */
interface Asked {
  principal?: Principal;
}

/** Until its connection or its answer is over. */
function takeStream(
  { streams }: ApiContext,
  principal: Principal,
  { raw }: FastifyReply,
): Rejection | undefined {
  // Its end would go unnoticed.
  if (raw.destroyed) return undefined;
  const taken = streams.take(principal);
  if (isRejection(taken)) return taken;
  raw.once('close', taken);
  return undefined;
}

function serve(
  context: ApiContext,
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
  asked: Asked,
): Promise<Reply> | Reply {
  const admitted = admitRequest(context, route, request);
  if (isRejection(admitted)) return admitted;
  const unread =
    socketRejection(route, request, context.options.baseUrl) ?? context.unread.refusal(admitted.principal);
  if (unread) return unread;
  asked.principal = admitted.principal;
  const refused = lasts(route, request.headers) ? takeStream(context, admitted.principal, reply) : undefined;
  if (refused) return refused;
  const idempotency = idempotencyOf(route, request);
  if (isRejection(idempotency)) return idempotency;
  const body = bodyOf(context, route, request, admitted.charge);
  if (isRejection(body)) return body;
  const caller: Caller = {
    principal: admitted.principal,
    requestId: admitted.requestId,
    tenant: admitted.store,
    tenantSlug: admitted.tenant.slug,
    ...sourceOf(request.raw),
    ...(idempotency === undefined ? {} : { idempotency }),
  };
  return route.handle({ ...admitted, caller, body: body.value });
}

/** Rules compare the revisions that a header names; the client is shown the header that it sent. */
function asReceived({ headers }: FastifyRequest, rejection: Rejection): Rejection {
  const sent = headers['if-match'];
  return rejection.field === 'If-Match' && sent !== undefined
    ? { ...rejection, received: received(sent) }
    : rejection;
}

/** Refused for who asks, not for what is asked. */
const REFUSED_FOR_WHO: ReadonlySet<string> = new Set([
  'unauthenticated',
  'join_token_invalid',
  'csrf_token_invalid',
  'role_forbidden',
  'tenant_forbidden',
]);

function noteRefusal(context: ApiContext, route: Route, request: FastifyRequest, { code }: Rejection): void {
  const { onRefusal, access } = context.options;
  if (onRefusal === undefined || !REFUSED_FOR_WHO.has(code)) return;
  const principal = principalOfRequest(context, request, false);
  onRefusal({
    at: access.clock.now().toISOString(),
    code,
    method: route.method,
    path: route.path,
    ...sourceOf(request.raw),
    ...(isRejection(principal) ? {} : { tokenId: principal.tokenId }),
    requestId: request.id,
  });
}

/** What was altered is told by the answer and by the line of the request. */
function announcedIn(body: unknown): object | undefined {
  if (!isRecord(body)) return undefined;
  const { name, alterations } = body;
  return Array.isArray(alterations) && alterations.length > 0 ? { name, alterations } : undefined;
}

function deliver(
  context: ApiContext,
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
  { result, start, principal }: Asked & { readonly result: Reply; readonly start: number },
): FastifyReply | Promise<FastifyReply> {
  if ('stream' in result)
    return sendStream(
      request,
      reply,
      result,
      () => !isRejection(principalOfRequest(context, request, false)),
      (bytes) => principal !== undefined && context.unread.hold(reply.raw, principal, bytes),
    );
  if ('converse' in result)
    return openSocket(request, reply, result, {
      baseUrl: context.options.baseUrl,
      credential: () => credentialRejection(context, route, request),
    });
  const status = isRejection(result) ? statusOf(result) : result.status;
  context.options.metrics.request(route, status, (performance.now() - start) / 1000);
  if (result instanceof Rejections) return sendRejections(context, request, reply, result.rejections);
  if (isRejection(result)) {
    noteRefusal(context, route, request, result);
    return sendRejection(context, request, reply, asReceived(request, result));
  }
  if (route.method !== 'GET') {
    context.options.log.info(
      { requestId: request.id, method: route.method, path: route.path, status, ...announcedIn(result.body) },
      'accepted',
    );
  } else if (context.options.log.isLevelEnabled('debug'))
    context.options.log.debug(
      { requestId: request.id, path: route.path, status, ms: performance.now() - start },
      'read',
    );
  const headers = reply.hasHeader(STALE) ? { ...result.headers, [STALE]: 'true' } : result.headers;
  send(reply, result.status, result.body, headers);
  if (principal !== undefined) context.unread.follow(reply.raw, principal);
  return reply;
}

/** A read that is answered from the view takes no turn of the event loop: it is answered at once. */
function answer(
  context: ApiContext,
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply | Promise<FastifyReply> {
  const start = performance.now();
  const asked: Asked = {};
  const respond = (result: Reply) => deliver(context, route, request, reply, { ...asked, result, start });
  const failed = (error: unknown) => respond(faultRejection(context, request, error));
  try {
    const result = serve(context, route, request, reply, asked);
    return result instanceof Promise ? result.then(respond, failed) : respond(result);
  } catch (error) {
    return failed(error);
  }
}

function storeAway(): Rejection {
  return {
    ...reject('store_unavailable', {
      field: 'store',
      received: '(none)',
      why: 'The store does not answer, so nothing can be decided on its newest state; /healthz says why.',
    }),
    retryAfterSeconds: 1,
  };
}

/** A read is answered from what is known, and says so, while the store is away; a write is not decided on what may be old. */
async function answerFresh(
  context: ApiContext,
  route: Route,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { fresh, ready } = context.options;
  if (fresh !== undefined && ready() && !(await fresh())) {
    if (route.method !== 'GET') return sendRejection(context, request, reply, storeAway());
    void reply.header(STALE, 'true');
  }
  return answer(context, route, request, reply);
}

/** What is refused without its body: the connection ends, since the body is still on its way. */
function beforeBody(
  context: ApiContext,
  routes: ReadonlyMap<string, Route>,
  request: FastifyRequest,
  reply: FastifyReply,
): FastifyReply | undefined {
  if (request.is404) return missingRoute(context)(request, reply.header('connection', 'close'));
  const route = routes.get(`${request.method} ${request.routeOptions.url ?? ''}`);
  const stranger = route && strangerRejection(context, request);
  if (route === undefined || stranger === undefined) return undefined;
  noteRefusal(context, route, request, stranger);
  return sendRejection(context, request, reply.header('connection', 'close'), stranger);
}

function fastifyPath(path: string): string {
  return path.replaceAll(/\{([A-Za-z]+)\}/g, ':$1');
}

function lacksParameter(params: Readonly<Record<string, string>>): boolean {
  for (const name in params) if (params[name] === '') return true;
  return false;
}

export function createApp(options: ApiOptions): FastifyInstance {
  const { connections } = options;
  const serveRoute = options.fresh === undefined ? answer : answerFresh;
  const context: ApiContext = {
    options,
    limiter: options.limiter ?? new RateLimiter(options.limits.rate, options.access.clock),
    streams: options.streams ?? new StreamCounts(NO_STREAM_LIMITS),
    unread: options.unread ?? new UnreadAnswers(NO_UNREAD_LIMITS),
  };
  const bodies = new BodyBudget(
    options.limits.bodyBudget ?? bodyBudget(Number.POSITIVE_INFINITY),
    options.limits.bodyBytes,
  );
  const late = new LateRequests(() => app.server, HEADERS_TIMEOUT_MS);
  const app: FastifyInstance = fastify({
    logger: false,
    schemaController: NO_SCHEMAS,
    bodyLimit: options.limits.bodyBytes,
    requestTimeout: REQUEST_TIMEOUT_MS,
    routerOptions: { maxParamLength: 512 },
    genReqId: (raw: IncomingMessage) => requestIdOf(raw.headers['x-request-id'], options.freshId),
    ...(options.https === undefined ? { http: CONNECTION } : { https: { ...CONNECTION, ...options.https } }),
    clientErrorHandler: (error: NodeJS.ErrnoException, socket: Socket) => {
      const refuse = (): void => refuseConnection(options, error, socket);
      if (error.code === LATE_REQUEST) late.judge(socket, refuse);
      else refuse();
    },
    frameworkErrors: (_error: Error, request: FastifyRequest, reply: FastifyReply) => {
      void sendRejection(
        context,
        request,
        reply,
        reject('route_not_found', {
          field: 'path',
          received: '(malformed)',
          why: 'The path is not a valid URL path.',
        }),
      );
    },
  });
  const byPath = new Map(
    options.routes.map((route) => [`${route.method} ${fastifyPath(route.path)}`, route]),
  );
  connections?.follow(app.server);
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
  app.addHook('onRequest', (request, reply, done) => {
    void reply.header('x-request-id', request.id).header('x-content-type-options', 'nosniff');
    if (options.sessions.secure || cameByHttps(request.headers))
      void reply.header(HTTPS_ONLY, HTTPS_ONLY_YEAR);
    const refusal = connections?.refusal(request.raw.socket, request.url);
    if (connections?.isBeyond(request.raw.socket) === true) void reply.header('connection', 'close');
    if (refusal) return void sendRejection(context, request, reply, refusal);
    if (bringsLongBody(request) && beforeBody(context, byPath, request, reply) !== undefined) return;
    const crowded = bodies.admit(request.raw, reply.raw);
    if (crowded === undefined) return done();
    // The body stays unread, so the start of the next request is unknown.
    void reply.header('connection', 'close');
    sendRejection(context, request, reply, crowded);
  });
  // What the framework sends: answers of routes go past it, and are followed by `deliver`.
  app.addHook('onSend', (_request, reply, _payload, done) => {
    context.unread.hangUpLate(reply.raw);
    done();
  });
  app.setNotFoundHandler(missingRoute(context));
  app.setErrorHandler(requestFault(context));
  for (const route of options.routes) {
    app.route({
      method: route.method,
      url: fastifyPath(route.path),
      exposeHeadRoute: false,
      // A parameter matches nothing at all, too: a trailing slash is not a name.
      handler: (request, reply) =>
        lacksParameter(paramsOf(request)) ? reply.callNotFound() : serveRoute(context, route, request, reply),
    });
  }
  return app;
}

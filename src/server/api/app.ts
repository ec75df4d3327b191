import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type Duplex, Readable } from 'node:stream';
import fastify, { type FastifyInstance, type FastifyReply, type FastifyRequest } from 'fastify';
import { reject } from '../../core/rejections/reject.ts';
import type { Rejection } from '../../core/rejections/rejection.ts';
import { cameByHttps } from '../access/session.ts';
import { answer, answerFresh, noteRefusal } from './answer.ts';
import type { ApiOptions, ApiContext } from './api-context.ts';
import { BodyBudget, bodyBudget } from './body-budget.ts';
import { DirectRoutes } from './direct.ts';
import { bringsLongBody, strangerRejection } from './early-refusal.ts';
import { requestIdOf } from './headers.ts';
import { LateRequests } from './late-requests.ts';
import { LoopStalls } from './loop-stalls.ts';
import { NO_STREAM_LIMITS, StreamCounts } from './limits/streams.ts';
import { NO_UNREAD_LIMITS, UnreadAnswers } from './limits/unread.ts';
import { RateLimiter } from './rate-limit.ts';
import {
  connectRejection,
  expectationRejection,
  HEADERS_TIMEOUT_MS,
  type LatePart,
  MAX_HEADER_BYTES,
  missingRoute,
  REQUEST_TIMEOUT_MS,
  LATE_REQUEST,
  refuseConnection,
  requestFault,
} from './refusals.ts';
import { HTTPS_ONLY, HTTPS_ONLY_YEAR, sendRejection } from './replies.ts';
import { type ApiReply, type ApiRequest, paramsOf } from './request-parts.ts';
import type { Route } from './route.ts';
import { detachedResponse } from './sockets.ts';
import { stopping } from './unavailable.ts';

/** Node looks for connections past their time only this often. */
const CONNECTION = {
  maxHeaderSize: MAX_HEADER_BYTES,
  headersTimeout: HEADERS_TIMEOUT_MS,
  connectionsCheckingInterval: 1000,
  /** Of TLS: otherwise it may take two minutes. */
  handshakeTimeout: HEADERS_TIMEOUT_MS,
  /** Refused by us instead, with a record. */
  requireHostHeader: false,
  /** Nothing is read of a request that has no body, and its life as a stream costs more than what it asks for. */
  optimizeEmptyRequests: true,
} as const;

function noSchemas(): never {
  throw new Error('bodies and answers are read and described by core/schema, not by the framework');
}
/** Unless told, the framework loads two compilers of schemas, a fifth of the time that a start takes. */
const NO_SCHEMAS = { compilersFactory: { buildValidator: noSchemas, buildSerializer: noSchemas } };

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
  const stalls = new LoopStalls(REQUEST_TIMEOUT_MS);
  const late = new LateRequests(
    () => app.server,
    { headMs: HEADERS_TIMEOUT_MS, requestMs: REQUEST_TIMEOUT_MS },
    stalls,
  );
  const app: FastifyInstance = fastify({
    logger: false,
    schemaController: NO_SCHEMAS,
    bodyLimit: options.limits.bodyBytes,
    requestTimeout: REQUEST_TIMEOUT_MS,
    // Refused by us instead, with a record.
    return503OnClosing: false,
    // A longer name is an unknown one, not a malformed path.
    routerOptions: { maxParamLength: MAX_HEADER_BYTES },
    genReqId: (raw: IncomingMessage) => requestIdOf(raw.headers['x-request-id'], options.freshId),
    ...(options.https === undefined ? { http: CONNECTION } : { https: { ...CONNECTION, ...options.https } }),
    clientErrorHandler: (error: NodeJS.ErrnoException, socket: Socket) => {
      const refuse = (part?: LatePart): void => refuseConnection(options, error, socket, part);
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
  // Such a request never says that it ends, which the framework waits for where a body is announced by its type alone.
  app.addHook('preParsing', (_request, _reply, payload, done) =>
    done(null, 'readableEnded' in payload && payload.readableEnded ? Readable.from([]) : payload),
  );
  let isClosing = false;
  /** Before the body is read; false: it was refused. */
  const begin = (request: ApiRequest, reply: ApiReply, refuse?: () => boolean): boolean => {
    const { raw } = request;
    if (options.sessions.secure || cameByHttps(request.headers)) reply.header(HTTPS_ONLY, HTTPS_ONLY_YEAR);
    const refusal = isClosing ? stopping() : connections?.refusal(raw.socket, request.url);
    if (isClosing || connections?.isBeyond(raw.socket) === true) reply.header('connection', 'close');
    if (refusal) sendRejection(context, request, reply, refusal);
    if (refusal || refuse?.() === true) return false;
    const crowded = bodies.admit(raw, reply.raw);
    if (crowded === undefined) return true;
    // The body stays unread, so the start of the next request is unknown.
    reply.header('connection', 'close');
    sendRejection(context, request, reply, crowded);
    return false;
  };
  const unserved = new WeakMap<IncomingMessage, Rejection>();
  app.addHook('onRequest', (request, reply, done) => {
    void reply.header('x-request-id', request.id).header('x-content-type-options', 'nosniff');
    const refuse = (): boolean => {
      const refusal = unserved.get(request.raw);
      // What follows it may be its body, or for another server.
      if (refusal) sendRejection(context, request, reply.header('connection', 'close'), refusal);
      return (
        refusal !== undefined ||
        (bringsLongBody(request) && beforeBody(context, byPath, request, reply) !== undefined)
      );
    };
    if (begin(request, reply, refuse)) done();
  });
  // What Node would answer without a record, or not at all.
  app.server.on('checkExpectation', (raw: IncomingMessage, response: ServerResponse) => {
    unserved.set(raw, expectationRejection(raw));
    app.routing(raw, response);
  });
  const methods = [...new Set(options.routes.map(({ method }) => method))];
  app.server.on('connect', (raw: IncomingMessage, socket: Duplex) => {
    const response = detachedResponse(raw, socket);
    if (response === undefined) return;
    unserved.set(raw, connectRejection(methods));
    response.setHeader('allow', methods.join(', '));
    response.once('finish', () => response.socket?.destroySoon());
    app.routing(raw, response);
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
  const direct = new DirectRoutes(context, { begin, serve: serveRoute, pathOf: fastifyPath });
  direct.follow(app.server);
  app.addHook('preClose', (done) => {
    isClosing = true;
    direct.close();
    stalls.close();
    done();
  });
  return app;
}

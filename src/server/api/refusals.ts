import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { nearest } from '../../core/schema/nearest.ts';
import { received } from '../../core/rejections/redaction.ts';
import { reject } from '../../core/rejections/reject.ts';
import { type Rejection, rejectionBody } from '../../core/rejections/rejection.ts';
import { PUBLIC_DOCUMENTS } from './public.ts';
import { KvTooLargeError, KvUnavailableError } from '../store/kv.ts';
import { reachedUrl, sendRejection, statusOf } from './replies.ts';
import type { ApiOptions, ApiContext } from './api-context.ts';
import type { ApiRequest } from './request-parts.ts';
import { unavailable } from './unavailable.ts';

const { STATUS_CODES } = process.getBuiltinModule('node:http');

/** Node's, of headers or a body that did not arrive in time. */
export const LATE_REQUEST = 'ERR_HTTP_REQUEST_TIMEOUT';
export const HEADERS_TIMEOUT_MS = 10_000;
export const REQUEST_TIMEOUT_MS = 30_000;
export const MAX_HEADER_BYTES = 16 * 1024;

/** A fault is turned into an answer here and nowhere else. */
export function faultRejection(context: ApiContext, request: ApiRequest, error: unknown): Rejection {
  if (error instanceof KvUnavailableError) {
    return unavailable(
      error.certainlyNotApplied
        ? `${error.message}; nothing was stored.`
        : `${error.message}; it is not known whether the write was stored: read the record before sending it again.`,
    );
  }
  if (error instanceof KvTooLargeError) {
    context.options.log.warn({ requestId: request.id, problem: error.message }, 'too large for the store');
    return reject('body_too_large', {
      field: 'body',
      received: `(${request.headers['content-length'] ?? 'unknown number of'} bytes)`,
      expected: 'a request whose records fit into one write of etcd: 128 records and 1.5 MiB',
      why: 'What this request stores, its history included, is more than etcd takes in one write; nothing was stored.',
    });
  }
  context.options.log.error({ requestId: request.id, err: error, path: request.routeOptions.url }, 'fault');
  return reject('internal_error', {
    field: 'server',
    received: '(none)',
    why: `The control plane failed on this request (${request.id}); its log says more.`,
  });
}

export function framingRejection(): Rejection {
  return reject('body_malformed', {
    field: 'body',
    received: '(redacted)',
    why: 'The request could not be read as it was framed.',
  });
}

function pathPattern(path: string): RegExp {
  return new RegExp(`^${path.replaceAll(/\{[A-Za-z]+\}/g, '[^/]+')}$`);
}

export function missingRoute(
  context: ApiContext,
): (request: FastifyRequest, reply: FastifyReply) => FastifyReply {
  const patterns = [
    ...context.options.routes.map(({ path, method }) => ({ method, pattern: pathPattern(path) })),
    ...PUBLIC_DOCUMENTS.map((path) => ({ method: 'GET', pattern: pathPattern(path) })),
  ];
  return (request, reply) => {
    const path = request.url.split('?', 1)[0] ?? '';
    const methods = patterns.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method);
    if (methods.length > 0) {
      void reply.header('allow', [...new Set(methods)].join(', '));
      return sendRejection(
        context,
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
    const page = context.options.page?.(request, reply);
    if (page !== undefined) return page;
    const paths = context.options.routes.map((route) => route.path);
    const near = nearest(path, paths);
    return sendRejection(
      context,
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

/** Node would answer a status alone. */
export function expectationRejection({ headers }: IncomingMessage): Rejection {
  return reject('header_invalid', {
    field: 'Expect',
    received: received(headers.expect),
    expected: '100-continue, or no such header',
    why: 'The control plane meets no other expectation.',
  });
}

/** Its address is another machine's, so no path of ours says what may be sent. */
export function connectRejection(methods: readonly string[]): Rejection {
  return reject('method_not_allowed', {
    field: 'method',
    received: 'CONNECT',
    expected: `one of: ${methods.join(', ')}`,
    why: 'The control plane is no proxy.',
  });
}

export function requestFault(
  context: ApiContext,
): (
  error: Error & { code?: string; statusCode?: number },
  request: FastifyRequest,
  reply: FastifyReply,
) => FastifyReply {
  return (error, request, reply) => {
    // A method that no route has is that first, whatever the framework wants of its body.
    if (request.is404) return missingRoute(context)(request, reply);
    if (error.code === 'FST_ERR_CTP_BODY_TOO_LARGE') {
      const limit = context.options.limits.bodyBytes;
      return sendRejection(
        context,
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
        context,
        request,
        reply,
        reject('content_type_unsupported', {
          field: 'Content-Type',
          received: received(request.headers['content-type']),
          why: 'The header does not hold a media type.',
        }),
      );
    }
    if (error.statusCode !== undefined && error.statusCode < 500)
      return sendRejection(context, request, reply, framingRejection());
    return sendRejection(context, request, reply, faultRejection(context, request, error));
  };
}

/** What a request was too late with. */
export type LatePart = 'headers' | 'body';

function late(part: LatePart): Rejection {
  const isHead = part === 'headers';
  return reject(isHead ? 'header_invalid' : 'body_malformed', {
    field: part,
    received: '(redacted)',
    expected: isHead
      ? `complete headers within ${HEADERS_TIMEOUT_MS / 1000} s`
      : `a complete request within ${REQUEST_TIMEOUT_MS / 1000} s`,
    why: isHead ? 'The headers did not arrive in time.' : 'The request did not arrive in time.',
  });
}

/** What cannot be read as a request at all still gets a record, and the connection ends: the start of the next one is unknown. */
export function refuseConnection(
  options: ApiOptions,
  error: NodeJS.ErrnoException,
  socket: Socket,
  latePart?: LatePart,
): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy(error);
    return;
  }
  const rejection =
    latePart === undefined
      ? reject('header_invalid', {
          field: 'headers',
          received: '(redacted)',
          expected: `a well-formed HTTP/1.1 request with at most ${MAX_HEADER_BYTES} bytes of headers`,
          why: 'The request could not be read as HTTP.',
        })
      : late(latePart);
  const requestId = options.freshId();
  options.log.info({ requestId, code: rejection.code, cause: error.code }, 'rejected');
  const status = statusOf(rejection);
  const body = JSON.stringify(rejectionBody(rejection, options.baseUrl ?? reachedUrl(socket)));
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

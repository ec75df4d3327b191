import type { FastifyReply, FastifyRequest } from 'fastify';
import { CATALOGUE } from '../../core/rejections/catalogue.ts';
import type { Rejection } from '../../core/rejections/rejection.ts';
import type { Served } from './served.ts';

const HOST = /^[A-Za-z0-9.:[\]_-]{1,255}$/;

export function baseUrlOf(request: FastifyRequest, configured: string | undefined): string {
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

export function send(
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

export function sendRejection(
  { options }: Pick<Served, 'options'>,
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

import type { Socket } from 'node:net';
import { CATALOGUE } from '../../core/rejections/catalogue.ts';
import { type Rejection, rejectionBody } from '../../core/rejections/rejection.ts';
import { REJECTIONS_TYPE } from '../../core/operations/queries.ts';
import { plainAddress } from './limits/address-group.ts';
import { lingers } from './lingering.ts';
import type { ApiReply, ApiRequest } from './request-parts.ts';
import { JsonText } from './route.ts';
import type { ApiContext } from './api-context.ts';

const HOST = /^[A-Za-z0-9.:[\]_-]{1,255}$/;

export function baseUrlOf(
  request: Pick<ApiRequest, 'headers' | 'protocol' | 'raw'>,
  configured: string | undefined,
): string {
  if (configured !== undefined) return configured;
  const { host } = request.headers;
  // What CONNECT names is where it wants to be connected to.
  return host !== undefined && HOST.test(host) && request.raw.method !== 'CONNECT'
    ? `${request.protocol}://${host}`
    : reachedUrl(request.raw.socket);
}

/** Of who did not say by which name: the address that its connection came to. */
export function reachedUrl(socket: Pick<Socket, 'localAddress' | 'localPort'>): string {
  const scheme = 'encrypted' in socket ? 'https' : 'http';
  const { localAddress, localPort } = socket;
  // It is closed.
  if (localAddress === undefined) return `${scheme}://localhost`;
  const address = plainAddress(localAddress);
  return `${scheme}://${address.includes(':') ? `[${address}]` : address}:${localPort}`;
}

export function statusOf(rejection: Rejection): number {
  return rejection.status ?? CATALOGUE[rejection.code].status;
}

/** A browser that came by https once does not come in the clear again. */
export const HTTPS_ONLY = 'strict-transport-security';
export const HTTPS_ONLY_YEAR = 'max-age=31536000';

const JSON_TYPE = 'application/json; charset=utf-8';
const MAX_AMONG_BYTES = 4096;
/** Has no length either. */
const NO_CONTENT = 204;

/**
 * Written past the framework, whose sending goes through hooks and a table of headers that no answer of a route needs: it
 * costs as much as all the rest of a read.
 */
export function send<R extends ApiReply>(
  reply: R,
  status: number,
  body: unknown,
  headers: Readonly<Record<string, string>> = {},
  type = JSON_TYPE,
): R {
  const made = body instanceof JsonText;
  const text = made ? body.text : (JSON.stringify(body) as string | undefined);
  const bytes = made ? body.bytes : text === undefined ? 0 : Buffer.byteLength(text);
  const lines = [
    'x-request-id',
    reply.request.id,
    'x-content-type-options',
    'nosniff',
    'content-type',
    type,
    'cache-control',
    'no-store',
  ];
  if (status !== NO_CONTENT) lines.push('content-length', String(bytes));
  for (const name in headers) lines.push(name, headers[name] ?? '');
  // `sendRejection` hands it over itself.
  if (reply.hasHeader(HTTPS_ONLY) && headers[HTTPS_ONLY] === undefined)
    lines.push(HTTPS_ONLY, HTTPS_ONLY_YEAR);
  const { raw } = reply;
  raw.writeHead(status, lines);
  reply.hijack();
  // Text of one byte per character needs no encoding, and leaves in one piece with its head.
  if (text === undefined) raw.end();
  else raw.end(text, bytes === text.length ? 'latin1' : 'utf8');
  return reply;
}

/** What was said of the answer on the way here; the lines that `send` writes are its own. */
function heldHeaders(reply: ApiReply): Record<string, string> {
  const held: Record<string, string> = {};
  for (const [name, value] of Object.entries(reply.getHeaders())) {
    if (name === 'x-request-id' || name === 'x-content-type-options' || value === undefined) continue;
    held[name] = String(value);
  }
  return held;
}

/** Every one as it would be refused with alone. */
export function sendRejections<R extends ApiReply>(
  { options }: Pick<ApiContext, 'options'>,
  request: ApiRequest,
  reply: R,
  rejections: readonly Rejection[],
): R {
  const baseUrl = baseUrlOf(request, options.baseUrl);
  for (const { code } of rejections) options.metrics.rejected(code);
  const body = { rejections: rejections.map((one) => rejectionBody(one, baseUrl)) };
  return send(reply, 200, body, {}, REJECTIONS_TYPE);
}

/** Pairs of code and field with commas between them, as many as fit. */
function amongHeader(among: readonly Pick<Rejection, 'code' | 'field'>[]): string {
  let text = '';
  for (const { code, field } of among) {
    const pair = `${text === '' ? '' : ', '}${code} ${encodeURIComponent(field).replaceAll('%5B', '[').replaceAll('%5D', ']')}`;
    if (text.length + pair.length > MAX_AMONG_BYTES) break;
    text += pair;
  }
  return text;
}

export function sendRejection<R extends ApiReply>(
  { options }: Pick<ApiContext, 'options'>,
  request: ApiRequest,
  reply: R,
  rejection: Rejection,
): R {
  options.metrics.rejected(rejection.code);
  const status = statusOf(rejection);
  const headers = heldHeaders(reply);
  if (status === 401) headers['www-authenticate'] = 'Bearer';
  if (rejection.among !== undefined) headers['x-berth-rejections'] = amongHeader(rejection.among);
  if (rejection.retryAfterSeconds !== undefined) headers['retry-after'] = String(rejection.retryAfterSeconds);
  if (headers['connection'] === 'close') lingers(reply.raw);
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

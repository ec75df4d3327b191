import type { IncomingMessage } from 'node:http';
import { reject } from '../../core/rejections/reject.ts';
import type { Rejection } from '../../core/rejections/rejection.ts';

/** Headers that decide something: two of one are refused, never "the last one wins". */
const SINGLE = new Set([
  'authorization',
  'x-tenant-id',
  'content-type',
  'content-length',
  'if-match',
  'idempotency-key',
  'host',
  'last-event-id',
  'x-csrf-token',
]);

export function duplicateHeader(rawHeaders: readonly string[]): Rejection | undefined {
  let seen: Set<string> | undefined;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]?.toLowerCase() ?? '';
    if (!SINGLE.has(name)) continue;
    seen ??= new Set();
    if (seen.has(name)) {
      return reject('header_duplicate', {
        field: name,
        received: '(sent twice)',
        why: `The header ${name} was sent more than once.`,
      });
    }
    seen.add(name);
  }
  return undefined;
}

/** HTTP/1.1 requires it. */
export function hostRejection({ httpVersion, headers }: IncomingMessage): Rejection | undefined {
  if (headers.host !== undefined || httpVersion !== '1.1') return undefined;
  return reject('header_invalid', {
    field: 'Host',
    received: '(absent)',
    expected: 'the host that the request is for',
    why: 'A request of HTTP/1.1 names its host.',
  });
}

const REQUEST_ID = /^[A-Za-z0-9._-]{1,64}$/;

/** A caller's own id is taken over when it is plain, so that its log and ours can be joined. */
export function requestIdOf(header: string | string[] | undefined, fresh: () => string): string {
  return typeof header === 'string' && REQUEST_ID.test(header) ? header : fresh();
}

const IDEMPOTENCY_KEY = /^[\u0021-\u007e]{1,255}$/;

/** Where a request came from; what a proxy says of it is as good as the proxy. */
export function sourceOf(raw: IncomingMessage): { readonly source?: string; readonly forwardedFor?: string } {
  const { remoteAddress } = raw.socket;
  const forwarded = raw.headers['x-forwarded-for'];
  return {
    ...(remoteAddress === undefined ? {} : { source: remoteAddress }),
    ...(typeof forwarded === 'string' && /^[\w.:, -]{1,200}$/.test(forwarded)
      ? { forwardedFor: forwarded }
      : {}),
  };
}

export function idempotencyKeyRejection(key: string | undefined): Rejection | undefined {
  if (key === undefined || IDEMPOTENCY_KEY.test(key)) return undefined;
  return reject('header_invalid', {
    field: 'Idempotency-Key',
    received: `(${key.length} characters)`,
    expected: '1 to 255 printable ASCII characters without spaces',
    why: 'The key is not of the accepted form.',
  });
}

import { received } from '../../core/rejections/redaction.ts';
import { isRejection, reject } from '../../core/rejections/reject.ts';
import type { Rejection } from '../../core/rejections/rejection.ts';
import type { JsonReply } from './route.ts';

const DEFAULT_LIMIT = 500;
const MAX_LIMIT = 1000;

export interface PageRequest {
  readonly limit: number;
  readonly after?: string;
}

export function invalidParameter(name: string, value: string, expected: string): Rejection {
  return reject('query_parameter_invalid', {
    field: name,
    received: received(value),
    expected,
    why: `The query parameter ${name} is not of the accepted form.`,
  });
}

export function integerParameter(
  query: Readonly<Record<string, string>>,
  name: string,
  min: number,
  max: number,
): number | undefined | Rejection {
  const text = query[name];
  if (text === undefined) return undefined;
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  return value >= min && value <= max ? value : invalidParameter(name, text, `integer from ${min} to ${max}`);
}

export function booleanParameter(query: Readonly<Record<string, string>>, name: string): boolean | Rejection {
  const text = query[name];
  if (text === undefined || text === 'false') return false;
  return text === 'true' || invalidParameter(name, text, 'true or false');
}

/** A cursor is the id after which the next page starts; opaque to clients, so it is encoded. */
export function pageRequest(query: Readonly<Record<string, string>>): PageRequest | Rejection {
  const limit = integerParameter(query, 'limit', 1, MAX_LIMIT);
  if (isRejection(limit)) return limit;
  const { cursor } = query;
  if (cursor === undefined) return { limit: limit ?? DEFAULT_LIMIT };
  const after = Buffer.from(cursor, 'base64url').toString('utf8');
  if (after === '' || Buffer.from(after).toString('base64url') !== cursor) {
    return invalidParameter('cursor', cursor, 'the cursor of a Link header');
  }
  return { limit: limit ?? DEFAULT_LIMIT, after };
}

/** The header that names the page behind the given id. */
export function nextPage(
  path: string,
  query: Readonly<Record<string, string>>,
  after: string,
): { readonly link: string } {
  const next = new URLSearchParams({ ...query, cursor: Buffer.from(after).toString('base64url') });
  return { link: `<${path}?${next.toString()}>; rel="next"` };
}

/** One more than the page was read: if it is there, there is a next page. */
export function pageReply<T>(
  page: PageRequest,
  path: string,
  query: Readonly<Record<string, string>>,
  read: readonly T[],
  idOf: (item: T) => string,
  view: (item: T) => unknown,
): JsonReply {
  const shown = read.slice(0, page.limit);
  const last = shown.at(-1);
  if (read.length <= page.limit || last === undefined) return { status: 200, body: shown.map(view) };
  return { status: 200, body: shown.map(view), headers: nextPage(path, query, idOf(last)) };
}

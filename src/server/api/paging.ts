import type { Exactly } from '../../core/schema/shape.ts';
import { received } from '../../core/rejections/redaction.ts';
import { isRejection, reject } from '../../core/rejections/reject.ts';
import type { Rejection } from '../../core/rejections/rejection.ts';
import { PLAN_ID } from '../../core/operations/queries.ts';
import { isName } from '../../core/rules/name.ts';
import type { WriteOptions } from '../writes/admission.ts';
import type { Stored } from '../store/collection.ts';
import { type JsonReply, JsonText } from './route.ts';

const DEFAULT_LIMIT = 500;
const MAX_LIMIT = 1000;
/** A page ends before it is longer than this: it is in memory until its reader has taken it. One record is always shown. */
const MAX_PAGE_BYTES = 4 * 2 ** 20;
const FIRST_SLICE = 16;
const FIRST_WRITTEN = 8;
const LARGEST_SLICE = 512;

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

type Query = Readonly<Record<string, string>>;

export function integerParameter<Q extends Query>(
  query: Q,
  name: keyof Q & string,
  min: number,
  max: number,
): number | undefined | Rejection {
  const text = query[name];
  if (text === undefined) return undefined;
  const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
  return value >= min && value <= max ? value : invalidParameter(name, text, `integer from ${min} to ${max}`);
}

export function booleanParameter<Q extends Query>(query: Q, name: keyof Q & string): boolean | Rejection {
  const text = query[name];
  if (text === undefined || text === 'false') return false;
  return text === 'true' || invalidParameter(name, text, 'true or false');
}

const MAX_ALONGSIDE = 1024;

/** Of a write: whether it is tried only, and what is created with it. */
export function writeOptions(query: {
  readonly dryRun?: string;
  readonly alongside?: string;
  readonly plan?: string;
}): WriteOptions | Rejection {
  const dryRun = booleanParameter(query, 'dryRun');
  if (isRejection(dryRun)) return dryRun;
  const { alongside, plan } = query;
  const names = alongside?.split(',') ?? [];
  if (names.length > MAX_ALONGSIDE || !names.every(isName))
    return invalidParameter('alongside', alongside ?? '', 'at most 1024 names with commas between them');
  if (plan !== undefined && !new RegExp(PLAN_ID).test(plan))
    return invalidParameter('plan', plan, 'the id of a plan that a dry run showed');
  return { dryRun, alongside: names, ...(plan !== undefined && { plan }) };
}

/** A cursor is the id after which the next page starts; opaque to clients, so it is encoded. */
export function pageRequest(query: {
  readonly limit?: string;
  readonly cursor?: string;
}): PageRequest | Rejection {
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

export function cursorAfter(id: string): string {
  return Buffer.from(id).toString('base64url');
}

/** The header that names the page behind the given id. */
export function nextPage(path: string, query: Query, after: string): { readonly link: string } {
  const next = new URLSearchParams({ ...query, cursor: cursorAfter(after) });
  return { link: `<${path}?${next.toString()}>; rel="next"` };
}

/** All of one list are of one kind: as they are stored, or to be written. */
function written(views: readonly unknown[]): string {
  return views.every((one) => one instanceof JsonText)
    ? `[${views.map(({ text }) => text).join(',')}]`
    : JSON.stringify(views);
}

/** As many of the records as fit. They are written several at once, by the size of those before: one by one costs half as much again. */
function pageBody<T, A>(
  items: readonly T[],
  view: (item: T) => Exactly<A> | JsonText<A>,
): { body: JsonText<readonly A[]>; count: number } {
  const parts: string[] = [];
  let count = 0;
  let bytes = 1;
  for (let size = FIRST_WRITTEN; count < items.length; ) {
    const views = items.slice(count, count + size).map(view);
    const text = written(views);
    const length = Buffer.byteLength(text) - 1;
    const isTooLong = bytes + length > MAX_PAGE_BYTES;
    if (isTooLong && views.length > 1) {
      size = Math.floor(views.length / 2);
      continue;
    }
    if (isTooLong && count > 0) break;
    parts.push(text.slice(1, -1));
    bytes += length;
    count += views.length;
    size = Math.max(1, Math.floor(((MAX_PAGE_BYTES - bytes) * count) / bytes));
  }
  return { body: new JsonText(`[${parts.join(',')}]`), count };
}

/**
 * One more than the page was read: if it is there, there is a next page. A page that would be too long ends early. `upTo`: where to go on
 * after what was read, if not all was scanned.
 */
export function pageReply<T, A>(
  page: PageRequest,
  path: string,
  query: Query,
  read: readonly T[],
  idOf: (item: T) => string,
  view: (item: T) => Exactly<A> | JsonText<A>,
  upTo?: string,
): JsonReply<readonly A[]> {
  const { body, count } = pageBody(read.slice(0, page.limit), view);
  const last = read[count - 1];
  const after = last !== undefined && count < read.length ? idOf(last) : upTo;
  if (after === undefined) return { status: 200, body };
  return { status: 200, body, headers: nextPage(path, query, after) };
}

/** Of a whole list in the order of its ids: what the page shows, and one more. */
export function pageOf<T>(
  { after, limit }: PageRequest,
  all: readonly T[],
  idOf: (item: T) => string,
): readonly T[] {
  return all.filter((item) => after === undefined || idOf(item) > after).slice(0, limit + 1);
}

/** The same of a list in any order. */
export function orderedPageOf<T>(
  page: PageRequest,
  all: readonly T[],
  idOf: (item: T) => string,
): readonly T[] {
  return pageOf(
    page,
    all.toSorted((a, b) => (idOf(a) < idOf(b) ? -1 : 1)),
    idOf,
  );
}

interface Slice<T> {
  readonly entries: readonly Stored<T>[];
  /** Length of the records as they are stored. */
  readonly length: number;
}

/** What a page needs of records that are not in memory, read in slices: hardly more than what fits into the page. */
export async function readPage<T>(
  page: PageRequest,
  range: (options: { readonly limit: number; readonly after?: string }) => Promise<Slice<T>>,
): Promise<readonly Stored<T>[]> {
  const found: Stored<T>[] = [];
  const wanted = page.limit + 1;
  let after = page.after;
  let length = 0;
  for (let slice = FIRST_SLICE; found.length < wanted && length <= MAX_PAGE_BYTES; ) {
    const limit = Math.min(slice, wanted - found.length);
    const read = await range({ limit, ...(after === undefined ? {} : { after }) });
    found.push(...read.entries);
    length += read.length;
    if (read.entries.length < limit) break;
    after = found.at(-1)?.id;
    const fitting = Math.ceil(((MAX_PAGE_BYTES - length) * found.length) / Math.max(1, length));
    slice = Math.max(1, Math.min(LARGEST_SLICE, fitting));
  }
  return found;
}

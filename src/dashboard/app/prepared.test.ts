import { QueryClient } from '@tanstack/react-query';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { beginPage, forgetBegun, hasBegunDeployments, TENANT_KEY } from '../lib/begun.ts';
import { prepared } from './prepared.ts';

const LIST = '/api/v1/deployments?limit=50';
const SESSION = '/api/v1/session';
const OWN = { tenant: { id: 'own-id', slug: 'own', name: 'Own' }, permissions: [] };
const ACME = { tenant: { id: 'acme-id', slug: 'acme', name: 'Acme' }, permissions: [] };

type Answer = (tenant: string | undefined, signal: AbortSignal | null) => Response | Promise<Response>;

const stored = new Map<string, string>();
const answers = new Map<string, Answer>();
let queries: QueryClient;
let late: AbortController;

beforeEach(() => {
  queries = new QueryClient();
  late = new AbortController();
  // Of the page; those of requests are as they are.
  vi.spyOn(AbortSignal, 'timeout').mockReturnValueOnce(late.signal);
  vi.stubGlobal('localStorage', {
    getItem: (key: string) => stored.get(key) ?? null,
    removeItem: (key: string) => stored.delete(key),
  });
  vi.stubGlobal('fetch', async (url: string, { headers, signal = null }: RequestInit) => {
    const asked = answers.get(url);
    if (asked === undefined) throw new Error(`nobody answers ${url}`);
    const { promise: aborted, reject } = Promise.withResolvers<never>();
    signal?.addEventListener('abort', () => reject(new Error('aborted')));
    return await Promise.race([asked(new Headers(headers).get('x-tenant-id') ?? undefined, signal), aborted]);
  });
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
  queries.clear();
  forgetBegun();
  stored.clear();
  answers.clear();
});

const rows = (...names: readonly string[]) => Response.json(names.map((name) => ({ name })));
const refusal = (status: number, code: string) =>
  Response.json(
    { code, field: '', received: '', expected: '', why: 'no', doc: '' },
    { status, headers: { 'retry-after': '600' } },
  );
const shown = (tenant: string) => queries.getQueryData([`${tenant}-id`, 'deployments']);

it('the first page has its rows', async () => {
  answers.set(SESSION, () => Response.json(OWN));
  answers.set(LIST, () => rows('web'));
  beginPage('/', undefined);
  await prepared(queries, Promise.resolve());
  expect(shown('own')).toEqual([{ name: 'web' }]);
});

it('what is not there in time is left to the page', async () => {
  const { promise: listed, resolve: list } = Promise.withResolvers<AbortSignal | null>();
  answers.set(SESSION, () => Response.json(OWN));
  answers.set(LIST, (_, signal) => {
    list(signal);
    return new Promise(() => undefined);
  });
  beginPage('/', undefined);
  const drawn = prepared(queries, Promise.resolve());
  await vi.waitFor(() => expect(hasBegunDeployments()).toBe(false));
  late.abort();
  await drawn;
  expect((await listed)?.aborted).toBe(true);
  expect(shown('own')).toBeUndefined();
});

it('what the page asks before who this is is known is not taken from it', async () => {
  const { promise, resolve } = Promise.withResolvers<Response>();
  answers.set(SESSION, () => promise);
  answers.set(LIST, () => rows('web'));
  beginPage('/', undefined);
  const drawn = prepared(queries, Promise.resolve());
  late.abort();
  await drawn;
  resolve(Response.json(OWN));
  await vi.waitFor(() => expect(queries.getQueryData(['session', undefined])).toEqual(OWN));
  expect(hasBegunDeployments()).toBe(true);
});

it('what the page has read already is not replaced by the first of it', async () => {
  answers.set(SESSION, () => Response.json(OWN));
  answers.set(LIST, () => rows('web'));
  queries.setQueryData(['own-id', 'deployments'], ['all', 'of', 'them']);
  beginPage('/', undefined);
  await prepared(queries, Promise.resolve());
  expect(shown('own')).toEqual(['all', 'of', 'them']);
});

it.each([
  { status: 429, code: 'rate_limited', kept: 'acme' },
  { status: 500, code: 'internal_error', kept: 'acme' },
  { status: 403, code: 'tenant_forbidden', kept: undefined },
  { status: 404, code: 'tenant_not_found', kept: undefined },
])('rows of a chosen tenant are not shown as their own after $status', async ({ status, code, kept }) => {
  stored.set(TENANT_KEY, 'acme');
  answers.set(SESSION, (tenant) => (tenant === undefined ? Response.json(OWN) : refusal(status, code)));
  answers.set(LIST, () => rows('of-acme'));
  beginPage('/', 'acme');
  await prepared(queries, Promise.resolve());
  expect(shown('own')).toBeUndefined();
  expect(stored.get(TENANT_KEY)).toBe(kept);
});

it('rows of a chosen tenant are shown as its own', async () => {
  stored.set(TENANT_KEY, 'acme');
  answers.set(SESSION, () => Response.json(ACME));
  answers.set(LIST, () => rows('of-acme'));
  beginPage('/', 'acme');
  await prepared(queries, Promise.resolve());
  expect(shown('acme')).toEqual([{ name: 'of-acme' }]);
});

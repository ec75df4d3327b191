import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { beginPage, forgetBegun, hasBegunDeployments, takeBegun } from './begun.ts';

const LIST = '/api/v1/deployments?limit=50';
const SESSION = '/api/v1/session';
const never = new AbortController().signal;

interface Sent {
  readonly url: string;
  readonly init: RequestInit;
  readonly answer: (status: number) => void;
}

const sent: Sent[] = [];

beforeEach(() => {
  vi.stubGlobal('fetch', (url: string, init: RequestInit) => {
    const { promise, resolve, reject } = Promise.withResolvers<Response>();
    init.signal?.addEventListener('abort', () => reject(new Error('aborted')));
    sent.push({ url, init, answer: (status) => resolve(Response.json({ url }, { status })) });
    return promise;
  });
});
afterEach(() => {
  vi.unstubAllGlobals();
  vi.useRealTimers();
  forgetBegun();
  sent.length = 0;
});

const answerAll = (status = 200): void => {
  for (const one of sent) one.answer(status);
};

it('a page that shows deployments begins with the session and the first of them, any other with the session', () => {
  beginPage('/deployments', undefined);
  expect(sent.map(({ url }) => url)).toEqual([SESSION, LIST]);
  expect(hasBegunDeployments()).toBe(true);
  forgetBegun();
  sent.length = 0;
  beginPage('/nodes', 'acme');
  expect(sent.map(({ url, init }) => [url, init.headers])).toEqual([
    [SESSION, { accept: 'application/json', 'x-tenant-id': 'acme' }],
  ]);
  expect(hasBegunDeployments()).toBe(false);
});

it('an answer is taken once, and for the tenant that was chosen', async () => {
  beginPage('/', 'acme');
  answerAll();
  expect(await takeBegun(LIST, undefined, never)).toBeUndefined();
  expect(await takeBegun(LIST, 'other', never)).toBeUndefined();
  const taken = await takeBegun(LIST, 'acme', never);
  expect(await taken?.json()).toEqual({ url: LIST });
  expect(await takeBegun(LIST, 'acme', never)).toBeUndefined();
  expect(hasBegunDeployments()).toBe(false);
});

it('what the session refuses is an answer, what the list refuses is asked again', async () => {
  beginPage('/', undefined);
  answerAll(401);
  expect((await takeBegun(SESSION, undefined, never))?.status).toBe(401);
  expect(await takeBegun(LIST, undefined, never)).toBeUndefined();
});

it('an old answer, and one of a session that was left, are not taken', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  beginPage('/', undefined);
  answerAll();
  vi.advanceTimersByTime(5001);
  expect(hasBegunDeployments()).toBe(false);
  expect(await takeBegun(LIST, undefined, never)).toBeUndefined();
  forgetBegun();
  expect(await takeBegun(SESSION, undefined, never)).toBeUndefined();
});

it('whoever stops waiting ends the request, which is then asked as if it had not been begun', async () => {
  beginPage('/', undefined);
  const stop = new AbortController();
  const taken = takeBegun(LIST, undefined, stop.signal);
  stop.abort();
  expect(await taken).toBeUndefined();
  expect(sent.map(({ init }) => init.signal?.aborted)).toEqual([false, true]);
});

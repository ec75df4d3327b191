import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import pino from 'pino';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { ApiContext } from './api-context.ts';
import { type DirectParts, DirectRoutes } from './direct.ts';
import type { Route } from './route.ts';

const answered = { status: 200, description: '', answer: {} };
const route = (method: string, path: string, more: object = {}): Route =>
  ({ method, path, success: answered, ...more }) as unknown as Route;
const ROUTES = [
  route('GET', '/api/things'),
  route('GET', '/api/things/{name}'),
  route('GET', '/api/things/{name}/parts/{part}'),
  route('GET', '/api/things/told', { lasts: 'always' }),
  route('POST', '/api/things', { body: {} }),
  route('POST', '/api/orders', { body: { optional: true } }),
  route('DELETE', '/api/things/{name}'),
];

let server: Server;
afterEach(async () => {
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

/** Its framework answers 299, the routes past it 200 with what they were given. */
async function start(serve?: DirectParts['serve']) {
  const rejected = vi.fn();
  server = createServer((_request, response) => void response.writeHead(299).end());
  const context = {
    options: {
      routes: ROUTES,
      limits: { bodyBytes: 1000 },
      freshId: () => 'fresh',
      log: pino({ level: 'silent' }),
      metrics: { rejected, request: () => undefined },
    },
  } as unknown as ApiContext;
  const direct = new DirectRoutes(context, {
    begin: () => true,
    pathOf: (path) => path,
    serve:
      serve ??
      ((_context, { path }, { params, body, id }, { raw }) =>
        raw.end(
          JSON.stringify({ path, params, id, ...(Buffer.isBuffer(body) && { body: body.toString() }) }),
        )),
  });
  direct.follow(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const ask = (path: string, init: RequestInit = {}) => fetch(`http://127.0.0.1:${port}${path}`, init);
  return { direct, rejected, port, ask };
}

const JSON_BODY = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"a":"ä"}' };

describe('requests past the framework', () => {
  it('are plain reads, by path and by the last segment', async () => {
    const { ask } = await start();
    expect(await (await ask('/api/things')).json()).toEqual({
      path: '/api/things',
      params: {},
      id: 'fresh',
    });
    const named = await ask('/api/things/a-1.b', { headers: { 'x-request-id': 'mine' } });
    expect(await named.json()).toEqual({
      path: '/api/things/{name}',
      params: { name: 'a-1.b' },
      id: 'mine',
    });
  });

  it('are short bodies of JSON whose length is known', async () => {
    const { ask } = await start();
    expect(await (await ask('/api/things', JSON_BODY)).json()).toMatchObject({ body: '{"a":"ä"}' });
  });

  it.each<readonly [string, string, RequestInit]>([
    ['a query', '/api/things?limit=1', {}],
    ['an escape', '/api/things/a%2fb', {}],
    ['a parameter of no characters', '/api/things/', {}],
    ['a parameter beyond 512 characters', `/api/things/${'a'.repeat(513)}`, {}],
    ['two parameters', '/api/things/a/parts/b', {}],
    ['a path that no route has', '/api/others', {}],
    ['a name of every object', '/api/constructor', {}],
    ['a stream', '/api/things/told', {}],
    ['another method', '/api/things/a', { method: 'DELETE' }],
    ['a method that no route has', '/api/things', { method: 'HEAD' }],
    ['a body that may be absent', '/api/orders', JSON_BODY],
    ['a body without a type', '/api/things', { method: 'POST', body: new Uint8Array([123, 125]) }],
    [
      'a body of another type',
      '/api/things',
      { method: 'POST', headers: { 'content-type': 'text/x' }, body: 'a' },
    ],
    ['a body beyond the limit', '/api/things', { ...JSON_BODY, body: `"${'a'.repeat(999)}"` }],
    ['a body of no bytes', '/api/things', { ...JSON_BODY, body: '' }],
  ])('are not those with %s', async (_what, path, init) => {
    const { ask } = await start();
    expect((await ask(path, init)).status).toBe(299);
  });

  it.each([
    [
      'a body that does not say how long it is',
      'POST',
      'content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n',
    ],
    ['a read with a body', 'GET', 'content-length: 2\r\n\r\n{}'],
  ])('are not those with %s', async (_what, method, rest) => {
    const { port } = await start();
    const socket = connect(port, '127.0.0.1');
    socket.write(`${method} /api/things HTTP/1.1\r\nhost: x\r\n${rest}`);
    const [first] = (await once(socket, 'data')) as [Buffer];
    socket.destroy();
    expect(first.toString()).toContain('HTTP/1.1 299');
  });

  it('are none while the server closes', async () => {
    const { ask, direct } = await start();
    direct.close();
    expect((await ask('/api/things')).status).toBe(299);
  });

  it('count as malformed when the body ends early, once', async () => {
    const { port, rejected } = await start();
    const socket = connect(port, '127.0.0.1');
    socket.write(
      'POST /api/things HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{"a"',
    );
    await once(server, 'request');
    socket.destroy();
    await vi.waitFor(() => expect(rejected).toHaveBeenCalledExactlyOnceWith('body_malformed'));
  });

  it.each([
    [
      'throws',
      () => {
        throw new Error('broken');
      },
    ],
    ['rejects', () => Promise.reject(new Error('broken'))],
  ])('get a record when what serves them %s', async (_how, serve) => {
    const { ask } = await start(serve);
    const answer = await ask('/api/things');
    expect([answer.status, await answer.json()]).toMatchObject([500, { code: 'internal_error' }]);
  });
});

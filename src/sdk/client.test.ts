import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { type Client, type ClientSettings, connect, RejectionError, UnreachableError } from './index.ts';

let server: Server | undefined;

afterEach(() => {
  server?.closeAllConnections();
  server?.close();
  server = undefined;
});

type Handler = (request: IncomingMessage, response: ServerResponse, calls: number) => void;

interface Served {
  readonly client: Client;
  readonly seen: readonly IncomingMessage[];
}

async function serve(handler: Handler, settings: Partial<ClientSettings> = {}): Promise<Served> {
  const seen: IncomingMessage[] = [];
  server = createServer((request, response) => {
    seen.push(request);
    handler(request, response, seen.length);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return { client: connect({ url, token: 'the-token', tenant: 'acme', ...settings }), seen };
}

function reply(response: ServerResponse, status: number, body: unknown, headers = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

const REJECTION = {
  code: 'deployment_not_found',
  field: 'name',
  received: 'web',
  expected: 'the name of a deployment',
  why: 'There is none.',
  doc: 'http://x/docs',
};
const READ = 'GET /api/v1/deployments/{name}';
const WEB = { params: { name: 'web' } };

describe('a call', () => {
  it('says who calls, for whom, and what', async () => {
    const { client, seen } = await serve((_request, response) =>
      reply(response, 201, { id: 'dep_1' }, { etag: '"7"' }),
    );
    const { status, etag, body } = await client.reply('POST /api/v1/deployments', {
      body: { name: 'web' },
      query: { dryRun: true },
    });
    expect({ status, etag, id: body.id }).toEqual({ status: 201, etag: '"7"', id: 'dep_1' });
    expect(seen[0]?.url).toBe('/api/v1/deployments?dryRun=true');
    expect(seen[0]?.headers).toMatchObject({
      authorization: 'Bearer the-token',
      'x-tenant-id': 'acme',
      'content-type': 'application/json',
      'idempotency-key': expect.stringMatching(
        /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
      ),
    });
  });

  it('asks for the token each time, and for the revision it was told', async () => {
    const tokens = ['first', 'second'];
    const { client, seen } = await serve((_request, response) => reply(response, 200, {}), {
      token: async () => tokens.shift(),
    });
    await client.call(READ, WEB);
    await client.call('DELETE /api/v1/deployments/{name}', { ...WEB, ifMatch: 7, tenant: 'other' });
    expect(seen.map(({ headers }) => headers.authorization)).toEqual(['Bearer first', 'Bearer second']);
    expect(seen[1]?.headers).toMatchObject({ 'if-match': '"7"', 'x-tenant-id': 'other' });
  });

  it('keeps a parameter in its segment', async () => {
    const { client, seen } = await serve((_request, response) => reply(response, 200, {}));
    await client.call(READ, { params: { name: 'a/b?c' } });
    expect(seen[0]?.url).toBe('/api/v1/deployments/a%2Fb%3Fc');
    for (const name of ['', '.', '..'])
      await expect(client.call(READ, { params: { name } })).rejects.toThrow(TypeError);
    expect(seen).toHaveLength(1);
  });

  it('throws a rejection as it was said', async () => {
    const { client } = await serve((_request, response) => reply(response, 404, { ...REJECTION, more: 1 }));
    const error = await client.call(READ, WEB).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(RejectionError);
    expect(error).toMatchObject({ ...REJECTION, status: 404, rejection: REJECTION });
    expect(await client.callUnless(['deployment_not_found'], READ, WEB)).toBeUndefined();
    await expect(client.callUnless(['name_required'], READ, WEB)).rejects.toThrow('There is none.');
  });

  it('tells something else that answers from a control plane', async () => {
    const { client } = await serve((_request, response, calls) =>
      response.writeHead(calls === 1 ? 502 : 200).end('<html>Bad gateway</html>'),
    );
    await expect(client.call(READ, WEB)).rejects.toMatchObject({
      name: 'UnreachableError',
      status: 502,
      said: '<html>Bad gateway</html>',
    });
    await expect(client.call(READ, WEB)).rejects.toMatchObject({ status: 200 });
  });
});

describe('a list', () => {
  it('is read page by page', async () => {
    const { client, seen } = await serve((_request, response, calls) =>
      reply(
        response,
        200,
        [{ name: `n${calls}` }],
        calls < 3 ? { link: `</api/v1/nodes?limit=1&cursor=${calls}>; rel="next"` } : {},
      ),
    );
    const names = (await client.list('GET /api/v1/nodes', { query: { limit: 1 } })).map(({ name }) => name);
    expect(names).toEqual(['n1', 'n2', 'n3']);
    expect(seen.map(({ url }) => url)).toEqual([
      '/api/v1/nodes?limit=1',
      '/api/v1/nodes?limit=1&cursor=1',
      '/api/v1/nodes?limit=1&cursor=2',
    ]);
    for await (const page of client.pages('GET /api/v1/nodes')) {
      expect(page).toHaveLength(1);
      break;
    }
    expect(seen).toHaveLength(4);
  });
});

describe('what is sent again', () => {
  it('is a read that was cut off, also within its answer', async () => {
    const { client, seen } = await serve((request, response, calls) => {
      if (calls === 1) request.socket.destroy();
      else if (calls === 2) {
        response.writeHead(200, { 'content-length': '100' }).write('{"id":');
        setTimeout(() => request.socket.destroy(), 20);
      } else reply(response, 200, { id: 'dep_3' });
    });
    expect((await client.call(READ, WEB)).id).toBe('dep_3');
    expect(seen).toHaveLength(3);
  });

  it('is a post, with the same key', async () => {
    const { client, seen } = await serve((request, response, calls) => {
      if (calls === 1) request.socket.destroy();
      else if (calls === 2)
        reply(response, 503, { ...REJECTION, code: 'store_unavailable' }, { 'retry-after': '0' });
      else reply(response, 201, { id: 'dep_1' });
    });
    await client.call('POST /api/v1/deployments', { body: { name: 'web' } });
    const keys = seen.map(({ headers }) => headers['idempotency-key']);
    expect(keys).toHaveLength(3);
    expect(new Set(keys).size).toBe(1);
  });

  it('is no other write, and no post whose answer is not kept', async () => {
    const { client, seen } = await serve((request) => request.socket.destroy());
    const put = client.call('PUT /api/v1/deployments/{name}', { ...WEB, body: {} });
    await expect(put).rejects.toBeInstanceOf(UnreachableError);
    const post = client.call('POST /api/v1/deployments/{name}/exec', { ...WEB, body: { command: ['true'] } });
    await expect(post).rejects.toBeInstanceOf(UnreachableError);
    expect(seen).toHaveLength(2);
  });

  it('is anything after 429, when the control plane said', async () => {
    let earliest = 0;
    const { client, seen } = await serve((_request, response, calls) => {
      if (calls > 1) return reply(response, 200, { waited: performance.now() >= earliest });
      earliest = performance.now() + 1000;
      return reply(response, 429, { ...REJECTION, code: 'rate_limited' }, { 'retry-after': '1' });
    });
    const put = await client.request('PUT /api/v1/deployments/web', { body: {} });
    expect(put.body).toEqual({ waited: true });
    expect(seen).toHaveLength(2);
  });

  it('is nothing when the wait would be long, nor for ever', async () => {
    const { client, seen } = await serve((request, response) => {
      const seconds = request.url?.endsWith('long') ? '60' : '0';
      reply(response, 429, { ...REJECTION, code: 'rate_limited' }, { 'retry-after': seconds });
    });
    await expect(client.request('GET /long')).rejects.toMatchObject({
      code: 'rate_limited',
      retryAfterSeconds: 60,
    });
    expect(seen).toHaveLength(1);
    await expect(client.request('GET /short')).rejects.toMatchObject({ status: 429 });
    expect(seen).toHaveLength(5);
  });
});

describe('patience', () => {
  it('ends with the caller, while asking and while waiting to ask again', async () => {
    const { client } = await serve((request, response) => {
      if (request.url === '/busy') reply(response, 429, REJECTION, { 'retry-after': '9' });
    });
    for (const path of ['/silent', '/busy'])
      await expect(client.request(`GET ${path}`, { signal: AbortSignal.timeout(100) })).rejects.toMatchObject(
        { name: 'TimeoutError' },
      );
    const whole = new AbortController();
    const asked = client.with({ signal: whole.signal }).request('GET /silent');
    whole.abort(new Error('left'));
    await expect(asked).rejects.toThrow('left');
  });

  it('ends with silence', async () => {
    const { client, seen } = await serve(() => undefined, { timeoutMs: 50, attempts: 2 });
    await expect(client.call(READ, WEB)).rejects.toMatchObject({
      name: 'UnreachableError',
      cause: expect.objectContaining({ message: 'no answer within 0.05 s' }),
    });
    expect(seen).toHaveLength(2);
  });
});

describe('a stream', () => {
  const frame = (id: number): string => `id: ${id}\nevent: node.ready\ndata: {"id":"${id}"}\n\n`;

  it('is taken up again after its last message', async () => {
    const { client, seen } = await serve((request, response, calls) => {
      // The second time the control plane is in trouble.
      if (calls === 2) return reply(response, 503, { ...REJECTION, code: 'store_unavailable' });
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`: connected\n\n${frame(calls)}${calls === 1 ? frame(2).slice(0, 9) : ''}`);
      if (calls === 1) setTimeout(() => request.socket.destroy(), 20);
    });
    const states: string[] = [];
    const ids: string[] = [];
    for await (const { id } of client.events({
      query: { kind: 'node.ready' },
      onState: (state) => states.push(state),
    })) {
      ids.push(id);
      if (ids.length === 2) break;
    }
    expect(ids).toEqual(['1', '3']);
    expect(states).toEqual(['connecting', 'live', 'reconnecting', 'reconnecting', 'live']);
    expect(seen.map(({ headers }) => headers['last-event-id'])).toEqual([undefined, '1', '1']);
    expect(seen[0]?.headers.accept).toBe('text/event-stream');
    expect(seen[0]?.url).toBe('/api/v1/events?kind=node.ready');
  });

  it('is taken up again from where it began if nothing came', async () => {
    const { client, seen } = await serve((request, response, calls) => {
      response.writeHead(200, { 'content-type': 'text/event-stream', 'last-event-id': `@${calls}` });
      if (calls > 2) return void response.write(frame(7));
      response.write(': connected\n\n');
      setTimeout(() => request.socket.destroy(), 20);
    });
    const { value } = await client.events().next();
    expect(value?.id).toBe('7');
    expect(seen.map(({ headers }) => headers['last-event-id'])).toEqual([undefined, '@1', '@1']);
  });

  it('ends when it is refused, left, or not to be taken up again', async () => {
    const { client } = await serve((request, response) => {
      if (request.headers['x-tenant-id'] !== 'acme') return reply(response, 403, REJECTION);
      response.writeHead(200).write(frame(1));
      if (request.url?.includes('logs')) response.end();
    });
    const logs = client.frames('GET /api/v1/deployments/{name}/logs', {
      ...WEB,
      query: { follow: true },
      resume: false,
    });
    const lines: string[] = [];
    for await (const { data } of logs) lines.push(data);
    expect(lines).toHaveLength(1);
    await expect(client.events({ tenant: 'other' }).next()).rejects.toBeInstanceOf(RejectionError);
    const events = client.events({ signal: AbortSignal.timeout(200) });
    expect((await events.next()).done).toBe(false);
    await expect(events.next()).rejects.toMatchObject({ name: 'TimeoutError' });
  });
});

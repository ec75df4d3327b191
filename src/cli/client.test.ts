import { once } from 'node:events';
import { createServer, get, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Client } from './client.ts';
import { EXIT } from './exit-code.ts';
import { Failure, Refused } from './failure.ts';
import { watchStream } from './transport.ts';

let server: Server | undefined;

afterEach(() => {
  server?.closeAllConnections();
  server?.close();
  server = undefined;
});

async function serve(handler: (request: IncomingMessage, response: ServerResponse) => void): Promise<Client> {
  server = createServer(handler).listen(0, '127.0.0.1');
  await once(server, 'listening');
  return clientOf(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
}

function clientOf(url: string): Client {
  return new Client({ server: url, token: 'the-token', tenant: 'acme', caFile: undefined, source: 'test' });
}

function reply(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

const REJECTION = {
  code: 'name_required',
  field: 'name',
  received: '(absent)',
  expected: 'a name',
  why: 'It has none.',
  doc: 'http://x/docs',
};

const READ = 'GET /api/v1/deployments/{name}';
const WRITE = 'PUT /api/v1/deployments/{name}';
const WEB = { params: { name: 'web' } };

describe('the client', () => {
  it('sends token, tenant and an idempotency key', async () => {
    const seen: IncomingMessage[] = [];
    const client = await serve((request, response) => {
      seen.push(request);
      reply(response, 201, {});
    });
    await client.record('POST /api/v1/deployments', { body: { name: 'web' } });
    expect(seen[0]?.headers).toMatchObject({
      authorization: 'Bearer the-token',
      'x-tenant-id': 'acme',
      'content-type': 'application/json',
    });
    expect(seen[0]?.headers['idempotency-key']).toMatch(/^[0-9a-f-]{36}$/);
  });

  it('gives a rejection as a value, and ends a command that needs the answer', async () => {
    const client = await serve((_request, response) => reply(response, 422, REJECTION));
    expect(await client.attempt(READ, WEB)).toEqual({ ok: false, status: 422, rejection: REJECTION });
    await expect(client.record(READ, WEB)).rejects.toBeInstanceOf(Refused);
    expect(await client.recordUnless(['name_required'], READ, WEB)).toBeUndefined();
  });

  it('reads every page', async () => {
    const client = await serve((request, response) => {
      const more = request.url === '/api/v1/nodes';
      reply(
        response,
        200,
        [{ page: more ? 1 : 2 }],
        more ? { link: '</api/v1/nodes?cursor=abc>; rel="next"' } : {},
      );
    });
    expect(await client.list('GET /api/v1/nodes')).toEqual([{ page: 1 }, { page: 2 }]);
  });

  it('tries a read again that was cut off, and a write not', async () => {
    let calls = 0;
    const client = await serve((request, response) => {
      calls += 1;
      if (calls === 1 || request.method === 'PUT') request.socket.destroy();
      else reply(response, 200, { calls });
    });
    expect(await client.record(READ, WEB)).toEqual({ calls: 2 });
    await expect(client.record(WRITE, { ...WEB, body: {} })).rejects.toMatchObject({
      exitCode: EXIT.unreachable,
    });
    expect(calls).toBe(3);
  });

  it('waits as long as a limited server says', async () => {
    let calls = 0;
    const client = await serve((_request, response) => {
      calls += 1;
      if (calls === 1) reply(response, 429, { ...REJECTION, code: 'rate_limited' }, { 'retry-after': '0' });
      else reply(response, 200, {});
    });
    await client.record(WRITE, { ...WEB, body: {} });
    expect(calls).toBe(2);
  });

  it('says what to check when nothing listens', async () => {
    const client = await serve(() => undefined);
    server?.close();
    const failure = await client.record(READ, WEB).catch((error: unknown) => error);
    expect(failure).toBeInstanceOf(Failure);
    expect(failure).toMatchObject({
      exitCode: EXIT.unreachable,
      message: expect.stringContaining('nothing listens at'),
    });
    expect((failure as Failure).advice.length).toBeGreaterThan(0);
  });

  it('gives up on an answer that does not come', async () => {
    const client = await serve(() => undefined);
    await expect(client.record(WRITE, { ...WEB, body: {}, timeoutMs: 100 })).rejects.toThrow(
      'no answer within 0.1 s',
    );
  });

  it('says so when no answer has come for five seconds', async () => {
    const arrived = Promise.withResolvers<void>();
    const { target } = await serve(() => arrived.resolve());
    const told: string[] = [];
    const client = new Client(target, undefined, (message) => told.push(message));
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    try {
      const failing = expect(client.record(WRITE, { ...WEB, body: {}, timeoutMs: 5_200 })).rejects.toThrow(
        'no answer',
      );
      await arrived.promise;
      vi.advanceTimersByTime(4_900);
      expect(told).toEqual([]);
      vi.advanceTimersByTime(300);
      await failing;
      expect(told).toEqual([expect.stringContaining('has not answered for 5 s; still waiting')]);
    } finally {
      vi.useRealTimers();
    }
  });

  it('says so when a stream that is open goes quiet, once', async () => {
    const { target } = await serve((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' }).write(': keep-alive\n\n');
    });
    const told: string[] = [];
    const [answer] = await once(get(target.server), 'response');
    watchStream(answer, 80, () => told.push('quiet'));
    await vi.waitFor(() => expect(told).toEqual(['quiet']));
    await delay(120);
    expect(told).toEqual(['quiet']);
  });

  it('tells something else that answers from a control plane', async () => {
    const client = await serve((_request, response) =>
      response.writeHead(502).end('<html>Bad gateway</html>'),
    );
    await expect(client.record(WRITE, { ...WEB, body: {} })).rejects.toThrow(
      'not in the words of a control plane',
    );
  });
});

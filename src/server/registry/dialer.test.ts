import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { createDialer, type Dialer, type DialerOptions } from './dialer.ts';

const started: { readonly server: Server; readonly sockets: Socket[] }[] = [];
const dialers: Dialer[] = [];

afterEach(async () => {
  for (const dialer of dialers.splice(0)) dialer.close();
  for (const { server, sockets } of started.splice(0)) {
    const closed = once(server, 'close');
    server.close();
    for (const socket of sockets) socket.destroy();
    await closed;
  }
});

async function listen(listener: RequestListener): Promise<{ readonly url: URL; readonly sockets: Socket[] }> {
  const server = createServer(listener).listen(0, '127.0.0.1');
  const sockets: Socket[] = [];
  server.on('connection', (socket) => sockets.push(socket));
  started.push({ server, sockets });
  await once(server, 'listening');
  return { url: new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`), sockets };
}

function dialer(options: Partial<DialerOptions> = {}): Dialer {
  const made = createDialer({ allowPrivate: ['127.0.0.1:*'], ...options });
  dialers.push(made);
  return made;
}

const request = { key: 'a', timeoutMs: 2000 } as const;

describe('a request', () => {
  it('gives status, headers and body, and sends what it was told', async () => {
    const { url } = await listen((incoming, response) => {
      incoming.setEncoding('utf8');
      let body = '';
      incoming.on('data', (chunk: string) => {
        body += chunk;
      });
      incoming.on('end', () => {
        response
          .writeHead(418, { 'x-method': incoming.method })
          .end(`${String(incoming.headers['x-a'])} ${body}`);
      });
    });
    const answer = await dialer().request(url, {
      ...request,
      method: 'POST',
      headers: { 'x-a': '1' },
      body: 'hello',
    });
    expect(answer).toMatchObject({ ok: true, status: 418, headers: { 'x-method': 'POST' } });
    expect(answer.ok && answer.body.toString()).toBe('1 hello');
  });

  it('does not follow a redirect', async () => {
    let asked = 0;
    const { url } = await listen((_, response) => {
      asked += 1;
      response.writeHead(302, { location: '/next' }).end();
    });
    expect(await dialer().request(url, request)).toMatchObject({ ok: true, status: 302 });
    expect(asked).toBe(1);
  });

  it('names the host, not the address, in the Host header', async () => {
    let host: string | undefined;
    const { url } = await listen((incoming, response) => {
      host = incoming.headers.host;
      response.end();
    });
    const named = new URL(`http://inside.example:${url.port}/`);
    const made = dialer({ allowPrivate: [`http://${named.host}`], resolver: async () => ['127.0.0.1'] });
    expect(await made.request(named, request)).toMatchObject({ ok: true });
    expect(host).toBe(named.host);
  });
});

describe('bounds', () => {
  it('the deadline covers an answer that never ends', async () => {
    const { url } = await listen((_, response) => void response.write('x'));
    const start = performance.now();
    expect(await dialer().request(url, { ...request, timeoutMs: 200 })).toEqual({
      ok: false,
      failure: 'timeout',
    });
    expect(performance.now() - start).toBeLessThan(1000);
  });

  it('the deadline covers a resolver that never answers', async () => {
    const made = dialer({ resolver: () => new Promise(() => {}) });
    const url = new URL('https://slow.example/');
    expect(await made.request(url, { ...request, timeoutMs: 100 })).toEqual({
      ok: false,
      failure: 'timeout',
    });
  });

  it('the caller can end it', async () => {
    const { url } = await listen(() => {});
    const signal = AbortSignal.timeout(50);
    expect(await dialer().request(url, { ...request, signal })).toEqual({ ok: false, failure: 'timeout' });
  });

  it('a body or a header beyond the cap is not read', async () => {
    const { url } = await listen((incoming, response) => {
      const big = incoming.url === '/header' ? { 'x-big': 'x'.repeat(20_000) } : {};
      response.writeHead(200, big).end(Buffer.alloc(5000));
    });
    expect(await dialer().request(url, { ...request, maxBytes: 4999 })).toEqual({
      ok: false,
      failure: 'oversize',
    });
    expect(await dialer().request(url, { ...request, maxBytes: 5000 })).toMatchObject({ ok: true });
    expect(await dialer().request(new URL('/header', url), request)).toEqual({
      ok: false,
      failure: 'broken',
    });
  });

  it('a body that ends early is no answer', async () => {
    const { url } = await listen((incoming, response) => {
      response.writeHead(200, { 'content-length': '10' });
      response.write('x', () => incoming.socket.destroy());
    });
    expect(await dialer().request(url, request)).toEqual({ ok: false, failure: 'broken' });
  });

  it('too many at once are turned away', async () => {
    const { url } = await listen(() => {});
    const made = dialer({ maxPerKey: 1, maxTotal: 2, maxWaiting: 1 });
    const short = { ...request, timeoutMs: 200 };
    const results = await Promise.all([
      made.request(url, short),
      made.request(url, { ...short, timeoutMs: 50 }),
      made.request(url, short),
    ]);
    expect(results.map((result) => !result.ok && result.failure)).toEqual(['timeout', 'busy', 'busy']);
    expect(await made.request(url, { ...short, key: 'b' })).toEqual({ ok: false, failure: 'timeout' });
  });
});

describe('connections', () => {
  it('are used again, also after the end of the request that opened them', async () => {
    const { url, sockets } = await listen((_, response) => void response.end('ok'));
    const made = dialer();
    const ended = new AbortController();
    expect(await made.request(url, { ...request, signal: ended.signal })).toMatchObject({ ok: true });
    ended.abort();
    expect(await made.request(url, request)).toMatchObject({ ok: true });
    expect(sockets).toHaveLength(1);
  });

  it('that the server closed while idle cost no failure', async () => {
    const { url, sockets } = await listen((incoming, response) => {
      if (sockets.length === 1 && incoming.url === '/second') incoming.socket.destroy();
      else response.end('ok');
    });
    const made = dialer();
    expect(await made.request(url, request)).toMatchObject({ ok: true });
    expect(await made.request(new URL('/second', url), request)).toMatchObject({ ok: true });
    expect(sockets).toHaveLength(2);
  });

  it('end with the dialer, requests under way included', async () => {
    const { url, sockets } = await listen(
      (incoming, response) => void (incoming.url === '/' && response.end('ok')),
    );
    const made = dialer();
    await made.request(url, request);
    const hanging = made.request(new URL('/hang', url), request);
    await expect.poll(() => sockets.length).toBe(1);
    made.close();
    expect(await hanging).toEqual({ ok: false, failure: 'closed' });
    expect(await made.request(url, request)).toEqual({ ok: false, failure: 'closed' });
    await expect.poll(() => sockets.every((socket) => socket.destroyed)).toBe(true);
  });

  it('to a closed port or an unknown name fail', async () => {
    const { url } = await listen(() => {});
    const { server } = started.pop() ?? {};
    server?.close();
    if (server !== undefined) await once(server, 'close');
    expect(await dialer().request(url, request)).toEqual({ ok: false, failure: 'unconnected' });
    const unknown = new URL('https://unknown.example/');
    expect(await dialer({ resolver: async () => [] }).request(unknown, request)).toEqual({
      ok: false,
      failure: 'unresolved',
    });
    const failing = dialer({ resolver: () => Promise.reject(new Error('SERVFAIL')) });
    expect(await failing.request(unknown, request)).toEqual({ ok: false, failure: 'unresolved' });
  });
});

import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect } from 'node:net';
import { buffer, text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import pino from 'pino';
import { expect, it } from 'vitest';
import { Connections } from '../../src/server/api/limits/connections.ts';
import { startControlPlane } from '../support/harness/server-under-test.ts';

/** Half of what a stop gives to the last requests, at most. */
const SOON_MS = 2_500;

it('stops as soon as its last request is answered, though the client would go on with the connection', async () => {
  const server = await startControlPlane();
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  await once(socket, 'connect');
  const body = JSON.stringify({ slug: 'last', name: 'Last' });
  const head = [
    'POST /api/v1/tenants HTTP/1.1',
    `Host: ${hostname}`,
    `Authorization: Bearer ${server.adminToken}`,
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
  ].join('\r\n');
  socket.write(`${head}\r\n\r\n${body.slice(0, 5)}`);
  await delay(200);
  const stopped = server.close();
  await delay(200);
  const answered = once(socket, 'data');
  socket.write(body.slice(5));
  expect(String((await answered)[0])).toMatch(/^HTTP\/1\.1 201 /);
  const begun = performance.now();
  await stopped;
  expect(performance.now() - begun).toBeLessThan(SOON_MS);
  socket.destroy();
});

it('refuses what comes on a connection after the stop began, with a code and when to ask again', async () => {
  const server = await startControlPlane();
  const { hostname, port } = new URL(server.url);
  const socket = connect(Number(port), hostname);
  const line = (what: string) =>
    `${what} HTTP/1.1\r\nHost: ${hostname}\r\nAuthorization: Bearer ${server.adminToken}\r\n`;
  socket.write(`${line('POST /api/v1/tenants')}Content-Type: application/json\r\nContent-Length: 15\r\n\r\n`);
  await delay(200);
  const stopped = server.close();
  await delay(200);
  socket.write(`{"slug":"last"}${line('GET /api/v1/deployments/web')}\r\n`);
  const [first, second = ''] = (await text(socket)).split(/(?<=\})(?=HTTP)/);
  expect(first).toMatch(/^HTTP\/1\.1 201 /);
  expect(second).toMatch(/^HTTP\/1\.1 503 /);
  expect(second).toMatch(/^retry-after: 1\r$/m);
  expect(second).toMatch(/^connection: close\r$/im);
  expect(JSON.parse(second.slice(second.indexOf('{')))).toMatchObject({
    code: 'store_unavailable',
    doc: expect.any(String),
  });
  await stopped;
});

it.each(['a client', 'another control plane'])(
  'gives %s that reads slowly all of its last answer',
  async (who) => {
    const limits = { perAddress: 2, isExempt: () => false, reserved: 8 };
    const connections = new Connections(limits, pino({ level: 'silent' }));
    const answer = Buffer.alloc(32 * 1024 * 1024);
    const server = createServer((request, response) => response.end(request.url === '/' ? answer : 'ok'));
    connections.follow(server);
    server.on('connection', (accepted) => {
      if (who !== 'a client') connections.know(accepted);
    });
    await once(server.listen(0, '127.0.0.1'), 'listening');
    const { port } = server.address() as AddressInfo;
    const [socket, idle] = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')];
    socket.write('GET / HTTP/1.1\r\nHost: here\r\n\r\n');
    await once(socket, 'readable');
    idle.write('GET /small HTTP/1.1\r\nHost: here\r\n\r\n');
    await once(idle, 'data');
    connections.close();
    const closed = new Promise((resolve) => server.close(resolve));
    const ending = setInterval(() => server.closeIdleConnections(), 20);
    // Nobody else's connection waits for that: a request on it would be refused, where another control plane may answer.
    await once(idle.resume(), 'close');
    expect(socket.readableLength).toBeLessThan(answer.length);
    expect((await buffer(socket)).length).toBeGreaterThan(answer.length);
    await closed;
    clearInterval(ending);
  },
);

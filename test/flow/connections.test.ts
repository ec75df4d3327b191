import { once } from 'node:events';
import { createServer as plainServer, get, type IncomingMessage, type Server } from 'node:http';
import { createServer as tlsServer, get as getOverTls } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { connect as connectOverTls } from 'node:tls';
import pino from 'pino';
import { describe, expect, it } from 'vitest';
import { selfSigned } from '../support/harness/certificates.ts';
import { TlsThreads } from '../../src/server/api/tls-threads/tls-threads.ts';
import { type ConnectionLimits, Connections } from '../../src/server/api/limits/connections.ts';

const { cert, key } = selfSigned(['DNS:localhost']);
const THREAD = { threads: 1, host: '127.0.0.1', port: 0, handshakeTimeoutMs: 20_000, sendTimeoutMs: 500 };
const LIMITS: ConnectionLimits = { perAddress: 2, isExempt: () => false, reserved: 8 };

/** Answers with the status of the refusal, or 200. */
async function listening(limits: ConnectionLimits, tls: false | true | 'on a thread') {
  const log = pino({ level: 'silent' });
  const connections = new Connections(limits, log);
  const server: Server = tls === true ? tlsServer({ cert, key }) : plainServer();
  connections.follow(server);
  server.on('request', ({ socket, url }: IncomingMessage, response) => {
    const refusal = connections.refusal(socket, url ?? '');
    response.writeHead(refusal === undefined ? 200 : (refusal.status ?? 429), { connection: 'close' });
    response.end();
  });
  const thread = tls === 'on a thread' ? new TlsThreads({ ...THREAD, cert, key }, server, log) : undefined;
  if (thread === undefined) await once(server.listen(0, '127.0.0.1'), 'listening');
  const port = await (thread?.listen() ?? (server.address() as AddressInfo).port);
  const held: Socket[] = [];
  return {
    connections,
    silent: async () => {
      const socket = connect(port, '127.0.0.1');
      held.push(socket);
      await once(socket, 'connect');
      return socket;
    },
    /** Ready to be asked something. */
    ready: async () => {
      const options = { host: '127.0.0.1', port, rejectUnauthorized: false };
      const socket = tls === false ? connect(options) : connectOverTls(options);
      held.push(socket);
      await once(socket, tls === false ? 'connect' : 'secureConnect');
      return socket;
    },
    status: async (path: string) => {
      const options = { agent: false, rejectUnauthorized: false } as const;
      const [response] = (await once(
        tls !== false
          ? getOverTls(`https://127.0.0.1:${port}${path}`, options)
          : get(`http://127.0.0.1:${port}${path}`, options),
        'response',
      )) as [IncomingMessage];
      response.resume();
      await once(response, 'close');
      return response.statusCode;
    },
    async [Symbol.asyncDispose]() {
      for (const socket of held) socket.destroy();
      connections.close();
      server.closeAllConnections();
      await thread?.end();
      await thread?.close();
      if (thread === undefined) await once(server.close(), 'close');
    },
  };
}

describe.each([false, true, 'on a thread'] as const)('connections, with TLS: %s', (tls) => {
  it('of one address are limited, but for health', async () => {
    await using server = await listening(LIMITS, tls);
    expect(await server.status('/api')).toBe(200);
    const first = await server.silent();
    await server.silent();
    expect([await server.status('/api'), await server.status('/healthz')]).toEqual([429, 200]);
    first.destroy();
    await expect.poll(() => server.connections.count).toBe(1);
    expect(await server.status('/api')).toBe(200);
    await expect.poll(() => server.connections.count).toBe(1);
  });

  it('of a listed address are not limited', async () => {
    await using server = await listening({ ...LIMITS, isExempt: () => true }, tls);
    for (let count = 0; count < 4; count += 1) await server.silent();
    expect(await server.status('/api')).toBe(200);
  });

  it('leave the reserve of descriptors to health', async () => {
    await using server = await listening({ ...LIMITS, descriptors: 16 }, tls);
    await expect.poll(() => server.connections.descriptors.scarce).toBe(true);
    expect(await server.status('/api?x=1')).toBe(503);
    expect(await server.status('/healthz?x=1')).toBe(200);
  });

  it('of which one has asked for nothing yet is not idle', async () => {
    await using server = await listening({ ...LIMITS, perAddress: 8, descriptors: 16 }, tls);
    await expect.poll(() => server.connections.descriptors.scarce).toBe(true);
    const early = await server.ready();
    await expect.poll(() => server.connections.count).toBe(1);
    // Idle ones are looked for every 250 ms at most, and the next connection has them looked for.
    await delay(300);
    expect(await server.status('/healthz')).toBe(200);
    early.write('GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n');
    const [answer] = (await once(early, 'data')) as [Buffer];
    expect(answer.toString()).toMatch(/^HTTP\/1.1 200/);
  });
});

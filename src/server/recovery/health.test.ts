import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { afterEach, describe, expect, it } from 'vitest';
import { selfSigned } from '../../../test/support/harness/certificates.ts';
import { askReady } from './health.ts';

const SIGNAL = new AbortController().signal;
const started: Server[] = [];

const answering =
  (status: number): RequestListener =>
  ({ url }, reply) =>
    void reply.writeHead(url === '/readyz' ? status : 404).end('{}');

async function listening(server: Server, host: string): Promise<number> {
  started.push(server);
  server.listen(0, host);
  await once(server, 'listening');
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

afterEach(() => {
  for (const server of started.splice(0)) server.close();
});

describe('berth server health', () => {
  it.each([
    ['127.0.0.1', '127.0.0.1'],
    ['0.0.0.0', '127.0.0.1'],
  ])('of a control plane at %s asks %s', async (host, at) => {
    const port = await listening(createServer(answering(200)), host);
    expect(await askReady({ host, port }, SIGNAL)).toBe(`http://${at}:${port}/readyz`);
  });

  it('knows its own control plane by a certificate that names another address', async () => {
    const { key, cert } = selfSigned(['DNS:berth.example.com']);
    const port = await listening(createTlsServer({ key, cert }, answering(200)), '127.0.0.1');
    const tls = { cert: 'unread', key: 'unread', threads: 0 };
    expect(await askReady({ host: '127.0.0.1', port, tls }, SIGNAL)).toBe(`https://127.0.0.1:${port}/readyz`);
  });

  it('says why it is not: nobody there, not ready, or no answer while it was stopped', async () => {
    const waiting = await listening(createServer(answering(503)), '127.0.0.1');
    await expect(askReady({ host: '127.0.0.1', port: waiting }, SIGNAL)).rejects.toThrow(
      /answered 503: the control plane is not ready yet/,
    );
    const silent = createServer(() => undefined);
    const port = await listening(silent, '127.0.0.1');
    const stopping = new AbortController();
    const asked = expect(askReady({ host: '127.0.0.1', port }, stopping.signal)).rejects.toThrow('no answer');
    await once(silent, 'request');
    stopping.abort();
    await asked;
    silent.closeAllConnections();
    // Not a port that was just given back: somebody else may have it by now.
    await expect(askReady({ host: '127.0.0.1', port: 1 }, SIGNAL)).rejects.toThrow(
      /no answer at .*ECONNREFUSED/,
    );
  });

  it('brackets an address of IPv6', async () => {
    await expect(askReady({ host: '::', port: 1 }, SIGNAL)).rejects.toThrow(
      'no answer at http://[::1]:1/readyz',
    );
  });
});

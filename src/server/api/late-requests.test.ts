import { createServer, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LateRequests } from './late-requests.ts';

const TERM_MS = 200;
const HEAD = 'GET / HTTP/1.1\r\nHost: here\r\nConnection: close\r\n';

/** As a process that gets no processor. */
function starve(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

describe('a request that is late', () => {
  let server: Server;
  beforeEach(async () => {
    server = createServer(
      { headersTimeout: TERM_MS, requestTimeout: TERM_MS, connectionsCheckingInterval: 20 },
      (_request, response) => void response.end('served'),
    );
    const late = new LateRequests(() => server, TERM_MS);
    server.on('clientError', (_error, socket: Socket) => late.judge(socket, () => socket.end('refused')));
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  async function connected(): Promise<Socket> {
    const accepted = once(server, 'connection');
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
    await Promise.all([accepted, once(client, 'connect')]);
    return client;
  }

  it('is served when this process was late and it was not', async () => {
    const client = await connected();
    client.write(`${HEAD}\r\n`);
    starve(3 * TERM_MS);
    expect(await text(client)).toContain('served');
    expect(server.listenerCount('upgrade')).toBe(0);
  });

  it('is refused when nothing of it has come, and after the second term when it has not come whole', async () => {
    const silent = await connected();
    const slow = await connected();
    slow.write(HEAD);
    starve(3 * TERM_MS);
    const begun = performance.now();
    expect(await text(silent)).toBe('refused');
    expect(await text(slow)).toBe('refused');
    expect(performance.now() - begun).toBeGreaterThan(TERM_MS / 2);
  });
});

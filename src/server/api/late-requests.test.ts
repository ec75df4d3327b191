import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LateRequests } from './late-requests.ts';
import { LoopStalls } from './loop-stalls.ts';

const HEAD_MS = 200;
const REQUEST_MS = 400;
/** Longer than both. */
const STALL_MS = 700;
const GET = 'GET / HTTP/1.1\r\nHost: here\r\n';
const POST = 'POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 8\r\n\r\n';

/** As a process that gets no processor. */
function starve(): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, STALL_MS);
}

describe('a request that is late', () => {
  let server: Server;
  let answer: RequestListener;
  let judged: number;
  let refused: number;
  let parts: string[];
  const stalls = new LoopStalls(REQUEST_MS);
  let stalledMs = (ms: number): number => stalls.within(ms);

  beforeEach(async () => {
    judged = 0;
    refused = 0;
    parts = [];
    stalledMs = (ms) => stalls.within(ms);
    answer = (request, response) => {
      request.resume().once('end', () => response.end('served'));
    };
    server = createServer(
      { headersTimeout: HEAD_MS, requestTimeout: REQUEST_MS, connectionsCheckingInterval: 20 },
      (request, response) => answer(request, response),
    );
    const terms = { headMs: HEAD_MS, requestMs: REQUEST_MS };
    const late = new LateRequests(() => server, terms, { within: (ms) => stalledMs(ms) });
    server.on('clientError', (_error, socket: Socket) => {
      judged += 1;
      late.judge(socket, (part) => {
        refused += 1;
        parts.push(part);
        socket.end('refused');
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });
  afterEach(() => {
    server.closeAllConnections();
    server.close();
  });

  async function connected() {
    const accepted = once(server, 'connection');
    const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
    await Promise.all([accepted, once(socket, 'connect')]);
    const client = { socket, received: '', isClosed: false };
    socket.on('data', (bytes) => {
      client.received += bytes.toString();
    });
    socket.once('close', () => {
      client.isClosed = true;
    });
    return client;
  }

  const served = (received: string): number => received.split('served').length - 1;
  /** The request that was late is over, or was cut. */
  const settled = (): Promise<void> => expect.poll(() => server.listenerCount('upgrade')).toBe(0);

  it('is served when this process was late and it was not', async () => {
    const { socket } = await connected();
    socket.write(`${GET}Connection: close\r\n\r\n`);
    starve();
    expect(await text(socket)).toContain('served');
    await settled();
    expect(judged).toBe(1);
  });

  it('is refused when the time that was lost is over, whether something of it has come or not', async () => {
    const silent = await connected();
    const slow = await connected();
    slow.socket.write(GET);
    const body = await connected();
    body.socket.write(`${POST}half`);
    await once(server, 'request');
    starve();
    const begun = performance.now();
    const all = [silent.socket, slow.socket, body.socket];
    expect(await Promise.all(all.map((socket) => text(socket)))).toEqual(['refused', 'refused', 'refused']);
    expect(performance.now() - begun).toBeGreaterThan(HEAD_MS / 2);
    expect(judged).toBe(3);
    expect(parts.sort()).toEqual(['body', 'headers', 'headers']);
  });

  it('is refused at once when this process was not late, however much of it comes', async () => {
    stalledMs = () => 0;
    const client = await connected();
    client.socket.write(`${GET}X-Long: `);
    const sending = setInterval(() => client.socket.write('x'), 5);
    await once(server, 'clientError');
    clearInterval(sending);
    expect([judged, refused, ...parts]).toEqual([1, 1, 'headers']);
    await expect.poll(() => client.received).toBe('refused');
  });

  it('has a body that comes while its head was read before, and a stream as its answer', async () => {
    let finish = (): void => undefined;
    answer = (request, response) => {
      request.resume().once('end', () => response.write('begun'));
      finish = () => response.end('ended');
    };
    const client = await connected();
    client.socket.write(POST);
    await once(server, 'request');
    client.socket.write('the body');
    starve();
    await expect.poll(() => client.received).toContain('begun');
    await settled();
    finish();
    await expect.poll(() => client.received).toContain('ended');
    expect([judged > 0, client.received.includes('refused')]).toEqual([true, false]);
  });

  it('leaves its connection to those that follow, when it had a body', async () => {
    const client = await connected();
    client.socket.write(POST);
    await once(server, 'request');
    client.socket.write('the body');
    starve();
    await expect.poll(() => served(client.received)).toBe(1);
    await settled();
    client.socket.write(`${GET}\r\n`);
    await expect.poll(() => served(client.received)).toBe(2);
    expect([judged > 0, client.isClosed, client.received.includes('refused')]).toEqual([true, false, false]);
  });

  it('has for its body what every body has, once its head has come', async () => {
    stalledMs = () => 20;
    const client = await connected();
    client.socket.write(POST.slice(0, 10));
    await once(server, 'clientError');
    client.socket.write(POST.slice(10));
    await once(server, 'request');
    await delay(60);
    client.socket.write('the body');
    await expect.poll(() => served(client.received)).toBe(1);
    await settled();
  });

  it.each(['after its answer', 'pipelined'])('does not cut the body of the next one, %s', async (when) => {
    const client = await connected();
    const next = `${POST}the `;
    client.socket.write(`${GET}\r\n${when === 'pipelined' ? next : ''}`);
    starve();
    await expect.poll(() => served(client.received)).toBe(1);
    if (when !== 'pipelined') client.socket.write(next);
    await settled();
    client.socket.write('body');
    await expect.poll(() => served(client.received)).toBe(2);
    expect([judged > 0, client.isClosed]).toEqual([true, false]);
  });

  it('is cut without a word where an answer has begun, to it or to one before it', async () => {
    answer = (_request, response) => void response.write('begun');
    const early = await connected();
    early.socket.write(`${POST}half`);
    await once(server, 'request');
    const pipelined = await connected();
    pipelined.socket.write(`${GET}\r\n${POST}half`);
    await once(server, 'request');
    starve();
    for (const client of [early, pipelined]) {
      await expect.poll(() => client.isClosed).toBe(true);
      expect([client.received.includes('begun'), client.received.includes('refused')]).toEqual([true, false]);
    }
  });
});

import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { Agent, request as askOverTls, type RequestOptions } from 'node:https';
import {
  connect as connectPlain,
  createServer as plainServer,
  type AddressInfo,
  type Socket,
} from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as turn } from 'node:timers/promises';
import { connect, type TLSSocket } from 'node:tls';
import { isDeepStrictEqual } from 'node:util';
import type { Worker } from 'node:worker_threads';
import pino from 'pino';
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import type { TenantId } from '../../src/core/model/ids.ts';
import { LateRequests } from '../../src/server/api/late-requests.ts';
import { LoopStalls } from '../../src/server/api/loop-stalls.ts';
import { TlsThreads } from '../../src/server/api/tls-threads/tls-threads.ts';
import { Transaction } from '../../src/server/store/transaction.ts';
import { selfSigned } from '../support/harness/certificates.ts';
import { UNREACHABLE_IMAGE } from '../support/harness/server-under-test.ts';
import { BOOTSTRAP, type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';

const material = selfSigned(['IP:127.0.0.1']);
const MIB = 2 ** 20;
/** Threads take their time to start on a busy machine. */
const PATIENT = { timeout: 20_000 };
const closing: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

interface Served {
  readonly server: Server;
  readonly threads: TlsThreads;
  readonly port: number;
  readonly workers: readonly Worker[];
}

const SETTINGS = { threads: 2, host: '127.0.0.1', port: 0, handshakeTimeoutMs: 20_000, sendTimeoutMs: 500 };

async function serve(
  answer: RequestListener,
  threads = 2,
  { headersTimeout = 20_000, host = '127.0.0.1' } = {},
): Promise<Served> {
  const server = createServer({ headersTimeout, connectionsCheckingInterval: 50 }, answer);
  const settings = { ...SETTINGS, threads, host };
  const relayed = new TlsThreads({ ...settings, ...material }, server, pino({ level: 'silent' }));
  const workers: Worker[] = [];
  const add = (worker: Worker): unknown => workers.push(worker);
  process.on('worker', add);
  const port = await relayed.listen();
  closing.push(async () => {
    process.removeListener('worker', add);
    const ended = relayed.end();
    server.closeAllConnections();
    await ended;
    await relayed.close();
  });
  return { server, threads: relayed, port, workers };
}

interface Answer {
  readonly status: number | undefined;
  readonly body: Buffer;
}

async function ask(port: number, options: RequestOptions = {}, body?: Buffer): Promise<Answer> {
  const outgoing = askOverTls({
    host: '127.0.0.1',
    port,
    agent: false,
    rejectUnauthorized: false,
    ...options,
  });
  outgoing.end(body);
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return { status: response.statusCode, body: Buffer.concat(chunks) };
}

async function secured(port: number): Promise<TLSSocket> {
  const socket = connect({ host: '127.0.0.1', port, rejectUnauthorized: false });
  socket.on('error', () => undefined);
  await once(socket, 'secureConnect');
  return socket;
}

/** Whether it was reset or not. */
const closed = (socket: TLSSocket): Promise<void> =>
  new Promise((resolve) => socket.once('close', () => resolve()));

const echo: RequestListener = (request, response) => void request.pipe(response);
/** Connections that the server was handed; Node counts those that it accepted itself. */
const open = new WeakMap<Server, Set<unknown>>();
const count = (server: Server): number => open.get(server)?.size ?? 0;

function counted(served: Served): Served {
  const sockets = new Set<unknown>();
  open.set(served.server, sockets);
  served.server.on('connection', (socket) => {
    sockets.add(socket);
    socket.once('close', () => sockets.delete(socket));
  });
  return served;
}

describe('TLS on threads', () => {
  it('gives the server what the client sent, with its address, and the client what the server answered', async () => {
    const seen: unknown[] = [];
    const { port } = await serve((request, response) => {
      const { remoteAddress, remotePort } = request.socket;
      seen.push(remoteAddress, typeof remotePort, 'encrypted' in request.socket);
      request.pipe(response);
    });
    const bytes = Buffer.alloc(2 * MIB, 'abcdefghijklmnopqrstuvwxyz0123456789\n');
    const answers = await Promise.all(Array.from({ length: 4 }, () => ask(port, { method: 'POST' }, bytes)));
    for (const { status, body } of answers) expect([status, body.equals(bytes)]).toEqual([200, true]);
    expect(seen.slice(0, 3)).toEqual(['127.0.0.1', 'number', true]);
  });

  it('tells apart connections of one port of a client to two addresses of the host', async () => {
    const served = counted(
      await serve((request, response) => response.end(`of ${request.url}`), 1, { host: '0.0.0.0' }),
    );
    const from = plainServer();
    await once(from.listen(0, '127.0.0.1'), 'listening');
    const { port: localPort } = from.address() as AddressInfo;
    await new Promise((resolve) => from.close(resolve));
    const plain = ['127.0.0.2', '127.0.0.3'].map((host) =>
      connectPlain({ host, port: served.port, localAddress: '127.0.0.1', localPort }),
    );
    // Both are accepted before the first handshake begins.
    await expect.poll(() => count(served.server), PATIENT).toBe(2);
    const clients = plain.map((socket) => connect({ socket, rejectUnauthorized: false }));
    const received = clients.map(() => '');
    for (const [index, client] of clients.entries())
      client.on('data', (bytes: Buffer) => (received[index] += bytes.toString()));
    await Promise.all(clients.map((client) => once(client, 'secureConnect')));
    for (const [index, client] of clients.entries())
      client.write(`GET /${index} HTTP/1.1\r\nHost: x\r\n\r\n`);
    const answered = (): string[] => received.map((text) => text.slice(text.indexOf('of /')));
    await expect.poll(answered, { timeout: 5000 }).toEqual(['of /0', 'of /1']);
    for (const client of clients) client.destroy();
  });

  it('waits for a reader that takes nothing, and ends with it', async () => {
    let unread = (): number => 0;
    const served = counted(
      await serve((_request, response) => {
        for (let sent = 0; sent < 64; sent += 1) response.write(Buffer.alloc(MIB));
        unread = () => response.writableLength;
      }),
    );
    const socket = await secured(served.port);
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    socket.pause();
    await expect.poll(() => unread(), PATIENT).toBeGreaterThan(32 * MIB);
    socket.destroy();
    await expect.poll(() => count(served.server), PATIENT).toBe(0);
  });

  it('stops reading from a client whose body nobody takes', async () => {
    const { port } = await serve((request) => void request.pause());
    const socket = await secured(port);
    socket.write(`POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${64 * MIB}\r\n\r\n`);
    let taken = 0;
    for (let sent = 0; sent < 64; sent += 1) socket.write(Buffer.alloc(MIB), () => (taken += 1));
    let before = -1;
    const stands = (): boolean => {
      const same = taken === before;
      before = taken;
      return same;
    };
    await expect.poll(stands, { interval: 300, timeout: 10_000 }).toBe(true);
    expect(taken).toBeLessThan(32);
    socket.destroy();
  });

  it('ends connections that are silent, slow with their headers, or idle', async () => {
    const served = counted(
      await serve((_request, response) => response.end('ok'), 2, { headersTimeout: 400 }),
    );
    served.server.keepAliveTimeout = 300;
    const silent = await secured(served.port);
    const slow = await secured(served.port);
    slow.write('GET / HTTP/1.1\r\nHost: x\r\nX-A');
    const idle = await secured(served.port);
    idle.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    for (const socket of [silent, slow, idle]) socket.resume();
    await Promise.all([silent, slow, idle].map((socket) => closed(socket)));
    expect(count(served.server)).toBe(0);
  });

  it('serves what came while the main thread stood still, and later requests of the connection', async () => {
    const { server, port } = await serve(echo, 1, { headersTimeout: 200 });
    server.requestTimeout = 400;
    const stalls = new LoopStalls(400);
    const late = new LateRequests(() => server, { headMs: 200, requestMs: 400 }, stalls);
    const judge = vi.fn((_error: unknown, client: Socket) => late.judge(client, () => client.end('refused')));
    server.on('clientError', judge);
    const socket = await secured(port);
    let received = '';
    socket.on('data', (bytes) => {
      received += bytes.toString();
    });
    const head = 'POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 6\r\n\r\n';
    socket.write(head);
    await once(server, 'request');
    // Timers come next, before messages of threads.
    await turn();
    socket.write('first.');
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 700);
    await expect.poll(() => received).toContain('first.');
    await expect.poll(() => server.listenerCount('upgrade')).toBe(0);
    socket.write(`${head}second`);
    await expect.poll(() => received).toContain('second');
    expect(judge).toHaveBeenCalled();
    expect(received).not.toContain('refused');
    stalls.close();
    socket.destroy();
  });

  it('closes after a last answer, and not before it was sent', async () => {
    const { port } = await serve((_request, response) => {
      response.writeHead(200, { connection: 'close' });
      response.end(Buffer.alloc(3 * MIB, 'x'));
    });
    const socket = await secured(port);
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    let size = 0;
    socket.on('data', (bytes: Buffer) => (size += bytes.length));
    await closed(socket);
    expect(size).toBeGreaterThan(3 * MIB);
  });

  it('carries WebSockets', async () => {
    const { server, port } = await serve(echo);
    const sockets = new WebSocketServer({ noServer: true });
    server.on('upgrade', (request, socket, head) =>
      sockets.handleUpgrade(request, socket, head, (connection) =>
        connection.on('message', (message) => connection.send(message)),
      ),
    );
    const client = new WebSocket(`wss://127.0.0.1:${port}/`, { rejectUnauthorized: false });
    await once(client, 'open');
    const sent = Buffer.alloc(MIB, 'y');
    client.send(sent);
    const [received] = (await once(client, 'message')) as [Buffer];
    expect(received.equals(sent)).toBe(true);
    client.close();
    await once(client, 'close');
  });

  it('replaces a thread that ends, and ends what it held', async () => {
    const served = counted(await serve((_request, response) => response.end('ok')));
    const held = await Promise.all(Array.from({ length: 16 }, () => secured(served.port)));
    await expect.poll(() => count(served.server), PATIENT).toBe(16);
    const gone = Promise.all(held.map((socket) => closed(socket)));
    for (const socket of held) socket.resume();
    for (const worker of served.workers.slice(0, 2)) await worker.terminate();
    await gone;
    expect(count(served.server)).toBe(0);
    await expect.poll(() => served.threads.running, PATIENT).toBe(2);
    expect([(await ask(served.port)).status, served.threads.restarts]).toEqual([200, 2]);
  });

  it('counts a thread as replaced when another serves in its place', async () => {
    const { threads, workers } = await serve((_request, response) => response.end('ok'), 1);
    process.once('worker', (worker) => void worker.terminate());
    await workers[0]?.terminate();
    await expect.poll(() => [workers.length, threads.running], PATIENT).toEqual([3, 1]);
    expect(threads.restarts).toBe(1);
  });

  it('resumes a session on any thread, and serves a renewed certificate', async () => {
    const { port, threads } = await serve((_request, response) => response.end('ok'), 4);
    const agent = new Agent({ keepAlive: false, maxCachedSessions: 1 });
    const reused: boolean[] = [];
    for (let index = 0; index < 12; index += 1) {
      const outgoing = askOverTls({ host: '127.0.0.1', port, agent, rejectUnauthorized: false });
      outgoing.end();
      const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
      reused.push((response.socket as TLSSocket).isSessionReused());
      response.resume();
      await once(response, 'close');
    }
    expect(reused.filter(Boolean).length).toBeGreaterThanOrEqual(10);
    const renewed = selfSigned(['DNS:renewed']);
    expect(() => threads.setSecureContext({ cert: 'none', key: 'none' })).toThrow();
    threads.setSecureContext(renewed);
    await expect
      .poll(async () => {
        const socket = await secured(port);
        const name = socket.getPeerCertificate().subjectaltname;
        socket.destroy();
        return name;
      }, PATIENT)
      .toBe('DNS:renewed');
  });

  it('counts handshakes that fail, and what fails them ends', async () => {
    const served = counted(await serve(echo));
    const answer = await fetch(`http://127.0.0.1:${served.port}/`).catch((error: unknown) => error);
    expect(answer).toBeInstanceOf(Error);
    await expect.poll(() => served.threads.failedHandshakes, PATIENT).toBe(1);
    await expect.poll(() => count(served.server), PATIENT).toBe(0);
  });

  it('does not share a port with anybody else', async () => {
    const { port } = await serve(echo);
    const other = new TlsThreads(
      { ...SETTINGS, ...material, port },
      createServer(),
      pino({ level: 'silent' }),
    );
    await expect(other.listen()).rejects.toThrow('EADDRINUSE');
    await other.close();
  });

  it('answers what was asked before it ends, and then nobody', async () => {
    let finish = (): void => undefined;
    const { server, threads, port } = await serve((_request, response) => {
      response.write('begun ');
      finish = () => void response.end('done');
    });
    const answer = ask(port);
    await once(server, 'request');
    const ended = threads.end();
    finish();
    expect((await answer).body.toString()).toBe('begun done');
    await ended;
    await threads.close();
    const free = plainServer();
    await once(free.listen(port, '127.0.0.1'), 'listening');
    expect((free.address() as AddressInfo).port).toBe(port);
    free.close();
  });
});

describe('the end of TLS on threads', () => {
  it('waits for clients that take an answer slowly', async () => {
    let answer = (): void => undefined;
    const { server, threads, port } = await serve((request, response) => {
      if (request.url === '/small') return void response.end('ok');
      answer = () => void response.end(Buffer.alloc(16 * MIB, 'x'));
    });
    const [socket, idle] = [await secured(port), await secured(port)];
    idle.write('GET /small HTTP/1.1\r\nHost: x\r\n\r\n');
    await once(idle, 'data');
    socket.write('GET / HTTP/1.1\r\nHost: x\r\n\r\n');
    await once(server, 'request');
    const close = vi.spyOn(server, 'closeIdleConnections');
    let isOver = false;
    const ended = threads.end().then(() => (isOver = true));
    answer();
    // Whoever is idle goes, while it is being sent.
    await closed(idle.resume());
    const before = close.mock.calls.length;
    await expect.poll(() => isOver || close.mock.calls.length > before + 3, PATIENT).toBe(true);
    let size = 0;
    socket.on('data', (bytes: Buffer) => (size += bytes.length));
    await closed(socket);
    expect(size).toBeGreaterThan(16 * MIB);
    await ended;
  });
});

describe('a control plane with threads for TLS', () => {
  let folder: string;
  let flags: readonly string[];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'berth-threads-'));
    const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
    await writeFile(cert, material.cert);
    await writeFile(key, material.key);
    flags = ['--tls-cert', cert, '--tls-key', key, '--tls-threads', '3'];
  });
  afterAll(() => rm(folder, { recursive: true, force: true }));

  /** A connection of its own for each: the kernel gives them to any of the threads. */
  const callTo = ({ url }: ControlPlane) => {
    const port = Number(new URL(url).port);
    return async (method: string, path: string, token = BOOTSTRAP, body?: object) => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
      const { status, body: bytes } = await ask(
        port,
        { method, path, headers },
        body && Buffer.from(JSON.stringify(body)),
      );
      return {
        status,
        body: bytes.length === 0 ? {} : (JSON.parse(bytes.toString()) as Record<string, unknown>),
      };
    };
  };

  it('decides in one place: what one connection wrote or revoked, every other knows at once', async () => {
    const plane = await startControlPlane(flags);
    closing.push(() => plane.close());
    const call = callTo(plane);
    for (let index = 0; index < 6; index += 1) {
      const name = `reader-${index}`;
      const made = await call('POST', '/api/v1/tokens', BOOTSTRAP, { name, role: 'viewer' });
      const { id, token } = made.body as { readonly id: string; readonly token: string };
      expect((await call('GET', '/api/v1/deployments', token)).status).toBe(200);
      expect((await call('DELETE', `/api/v1/tokens/${id}`)).status).toBe(200);
      const refused = await call('GET', '/api/v1/deployments', token);
      expect([refused.status, String(refused.body['doc']).startsWith('https://')]).toEqual([401, true]);
    }
    const { body } = await call('GET', '/api/v1/audit');
    expect(JSON.stringify(body)).toContain('127.0.0.1');
  });

  /** Whoever follows the events: ids as they come in. */
  async function follow(plane: ControlPlane, after = '', path = '/api/v1/events') {
    const socket = await secured(Number(new URL(plane.url).port));
    const resumed = after === '' ? '' : `Last-Event-ID: ${after}\r\n`;
    let text = '';
    socket.setEncoding('utf8').on('data', (piece: string) => (text += piece));
    socket.write(
      `GET ${path} HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n${resumed}Authorization: Bearer ${BOOTSTRAP}\r\n\r\n`,
    );
    const begun = path.endsWith('/events') ? ': connected\n\n' : '\r\n\r\n';
    await expect.poll(() => text.includes(begun) || text.includes('"code":'), PATIENT).toBe(true);
    return {
      socket,
      status: text.slice(9, 12),
      /** The answer ended in order, and was not cut. */
      isWhole: () => text.endsWith('0\r\n\r\n'),
      ids: () => [...text.matchAll(/^id: (.*)$/gm)].map(([, id]) => id ?? ''),
    };
  }

  /** Ids of all events, in the order of their commits. */
  async function kept({ store }: ControlPlane): Promise<readonly string[]> {
    const { entries } = await store.kv.range('c/');
    return entries
      .filter(({ key }) => key.includes('/events/'))
      .toSorted((a, b) => a.createRevision - b.createRevision || (a.key < b.key ? -1 : 1))
      .map(({ key }) => key.slice(key.lastIndexOf('/') + 1));
  }

  /** More than the kernel takes for one that does not read: some 20 MiB. */
  const LARGE_EVENTS = 160;
  const largeId = (index: number): string => `large${String(index).padStart(4, '0')}`;

  async function openStreams(plane: ControlPlane): Promise<number> {
    const { body } = await ask(Number(new URL(plane.url).port), { path: '/metrics' });
    return Number(/^berth_streams (\d+)/m.exec(body.toString())?.[1]);
  }

  it('gives readers of events every one in its order, and the place of one that went to the next', async () => {
    const dataDir = join(folder, 'data');
    const start = (listen: string) =>
      startControlPlane([...flags, '--data-dir', dataDir, '--listen', listen], {
        BERTH_LIMITS_STREAMS_PER_TOKEN: '4',
        BERTH_METRICS_OPEN: 'true',
      });
    const plane = await start('127.0.0.1:0');
    const ends = [() => plane.close()];
    closing.push(async () => {
      for (const end of ends) await end();
    });
    const create = async (at: ControlPlane, name: string): Promise<void> => {
      const spec = { name, image: UNREACHABLE_IMAGE, replicas: 0 };
      expect((await callTo(at)('POST', '/api/v1/deployments', BOOTSTRAP, spec)).status).toBe(201);
    };
    // All that comes after the first one: the control plane has events of its own.
    await create(plane, 'first');
    const [first] = await kept(plane);
    const readers = await Promise.all(Array.from({ length: 4 }, () => follow(plane, first)));
    expect((await follow(plane)).status).toBe('429');
    await Promise.all(Array.from({ length: 12 }, (_, index) => create(plane, `web-${index}`)));
    // Each is made, and then found to be stopped.
    const stored = async (at: ControlPlane, count: number): Promise<readonly string[]> => {
      await expect.poll(async () => (await kept(at)).length, PATIENT).toBeGreaterThanOrEqual(2 * count);
      return kept(at);
    };
    await stored(plane, 13);
    type Reader = Awaited<ReturnType<typeof follow>>;
    const hasAll = async (reader: Reader, at: ControlPlane, count: number): Promise<void> => {
      const isSame = async () => isDeepStrictEqual(reader.ids(), (await kept(at)).slice(count));
      await expect.poll(isSame, PATIENT).toBe(true);
    };
    for (const reader of readers) await hasAll(reader, plane, 1);
    const before = await kept(plane);

    const [away, ...others] = readers;
    away?.socket.destroy();
    await expect.poll(() => openStreams(plane), PATIENT).toBe(3);
    // From the middle, as one that lost its connection then.
    const resumed = await follow(plane, before[11]);
    await hasAll(resumed, plane, 12);

    // Across a restart on the same port, with what happened while nobody read.
    const following = [...others, resumed];
    const over = Promise.all(following.map(({ socket }) => closed(socket)));
    await ends.pop()?.();
    await over;
    expect(following.map((reader) => reader.isWhole())).toEqual([true, true, true, true]);
    const again = await start(new URL(plane.url).host);
    ends.push(() => again.close());
    await create(again, 'meanwhile');
    const after = await stored(again, 14);
    await hasAll(await follow(again, before[11]), again, 12);
    expect(after.slice(0, before.length)).toEqual(before);
  });

  it('loses with a thread the streams that it held, and gives their places to whoever comes back', async () => {
    const workers: Worker[] = [];
    const add = (worker: Worker): unknown => workers.push(worker);
    process.on('worker', add);
    const plane = await startControlPlane(flags, {
      BERTH_LIMITS_STREAMS_PER_TOKEN: '18',
      BERTH_METRICS_OPEN: 'true',
    });
    closing.push(async () => {
      process.removeListener('worker', add);
      await plane.close();
    });
    const threads = workers.filter(({ resourceLimits: limits }) => limits?.maxYoungGenerationSizeMb === 8);
    expect(threads).toHaveLength(3);
    const create = async (name: string): Promise<void> => {
      const spec = { name, image: UNREACHABLE_IMAGE, replicas: 0 };
      expect((await callTo(plane)('POST', '/api/v1/deployments', BOOTSTRAP, spec)).status).toBe(201);
    };
    await create('first');
    const [first = ''] = await kept(plane);
    const logs = '/api/v1/deployments/first/logs?follow=true';
    type Reader = Awaited<ReturnType<typeof follow>> & { readonly isLog: boolean };
    const open = async (isLog: boolean, after: string): Promise<Reader> => ({
      ...(isLog ? await follow(plane, '', logs) : await follow(plane, after)),
      isLog,
    });
    const readers = await Promise.all(Array.from({ length: 18 }, (_, at) => open(at % 3 === 0, first)));
    expect(readers.map(({ status }) => status)).toEqual(readers.map(() => '200'));
    expect((await open(false, first)).status).toBe('429');
    const over = new Set<Reader>();
    for (const reader of readers) reader.socket.once('close', () => over.add(reader));

    await threads[0]?.terminate();
    // Others serve at once, and what was held by it is over.
    await create('second');
    await expect.poll(() => openStreams(plane), PATIENT).toBe(18 - over.size);
    expect(over.size).toBeGreaterThan(0);
    expect([...over].filter((reader) => reader.isWhole())).toEqual([]);
    const back = await Promise.all([...over].map(({ isLog }) => open(isLog, first)));
    expect(back.map(({ status }) => status)).toEqual(back.map(() => '200'));
    expect((await open(true, '')).status).toBe('429');
    expect(await openStreams(plane)).toBe(18);
    const all = [...readers.filter((reader) => !over.has(reader)), ...back].filter(({ isLog }) => !isLog);
    const isSame = async (): Promise<boolean> => {
      const wanted = (await kept(plane)).slice(1);
      return wanted.length > 1 && all.every((reader) => isDeepStrictEqual(reader.ids(), wanted));
    };
    await expect.poll(isSame, PATIENT).toBe(true);
    const metrics = async () =>
      String((await ask(Number(new URL(plane.url).port), { path: '/metrics' })).body);
    await expect.poll(metrics, PATIENT).toMatch(/^berth_tls_threads 3$/m);
    expect(await metrics()).toMatch(/^berth_tls_thread_restarts_total 1$/m);
    for (const { socket } of all) socket.destroy();
  });

  it('ends a reader of events that takes nothing, and nobody else waits for it', async () => {
    const plane = await startControlPlane(flags, { BERTH_METRICS_OPEN: 'true' });
    closing.push(() => plane.close());
    // Half a minute for whoever takes nothing.
    const later = setTimeout;
    const hurry = vi
      .spyOn(globalThis, 'setTimeout')
      .mockImplementation((done: () => void, ms?: number) => later(done, ms === 30_000 ? 3000 : ms));
    try {
      const [stuck, reader] = [await follow(plane), await follow(plane)];
      stuck.socket.pause();
      const gone = closed(stuck.socket);
      const { entries } = await plane.store.kv.range('h/g/tenants/');
      const tenantId = entries[0]?.key.slice('h/g/tenants/'.length) as TenantId;
      for (let index = 0; index < LARGE_EVENTS; index += 1) {
        const id = largeId(index);
        await plane.store.commit(
          new Transaction(tenantId).putCold('events', id, {
            id,
            at: new Date().toISOString(),
            kind: 'token.created',
            tenantId,
            subject: { kind: 'Token', name: id },
            message: 'x'.repeat(128 * 1024),
            details: {},
          }),
        );
      }
      await expect.poll(() => openStreams(plane), PATIENT).toBe(1);
      stuck.socket.resume();
      await gone;
      const sent = Array.from({ length: LARGE_EVENTS }, (_, index) => largeId(index));
      const largeOf = (ids: readonly string[]) => ids.filter((id) => sent.includes(id));
      await expect.poll(() => largeOf(reader.ids()), PATIENT).toEqual(sent);
      const taken = largeOf(stuck.ids());
      expect(taken.length).toBeLessThan(LARGE_EVENTS);
      expect(taken).toEqual(sent.slice(0, taken.length));
    } finally {
      hurry.mockRestore();
    }
  });
});

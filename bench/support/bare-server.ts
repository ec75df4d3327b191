import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { createServer as createSecureServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fastify from 'fastify';
import pino from 'pino';
import { TlsThreads } from '../../src/server/api/tls-threads/tls-threads.ts';
import { openEtcdKv } from '../../src/server/store/etcd/open.ts';
import type { Kv } from '../../src/server/store/kv.ts';
import { openSqliteKv } from '../../src/server/store/sqlite/sqlite-kv.ts';

/**
 * What the machine can do without us: a bare node:http handler that parses JSON and group-commits given values, the same that tells
 * everybody who reads its events, a bare Fastify handler that answers a constant, and a bare node:http handler that does so, behind our threads for
 * TLS where it is given some. Prints its port; ends with its parent.
 */
const [kind, payloadText = '{}'] = process.argv.slice(2);
const payload = JSON.parse(payloadText) as {
  readonly values?: readonly string[];
  readonly body?: string;
  /** Where what is committed goes; absent: a file of its own. */
  readonly etcd?: string;
  /** Absent: plain HTTP. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** Events go to the sockets as bytes that are made once: the least that Node can do for a reader. */
  readonly isStraight?: boolean;
  /** Threads that do its TLS; absent: plain HTTP. */
  readonly threads?: number;
};

/** As long as what an event of a create has beside its subject. */
const EVENT_LIKE = 'x'.repeat(300);
const ROWS = 6;
const values = payload.values ?? Array.from({ length: ROWS }, () => 'x'.repeat(400));

async function openFile(): Promise<Kv> {
  const dir = mkdtempSync(join(tmpdir(), 'berth-bench-'));
  process.on('exit', () => rmSync(dir, { recursive: true, force: true }));
  return openSqliteKv({ dir });
}

async function commitServer(): Promise<number> {
  const kv = payload.etcd === undefined ? await openFile() : await openEtcdKv({ endpoints: [payload.etcd] });
  let count = 0;
  const readers = new Set<ServerResponse>();
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    if (request.method === 'GET') {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(': connected\n\n');
      readers.add(response);
      response.once('close', () => readers.delete(response));
      return;
    }
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = JSON.parse(Buffer.concat(chunks).toString()) as object;
      count += 1;
      const puts = values.map((value, index) => ({ key: `bench/${index}/${count}`, value }));
      void kv.commit({ puts }).then(() => {
        response.writeHead(201, { 'content-type': 'application/json' });
        response.end(JSON.stringify({ ...body, stored: count }));
        if (readers.size === 0) return;
        const event = { id: `event-${count}`, subject: body, details: { stored: count, like: EVENT_LIKE } };
        const frame = Buffer.from(
          `id: ${event.id}\nevent: deployment.created\ndata: ${JSON.stringify(event)}\n\n`,
        );
        if (payload.isStraight !== true) {
          for (const reader of readers) reader.write(frame);
          return;
        }
        const chunk = Buffer.concat([
          Buffer.from(`${frame.length.toString(16)}\r\n`),
          frame,
          Buffer.from('\r\n'),
        ]);
        for (const { socket } of readers) socket?.write(chunk);
      });
    });
  };
  const { tls } = payload;
  const server = tls === undefined ? createServer(answer) : createSecureServer(tls, answer);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

async function readServer(): Promise<number> {
  const app = fastify({ https: payload.tls ?? null });
  const record = JSON.parse(payload.body ?? '{}') as object;
  app.get('/api/v1/deployments/:name', (_request, reply) => {
    void reply.header('content-type', 'application/json; charset=utf-8').send(JSON.stringify(record));
  });
  await app.listen({ port: 0, host: '127.0.0.1' });
  return (app.server.address() as AddressInfo).port;
}

/** Nothing but HTTP and, with threads, what they hand over. */
async function handedServer(): Promise<number> {
  const { body = '', threads, tls } = payload;
  const headers = { 'content-type': 'application/json; charset=utf-8', 'content-length': body.length };
  const server = createServer((_request, response) => {
    response.writeHead(200, headers);
    response.end(body, 'latin1');
  });
  const host = '127.0.0.1';
  if (threads !== undefined && tls !== undefined) {
    const settings = { ...tls, threads, host, port: 0, handshakeTimeoutMs: 10_000, sendTimeoutMs: 10_000 };
    return new TlsThreads(settings, server, pino({ level: 'silent' })).listen();
  }
  await new Promise<void>((resolve) => server.listen(0, host, resolve));
  return (server.address() as AddressInfo).port;
}

const port =
  kind === 'handed' ? await handedServer() : kind === 'read' ? await readServer() : await commitServer();
process.stdout.write(`${port}\n`);
process.on('disconnect', () => process.exit(0));
process.on('SIGTERM', () => process.exit(0));

import { once } from 'node:events';
import { get } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import fastify, { type FastifyInstance } from 'fastify';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { StreamSink } from './route.ts';
import { joinedPieces, sharedPiece } from './shared-piece.ts';
import { sendStream } from './stream.ts';

let app: FastifyInstance;
beforeEach(() => {
  app = fastify();
});
afterEach(() => app.close());

/** Serves the stream at `/`; `before` is awaited first. */
async function serve(
  stream: (sink: StreamSink) => Promise<void> | void,
  before: (response: NodeJS.WritableStream) => Promise<unknown> = async () => undefined,
): Promise<number> {
  app.get('/', async (request, reply) => {
    await before(reply.raw);
    return sendStream(
      request,
      reply,
      { status: 200, contentType: 'text/event-stream', stream },
      () => true,
      () => true,
    );
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  return (app.server.address() as AddressInfo).port;
}

/** A connection that has asked for `/` in these words. */
function ask(port: number, ...requests: readonly string[]): Socket {
  const client = connect(port, '127.0.0.1');
  client.write(requests.map((request) => `${request}\r\nhost: x\r\n\r\n`).join(''));
  return client;
}

it('is over at once for a client that left while it was prepared', async () => {
  const preparing = Promise.withResolvers<void>();
  const left = Promise.withResolvers<boolean>();
  const port = await serve(
    ({ signal, write }) => {
      write('nobody reads this');
      left.resolve(signal.aborted);
    },
    (response) => {
      preparing.resolve();
      return once(response, 'close');
    },
  );
  const client = ask(port, 'GET / HTTP/1.1');
  await preparing.promise;
  client.destroy();
  expect(await left.promise).toBe(true);
});

const pieces = ['one ', 'zwölf '].map(sharedPiece);
const everything = (sink: StreamSink): void => {
  sink.write('first ');
  for (const piece of pieces) sink.writeShared(piece);
  sink.write('between ');
  sink.writeShared(joinedPieces(pieces));
};
const WHOLE = 'first one zwölf between one zwölf ';

it('sends pieces that many readers share among others, in their order', async () => {
  const port = await serve(everything);
  expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe(WHOLE);
});

it('sends them to a client that knows no chunks, and behind an answer that is not over', async () => {
  const written = Promise.withResolvers<void>();
  app.get('/slow', () => written.promise.then(() => 'slow'));
  const port = await serve((sink) => {
    everything(sink);
    written.resolve();
  });
  const old = await text(ask(port, 'GET / HTTP/1.0'));
  expect(old.split('\r\n\r\n')[1]).toBe(WHOLE);
  // Both are asked for at once: the stream has no connection of its own until the first answer is over.
  const both = await text(ask(port, 'GET /slow HTTP/1.1', 'GET / HTTP/1.1\r\nconnection: close'));
  expect(both.split('\r\n\r\n')[2]?.replaceAll(/(^|\r\n)[0-9a-f]+(\r\n|$)/g, '')).toBe(WHOLE);
});

it('waits for a reader that takes nothing of them', async () => {
  const large = sharedPiece('x'.repeat(2 ** 16));
  const full = Promise.withResolvers<number>();
  const drained = Promise.withResolvers<void>();
  const port = await serve(async (sink) => {
    let count = 1;
    while (sink.writeShared(large)) count += 1;
    full.resolve(count + 1);
    await sink.drained();
    drained.resolve();
    sink.writeShared(large);
  });
  const [response] = await once(get(`http://127.0.0.1:${port}/`), 'response');
  const count = await full.promise;
  expect(
    await Promise.race([drained.promise, new Promise((resolve) => setImmediate(resolve, 'waits'))]),
  ).toBe('waits');
  expect((await text(response)).length).toBe(count * 2 ** 16);
  await drained.promise;
});

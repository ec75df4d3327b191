import { once } from 'node:events';
import { connect, type AddressInfo } from 'node:net';
import fastify from 'fastify';
import { afterEach, expect, it } from 'vitest';
import { sendStream } from './stream.ts';

const app = fastify();
afterEach(() => app.close());

it('is over at once for a client that left while it was prepared', async () => {
  let asked = (): void => undefined;
  const preparing = new Promise<void>((resolve) => {
    asked = resolve;
  });
  const left = new Promise<boolean>((resolve) => {
    app.get('/', async (request, reply) => {
      asked();
      await once(reply.raw, 'close');
      const stream = ({
        signal,
        write,
      }: {
        signal: AbortSignal;
        write: (piece: string) => boolean;
      }): void => {
        write('nobody reads this');
        resolve(signal.aborted);
      };
      const answer = { status: 200, contentType: 'text/event-stream', stream } as const;
      return sendStream(
        request,
        reply,
        answer,
        () => true,
        () => true,
      );
    });
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const client = connect(port, '127.0.0.1');
  client.write('GET / HTTP/1.1\r\nhost: x\r\n\r\n');
  await preparing;
  client.destroy();
  expect(await left).toBe(true);
});

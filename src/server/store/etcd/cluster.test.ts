import { once } from 'node:events';
import { createServer as createHttp2Server } from 'node:http2';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, expect, it } from 'vitest';
import { EtcdCluster } from './cluster.ts';
import { METHODS } from './messages.ts';

const closing: (() => void)[] = [];
afterEach(() => {
  for (const close of closing.splice(0)) close();
});

async function listening(server: Server): Promise<string> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => sockets.add(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** Answers every call with a message without members. */
function member(): Promise<string> {
  const server = createHttp2Server();
  server.on('stream', (stream) => {
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
    stream.on('wantTrailers', () => stream.sendTrailers({ 'grpc-status': '0' }));
    stream.end(Buffer.alloc(5));
  });
  return listening(server);
}

/** Takes connections and says nothing, as one that is stopped. */
const silent = (): Promise<string> => listening(createServer());

const PUT = { key: 'k', value: 'v' };

it('a write that was not even sent to a silent member is sent to another one, within its time', async () => {
  const cluster = new EtcdCluster({ endpoints: [await silent(), await member()], timeoutMs: 1000 });
  closing.push(() => cluster.close());
  await cluster.call(METHODS.put, PUT, { repeatable: false });
});

it('where there is no other member it has all of its time, and is known not to be stored', async () => {
  const cluster = new EtcdCluster({ endpoints: [await silent()], timeoutMs: 300 });
  closing.push(() => cluster.close());
  const begun = performance.now();
  await expect(cluster.call(METHODS.put, PUT, { repeatable: false })).rejects.toMatchObject({
    certainlyNotApplied: true,
    message: expect.stringContaining('no connection within'),
  });
  expect(performance.now() - begun).toBeGreaterThan(250);
});

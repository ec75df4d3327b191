import { once } from 'node:events';
import { createServer as createHttp2Server } from 'node:http2';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';
import { afterEach, describe, expect, it } from 'vitest';
import { LONG_TIER } from '../../../../test/support/fault-tier.ts';
import { EtcdCluster } from './cluster.ts';
import { Connection } from './connection.ts';
import { keySpaceUnder } from './key-space.ts';
import { METHODS } from './messages.ts';
import { SentRecords } from './sent-records.ts';
import { EtcdWatch } from './watch.ts';

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

/** In the long tier: it is time that passes. */
describe.runIf(LONG_TIER)('a process that does not run for a while', () => {
  /** This thread, which is also that of the member: what was sent is not even read, as when a machine stands still. */
  const suspended = (ms: number): void => {
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
  };

  it('gives a connection that it was making the rest of its time', async () => {
    const connection = new Connection(await member(), undefined);
    closing.push(() => connection.close());
    const connected = connection.connected();
    suspended(7_000);
    await connected;
  });

  it('does not give up a watch that it was creating', async () => {
    let streams = 0;
    const server = createHttp2Server();
    server.on('stream', () => {
      streams += 1;
    });
    const cluster = new EtcdCluster({ endpoints: [await listening(server)], timeoutMs: 2_000 });
    const watch = new EtcdWatch(
      {
        cluster,
        keys: keySpaceUnder('berth/'),
        readHead: async () => 0,
        sent: new SentRecords(),
        onClosed: () => undefined,
      },
      '',
      0,
      { onBatch: () => undefined, onLost: () => undefined },
    );
    closing.push(
      () => watch.close(),
      () => cluster.close(),
    );
    while (streams === 0) await pause(10);
    suspended(4_000);
    // Of the 2 s of the creation one second is left; a new one would begin after 50 ms.
    await pause(500);
    expect(streams).toBe(1);
    while (streams === 1) await pause(10);
  });
});

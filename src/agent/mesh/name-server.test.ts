import { createSocket } from 'node:dgram';
import { Resolver } from 'node:dns/promises';
import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readQuestion } from './dns-message.ts';
import { forwarded, framed, onFrames } from './name-forwarding.ts';
import { NameServer } from './name-server.ts';
import { Names } from './names.ts';

const PORT = 20_000 + Math.floor(Math.random() * 20_000);
const instances = Array.from({ length: 60 }, (_, at) => ({
  id: `ins_${at}`,
  node: 'n1',
  address: `10.210.1.${at + 2}`,
}));
const names = new Names([
  { name: 'web', address: '10.211.0.5', ports: [8000], instances: instances.slice(0, 2) },
  { name: 'many', address: '10.211.0.6', instances },
]);
const server = new NameServer({
  names: () => names,
  resolvers: () => [],
  serves: (address) => address === '127.0.0.1',
});
const resolver = new Resolver({ timeout: 1_000, tries: 1 });

beforeAll(async () => {
  await server.listen('127.0.0.1', PORT);
  resolver.setServers([`127.0.0.1:${PORT}`]);
});
afterAll(() => server.close());

const code = (asked: Promise<unknown>) =>
  asked.then(
    () => 'answered',
    (error: unknown) => (error as { code?: string }).code,
  );

describe('the name server', () => {
  it('answers addresses with the time that they count', async () => {
    expect(await resolver.resolve4('web.berth.internal', { ttl: true })).toEqual([
      { address: '10.211.0.5', ttl: 2 },
    ]);
  });

  it('answers ports with the names of instances', async () => {
    expect(await resolver.resolveSrv('_8000._tcp.web.berth.internal')).toMatchObject([
      { name: 'ins-0.web.berth.internal', port: 8000, priority: 0, weight: 1 },
      { name: 'ins-1.web.berth.internal', port: 8000, priority: 0, weight: 1 },
    ]);
  });

  it('says who is in its way, and listens as soon as nobody is', async () => {
    const other = createServer().listen(0, '0.0.0.0');
    await once(other, 'listening');
    const { port } = other.address() as { port: number };
    const late = new NameServer({ names: () => names, resolvers: () => [], serves: () => true });
    for (const _ of [1, 2])
      await expect(late.listen('127.0.0.1', port)).rejects.toThrow('a program that answers on all addresses');
    other.close();
    await once(other, 'close');
    await late.listen('127.0.0.1', port);
    late.close();
  });

  it('has no IPv6 and no other names, and says which of both', async () => {
    expect(await code(resolver.resolve6('web.berth.internal'))).toBe('ENODATA');
    expect(await code(resolver.resolve4('stranger.berth.internal'))).toBe('ENOTFOUND');
    expect(await code(resolver.resolve4('example.com'))).toBe('ESERVFAIL');
  });

  it('cuts what does not fit, and the asker comes again by TCP', async () => {
    expect(await resolver.resolve4('instances.many.berth.internal')).toHaveLength(60);
  });

  it('answers nobody else', async () => {
    const socket = createSocket('udp4').bind(0, '127.0.0.2');
    await once(socket, 'listening');
    let heard = 0;
    socket.on('message', () => (heard += 1));
    socket.send(questionFor('web'), PORT, '127.0.0.1');
    const stranger = connect({ port: PORT, host: '127.0.0.1', localAddress: '127.0.0.2' });
    stranger.on('error', () => {}).write(framed(questionFor('web')));
    await once(stranger, 'close');
    expect([heard, stranger.bytesRead]).toEqual([0, 0]);
    socket.close();
  });

  it('ends a connection whose answers nobody reads, and leaves others theirs', async () => {
    const greedy = connect({ port: PORT, host: '127.0.0.1' });
    greedy.on('error', () => {}).pause();
    const burst = Buffer.concat(
      Array.from({ length: 2_000 }, () => framed(questionFor('instances.many.berth.internal'))),
    );
    const closed = new Promise((resolve) => greedy.once('close', resolve));
    for (let at = 0; at < 10 && !greedy.destroyed; at += 1) greedy.write(burst);
    await eventuallyClosed(greedy);
    await closed;
    expect(await resolver.resolve4('web')).toEqual(['10.211.0.5']);
  });

  it('takes whatever is sent', async () => {
    const socket = createSocket('udp4');
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 600 }), (bytes) => {
        readQuestion(Buffer.from(bytes));
        socket.send(bytes, PORT, '127.0.0.1');
      }),
      { numRuns: 2_000 },
    );
    expect(await resolver.resolve4('web')).toEqual(['10.211.0.5']);
    socket.close();
  });
});

/** Read on: the end is seen when what was sent before it is read. */
async function eventuallyClosed(socket: ReturnType<typeof connect>): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, 300));
  socket.resume();
}

describe('what is passed on', () => {
  it('goes to the next resolver when the first is silent, by UDP and by TCP', async () => {
    const silent = createSocket('udp4').bind(0, '127.0.0.3');
    await once(silent, 'listening');
    const { port } = silent.address();
    const speaking = createSocket('udp4').bind(port, '127.0.0.4');
    speaking.on('message', (data, from) => speaking.send(data, from.port, from.address));
    const byTcp = createServer((socket) => onFrames(socket, (data) => socket.write(framed(data))));
    byTcp.listen(port, '127.0.0.4');
    await Promise.all([once(speaking, 'listening'), once(byTcp, 'listening')]);
    const asked = questionFor('example.com');
    for (const over of ['udp', 'tcp'] as const)
      expect(await forwarded(asked, over, ['127.0.0.3', '127.0.0.4'], port)).toEqual(asked);
    silent.close();
    speaking.close();
    byTcp.close();
  });

  it('fails when no resolver is there', async () => {
    await expect(forwarded(questionFor('example.com'), 'udp', [])).rejects.toThrow();
  });
});

function questionFor(name: string): Buffer {
  const labels = name.split('.').flatMap((label) => [label.length, ...Buffer.from(label)]);
  return Buffer.from([0, 7, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, ...labels, 0, 0, 1, 0, 1]);
}

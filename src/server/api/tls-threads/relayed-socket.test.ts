import { createServer, type ServerResponse } from 'node:http';
import { describe, expect, it } from 'vitest';
import { eachFrame, FRAME, FrameSender, WINDOW_BYTES } from './frames.ts';
import { RelayedSocket } from './relayed-socket.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function relayed() {
  const kinds: number[] = [];
  const sent: Buffer[] = [];
  const link = new FrameSender((message) => {
    eachFrame(message, (_id, kind, bytes) => {
      kinds.push(kind);
      if (kind === FRAME.data) sent.push(bytes);
    });
  });
  const end = { address: '127.0.0.1', port: 1 };
  const socket = new RelayedSocket(1, { remote: end, local: end }, link, () => undefined);
  socket.on('error', () => undefined);
  const outcomes: unknown[] = [];
  const write = (size: number): unknown =>
    socket.write(Buffer.alloc(size), (error) => outcomes.push(error && 'code' in error ? error.code : error));
  return { socket, kinds, sent, outcomes, write };
}

describe('RelayedSocket', () => {
  it.each(['receiveClose', 'destroy'] as const)(
    'answers whoever waits for a write when it dies (%s)',
    async (end) => {
      const { socket, outcomes, write } = relayed();
      write(10);
      await turn();
      write(WINDOW_BYTES + 1);
      write(1);
      await turn();
      expect(outcomes).toEqual([null]);
      socket[end]();
      await turn();
      expect(outcomes).toEqual([null, 'ECANCELED', 'ECANCELED']);
    },
  );

  it('has the thread send what it was given when it is destroyed, and not what is cut short', async () => {
    const whole = relayed();
    whole.write(10);
    await turn();
    whole.socket.destroy();
    await turn();
    expect(whole.kinds).toEqual([FRAME.data, FRAME.end, FRAME.close]);
    const cut = relayed();
    cut.write(WINDOW_BYTES + 1);
    cut.socket.destroy();
    await turn();
    expect(cut.kinds).toEqual([FRAME.data, FRAME.close]);
  });

  it('tells an answer that it has room again, also where that came before the rest of the answer did', async () => {
    const { socket } = relayed();
    const asked = Promise.withResolvers<ServerResponse>();
    const server = createServer((_request, response) => asked.resolve(response));
    // As with threads, which listen in its place.
    server.emit('listening');
    server.emit('connection', socket);
    socket.receive(Buffer.from('GET / HTTP/1.1\r\nhost: berth\r\n\r\n'));
    const response = await asked.promise;
    let drains = 0;
    response.on('drain', () => (drains += 1));
    const bytes = (share: number): number => Math.floor(WINDOW_BYTES * share);
    response.write(Buffer.alloc(bytes(0.9)));
    await turn();
    // More than the window has room for, and less than a socket takes.
    expect(response.write(Buffer.alloc(bytes(0.6)))).toBe(true);
    await turn();
    const isRoom = response.write(Buffer.alloc(bytes(0.6)));
    socket.receiveTaken(bytes(0.9));
    await turn();
    expect([isRoom, drains]).toEqual([false, 0]);
    for (let at = 0; at < 2; at += 1) {
      socket.receiveTaken(bytes(0.5));
      await turn();
    }
    expect([response.writableNeedDrain, drains]).toEqual([false, 1]);
    socket.destroy();
    server.close(() => undefined);
  });

  it('is sending until the client has taken everything', async () => {
    const { socket, write } = relayed();
    write(10);
    await turn();
    expect(socket.isSending).toBe(true);
    socket.receiveTaken(10);
    expect(socket.isSending).toBe(false);
  });

  it('sends texts and bytes in their order, as the client gets them', async () => {
    const { socket, sent } = relayed();
    const written = ['héad ', 'a', '€'.repeat(5000), 'b'.repeat(30_000), 'ü'.repeat(20_000), '', 'end'];
    for (const [at, text] of written.entries()) {
      if (at % 2 === 0) socket.write(text);
      else socket.write(Buffer.from(text));
      socket.receiveTaken(Buffer.byteLength(text));
    }
    socket.write('lätin', 'latin1');
    await turn();
    await turn();
    const whole = Buffer.concat([Buffer.from(written.join('')), Buffer.from('lätin', 'latin1')]);
    expect(Buffer.concat(sent).equals(whole)).toBe(true);
  });

  it('keeps of a message of many nothing but its own bytes, where nobody reads them at once', async () => {
    const { socket } = relayed();
    const message = Buffer.allocUnsafeSlow(4096);
    message.write('mine');
    const kept: Buffer[] = [];
    const isOfMessage = (): boolean | undefined => kept.pop()?.buffer === message.buffer;
    socket.on('data', (bytes: Buffer) => kept.push(bytes));
    await turn();
    socket.receive(message.subarray(0, 4));
    expect(isOfMessage()).toBe(false);
    // What reads HTTP has made texts and copies of it when it returns.
    socket.parser = {};
    socket.receive(message.subarray(0, 4));
    expect(isOfMessage()).toBe(true);
    socket.pause();
    socket.receive(message.subarray(0, 4));
    socket.resume();
    await turn();
    expect(isOfMessage()).toBe(false);
  });
});

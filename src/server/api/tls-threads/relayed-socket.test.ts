import { describe, expect, it } from 'vitest';
import { FRAME, FrameSender, framesIn, WINDOW_BYTES } from './frames.ts';
import { RelayedSocket } from './relayed-socket.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function relayed() {
  const kinds: number[] = [];
  const link = new FrameSender((message) => {
    for (const { kind } of framesIn(message)) kinds.push(kind);
  });
  const socket = new RelayedSocket(1, { address: '127.0.0.1', port: 1 }, link, () => undefined);
  socket.on('error', () => undefined);
  const outcomes: unknown[] = [];
  const write = (size: number): unknown =>
    socket.write(Buffer.alloc(size), (error) => outcomes.push(error && 'code' in error ? error.code : error));
  return { socket, kinds, outcomes, write };
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

  it('is sending until the client has taken everything', async () => {
    const { socket, write } = relayed();
    write(10);
    await turn();
    expect(socket.isSending).toBe(true);
    socket.receiveTaken(10);
    expect(socket.isSending).toBe(false);
  });
});

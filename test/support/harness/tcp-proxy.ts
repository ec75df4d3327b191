import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';

export interface TcpProxy {
  readonly port: number;
  /** How many connections were made through it so far. */
  readonly accepted: number;
  /** Resets every connection; new ones are accepted. */
  cut(): void;
  /** While set, what the server sends does not pass (requests do). */
  holdAnswers(hold: boolean): void;
  /** While set, connections are reset as soon as they are made, and open ones are cut. */
  refuse(refuse: boolean): void;
  close(): Promise<void>;
}

/** A TCP proxy on loopback that breaks connections on demand. */
export async function startTcpProxy(target: {
  readonly host: string;
  readonly port: number;
}): Promise<TcpProxy> {
  const pairs = new Set<{ readonly client: Socket; readonly server: Socket }>();
  let refusing = false;
  let holding = false;
  let accepted = 0;

  const listener = createServer((client) => {
    accepted += 1;
    client.on('error', () => {});
    if (refusing) {
      client.resetAndDestroy();
      return;
    }
    const server = connect(target);
    const pair = { client, server };
    pairs.add(pair);
    server.on('error', () => client.destroy());
    client.on('data', (bytes) => server.write(bytes));
    server.on('data', (bytes) => client.write(bytes));
    if (holding) server.pause();
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      one.on('close', () => {
        other.destroy();
        pairs.delete(pair);
      });
    }
  });
  listener.listen(0, '127.0.0.1');
  await once(listener, 'listening');
  const address = listener.address();
  if (address === null || typeof address === 'string') throw new Error('no port');

  const cut = (): void => {
    for (const { client, server } of pairs) {
      client.resetAndDestroy();
      server.resetAndDestroy();
    }
  };
  return {
    port: address.port,
    get accepted() {
      return accepted;
    },
    cut,
    holdAnswers: (hold) => {
      holding = hold;
      for (const { server } of pairs) {
        if (hold) server.pause();
        else server.resume();
      }
    },
    refuse: (refuse) => {
      refusing = refuse;
      if (refuse) cut();
    },
    close: async () => {
      const closed = new Promise((resolve) => listener.close(resolve));
      cut();
      await closed;
    },
  };
}

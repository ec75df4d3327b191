import { once } from 'node:events';
import type { Server, Socket } from 'node:net';
import { named } from '../client.ts';
import { type CommandBody, REMOTE_OPTIONS } from '../command.ts';
import type { Target } from '../context.ts';
import { EXIT } from '../exit-code.ts';
import { messageOf } from '../../core/model/values.ts';
import { Failure, Refused, usage } from '../failure.ts';
import type { Session } from '../session.ts';
import { instanceIdIn } from '../instances.ts';

const MAX_CONNECTIONS = 64;

export const portForward: CommandBody = {
  description: [
    'Listens on this machine, and carries every connection to a port of a running instance, through the control plane and the agent of its node. Nothing has to be published for it.',
    'The program in the instance has to listen at an address that is reached from outside of it, not at 127.0.0.1 alone.',
  ],
  parameters: [
    { term: '<name>', description: 'The deployment.', names: 'deployments' },
    { term: '<ports...>', description: '[LOCAL:]REMOTE. LOCAL 0 takes any free port.' },
  ],
  options: [
    {
      flags: '--instance <id>',
      description: 'To this instance. Default: the first one that runs.',
      names: 'instances',
    },
    { flags: '--address <address>', description: 'Where to listen.', default: '127.0.0.1' },
    ...REMOTE_OPTIONS,
  ],
  examples: [
    { line: 'berth port-forward db 5432', what: 'psql -h 127.0.0.1 then reaches it' },
    { line: 'berth port-forward web 8080:80 9090', what: 'two ports, one under another number' },
  ],
  run: async (session, { parameters: [name = '', ...texts], options }) => {
    const ports = texts.map(portsOf);
    const client = session.client(options);
    const { target } = client;
    // Rather than at the first connection.
    await client.list('GET /api/v1/deployments/{name}/instances', named(name));
    const address = options.text('address') ?? '127.0.0.1';
    const instance = await instanceIdIn(client, name, options.text('instance'));
    const { createServer } = await import('node:net');
    const servers: Server[] = [];
    try {
      for (const { local, remote } of ports) {
        const server = createServer({ allowHalfOpen: true }, (socket) => {
          void forward(session, { target, name, instance, remote }, socket);
        });
        server.maxConnections = MAX_CONNECTIONS;
        servers.push(server);
        await listening(server, local, address);
        const bound = server.address();
        const port = typeof bound === 'object' && bound !== null ? bound.port : local;
        session.terminal.err(`${address}:${port} → ${name}:${remote}\n`);
      }
      session.interrupted.throwIfAborted();
      await once(session.interrupted, 'abort');
      return EXIT.interrupted;
    } finally {
      for (const server of servers) server.close();
    }
  },
};

function portsOf(text: string): { readonly local: number; readonly remote: number } {
  const [, local, remote = ''] = /^(?:(\d{1,5}):)?(\d{1,5})$/.exec(text) ?? [];
  const far = Number(remote);
  const near = Number(local ?? remote);
  if (remote === '' || far < 1 || far > 65_535 || near > 65_535)
    throw usage(`${text}: expected [LOCAL:]REMOTE, such as 8080 or 8080:80`);
  return { local: near, remote: far };
}

async function listening(server: Server, port: number, address: string): Promise<void> {
  server.listen(port, address);
  try {
    await once(server, 'listening');
  } catch (error) {
    throw new Failure(`cannot listen at ${address}:${port}: ${messageOf(error)}`, {
      advice: ['berth port-forward NAME 0:REMOTE   takes any free port'],
      cause: error,
    });
  }
}

interface Way {
  readonly target: Target;
  readonly name: string;
  readonly instance: string | undefined;
  readonly remote: number;
}

/** One connection, each direction no faster than it is taken. */
async function forward(session: Session, way: Way, socket: Socket): Promise<void> {
  socket.on('error', () => socket.destroy());
  socket.pause();
  const [{ openSocket }, { bytesFrom }] = await Promise.all([
    import('../channel/client-socket.ts'),
    import('../channel/transfer.ts'),
  ]);
  try {
    const channel = await openSocket(way.target, way.name, way.instance);
    socket.once('close', () => channel.close());
    const pour = async (): Promise<void> => {
      const bytes: AsyncIterable<Buffer> = socket.iterator({ destroyOnReturn: false });
      for await (const piece of bytes) await channel.send(piece);
      await channel.say({ type: 'eof' });
    };
    const received = bytesFrom(channel, { type: 'connect', port: way.remote });
    // Said by the first step of the iteration.
    const first = received.next();
    pour().catch(() => undefined);
    for (let item = await first; item.done !== true; item = await received.next())
      if (!socket.write(item.value)) await once(socket, 'drain');
    socket.end();
    channel.close();
  } catch (error) {
    const why = error instanceof Refused ? error.rejection.why : messageOf(error);
    session.terminal.err(`berth: ${way.name}:${way.remote}: ${why}\n`);
    socket.destroy();
  }
}

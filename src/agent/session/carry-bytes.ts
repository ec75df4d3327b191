import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { posix } from 'node:path';
import { PassThrough, type Writable } from 'node:stream';
import type { StreamOperation } from '../../core/protocol/agent-protocol.ts';
import { channelControl } from '../../core/contract/channel-messages.ts';
import { frameReader } from '../../core/schema/read-message.ts';
import { bytesOf } from '../bytes.ts';
import type { Engine } from '../engine/engine.ts';
import type { Channel } from './channel.ts';
import { taken } from './taken.ts';

const CONNECT_MS = 10_000;

const readControl = frameReader(channelControl);

type Operation = Extract<StreamOperation, { readonly kind: 'copy-out' | 'copy-in' | 'connect' }>;

/** Files of a container, and connections to its ports. */
export async function carryBytes(
  engine: Engine,
  containerId: string,
  operation: Operation,
  channel: Channel,
  signal: AbortSignal,
): Promise<void> {
  const gone = new AbortController();
  const until = { signal: AbortSignal.any([signal, gone.signal]) };
  const leave = (): void => gone.abort(new Error('the client has gone'));
  try {
    switch (operation.kind) {
      case 'copy-out': {
        void drop(channel).then(leave);
        for await (const bytes of await engine.readArchive(containerId, operation.path, until))
          await channel.send(bytes, 'stdout');
        return;
      }
      case 'copy-in': {
        const isFolder = (await engine.pathKind(containerId, operation.path, until)) === 'folder';
        await channel.send(Buffer.from(JSON.stringify({ isFolder })), 'stdout');
        const archive = new PassThrough();
        void pour(channel, archive).then(leave);
        const folder = isFolder ? operation.path : posix.dirname(operation.path);
        await engine.writeArchive(containerId, folder, archive, until);
        return;
      }
      case 'connect': {
        const socket = await dialed(engine, containerId, operation.port, until.signal);
        void pour(channel, socket).then(leave);
        for await (const bytes of bytesOf(socket)) await channel.send(bytes, 'stdout');
        await channel.sendEnd();
        return;
      }
    }
  } finally {
    await channel.close();
  }
}

/** Only at the address of this very container, which is one of the tenant's. */
async function dialed(engine: Engine, id: string, port: number, signal: AbortSignal): Promise<Socket> {
  const { networks } = await engine.inspect(id, { signal });
  const host = networks.map(({ ip }) => ip).find((ip) => ip !== undefined && ip !== '');
  if (host === undefined) throw new Error('the container has no address');
  const socket = connect({ host, port, allowHalfOpen: true });
  const abort = (): void => void socket.destroy();
  signal.addEventListener('abort', abort, { once: true });
  socket.once('close', () => signal.removeEventListener('abort', abort));
  try {
    await once(socket, 'connect', { signal: AbortSignal.any([signal, AbortSignal.timeout(CONNECT_MS)]) });
  } catch (error) {
    socket.destroy();
    throw error;
  }
  socket.on('error', () => undefined);
  return socket;
}

/** Until the client has gone; after its last byte the target is ended, and what comes back goes on. */
async function pour(channel: Channel, into: Writable): Promise<void> {
  into.on('error', () => undefined);
  try {
    for await (const item of channel.incoming) {
      if (typeof item === 'string') {
        if (readControl(item)?.type === 'eof') into.end();
      } else if (!into.destroyed && !into.writableEnded && !into.write(item)) {
        await taken(into);
      }
    }
  } catch {
    // A connection that broke is one that ended.
  }
  if (!into.writableEnded) into.destroy();
}

async function drop(channel: Channel): Promise<void> {
  try {
    for await (const _nothing of channel.incoming);
  } catch {
    // The same.
  }
}

import { once } from 'node:events';
import type { Writable } from 'node:stream';
import {
  CHANNEL_OUTPUT,
  type ChannelEnd,
  type ChannelStart,
  channelNews,
} from '../../core/contract/channel-messages.ts';
import { frameReader } from '../../core/schema/read-message.ts';
import { EXIT } from '../exit-code.ts';
import { Failure, Refused } from '../failure.ts';
import { readRejection } from '../../sdk/rejection.ts';
import type { Pipes } from '../terminal.ts';
import type { ClientSocket } from './client-socket.ts';
import { DetachKeys } from './detach-keys.ts';

const readNews = frameReader(channelNews);

export interface RemoteCommand {
  readonly start: Extract<ChannelStart, { readonly type: 'exec' }>;
  /** Keys that leave the command running. */
  readonly detachKeys: readonly number[];
  readonly pipes: Pipes;
  /** Ctrl-C; in a terminal it is a key like all others. */
  readonly interrupted: AbortSignal;
}

/** Joins this terminal, or these pipes, with a command elsewhere until it ends. */
export async function joinCommand(socket: ClientSocket, remote: RemoteCommand): Promise<ChannelEnd> {
  const { start, pipes, interrupted } = remote;
  const { stdin, stdout } = pipes;
  const isTerminal = start.tty && stdin.isTTY;
  const resize = (): void => void socket.say({ type: 'resize', ...sizeOf(stdout) }).catch(() => undefined);
  const interrupt = (): void => void socket.say({ type: 'signal', signal: 'INT' }).catch(() => undefined);
  await socket.say(start);
  interrupted.addEventListener('abort', interrupt, { once: true });
  if (isTerminal) {
    stdin.setRawMode(true);
    stdout.on('resize', resize);
  }
  try {
    // A connection that ends while it is written to is told by the reader.
    if (start.stdin) void typeInto(socket, remote).catch(() => undefined);
    return await printFrom(socket, pipes);
  } finally {
    interrupted.removeEventListener('abort', interrupt);
    stdout.off('resize', resize);
    if (isTerminal) stdin.setRawMode(false);
    stdin.pause();
    socket.close();
  }
}

export function sizeOf({ columns, rows }: Pipes['stdout']): { columns: number; rows: number } {
  return { columns: columns || 80, rows: rows || 24 };
}

async function typeInto(socket: ClientSocket, { start, pipes, detachKeys }: RemoteCommand): Promise<void> {
  const keys = new DetachKeys(start.tty && pipes.stdin.isTTY ? detachKeys : []);
  const input: AsyncIterable<Buffer> = pipes.stdin;
  for await (const piece of input) {
    const { passed, isDetached } = keys.take(piece);
    await socket.send(passed);
    if (isDetached) return await socket.say({ type: 'detach' });
  }
  await socket.say({ type: 'eof' });
}

async function printFrom(socket: ClientSocket, { stdout, stderr }: Pipes): Promise<ChannelEnd> {
  for await (const item of socket.incoming) {
    if (typeof item !== 'string') {
      await print(item[0] === CHANNEL_OUTPUT.stderr ? stderr : stdout, item.subarray(1));
      continue;
    }
    const news = readNews(item);
    if (news?.type === 'end') return news;
  }
  throw new Failure('the connection was lost, and the command was ended with it', {
    exitCode: EXIT.unreachable,
  });
}

async function print(to: Writable, bytes: Buffer): Promise<void> {
  if (!to.write(bytes)) await once(to, 'drain');
}

/** Nothing, or the refusal that ended it. */
export function refusalIn(end: ChannelEnd): Error | undefined {
  if (end.rejection === undefined) return undefined;
  const rejection = readRejection(end.rejection);
  return rejection === undefined ? new Failure(end.rejection.why) : new Refused(rejection, 0);
}

export const readChannelNews = readNews;

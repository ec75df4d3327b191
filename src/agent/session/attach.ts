import { PassThrough } from 'node:stream';
import type { StreamOperation } from '../../core/protocol/agent-protocol.ts';
import { type ChannelControl, channelControl } from '../../core/contract/channel-messages.ts';
import { frameReader } from '../../core/schema/read-message.ts';
import type { Engine, ExecSession } from '../engine/engine.ts';
import type { Channel } from './channel.ts';
import { taken } from './taken.ts';

const LONGEST_MS = 24 * 3_600_000;
const DEFAULT_SIZE = { columns: 80, rows: 24 };

const readControl = frameReader(channelControl);

type Attach = Extract<StreamOperation, { readonly kind: 'attach' }>;

/** A command that somebody sits at. It ends with its connection, unless its reader says that it is to go on. */
export async function attach(
  engine: Engine,
  containerId: string,
  operation: Attach,
  channel: Channel,
  signal: AbortSignal,
): Promise<number> {
  const { command, tty, input: hasInput, columns, rows, timeoutMs } = operation;
  const gone = new AbortController();
  const input = new PassThrough();
  try {
    const session = await engine.exec(containerId, command, {
      timeoutMs: Math.min(timeoutMs, LONGEST_MS),
      signal: AbortSignal.any([signal, gone.signal]),
      ...(hasInput && { stdin: input }),
      ...(tty && {
        tty: { columns: columns ?? DEFAULT_SIZE.columns, rows: rows ?? DEFAULT_SIZE.rows },
      }),
    });
    void follow(channel, session, input).then((left) => {
      if (!left) gone.abort(new Error('the reader has gone'));
    });
    for await (const { bytes, stream } of session.output) await channel.send(bytes, stream);
    return await session.exitCode();
  } finally {
    input.destroy();
    await channel.close();
  }
}

/** Until the connection ends. True: it was left on purpose. */
async function follow(channel: Channel, session: ExecSession, input: PassThrough): Promise<boolean> {
  input.on('error', () => undefined);
  try {
    for await (const item of channel.incoming) {
      if (typeof item === 'string') {
        const control = readControl(item);
        if (control?.type === 'detach') {
          session.leave();
          return true;
        }
        if (control !== undefined) await obey(control, session, input);
      } else if (!input.destroyed && !input.writableEnded && !input.write(item)) {
        await taken(input);
      }
    }
  } catch {
    // A connection that broke is one that ended.
  }
  return false;
}

async function obey(control: ChannelControl, session: ExecSession, input: PassThrough): Promise<void> {
  switch (control.type) {
    case 'eof':
      input.end();
      return;
    case 'resize':
      await session.resize(control);
      return;
    case 'signal':
      await session.kill(`SIG${control.signal}`);
      return;
    case 'detach':
      return;
  }
}

import type { WebSocket } from 'ws';
import type { StreamOperation } from '../../../core/protocol/agent-protocol.ts';
import type { Meeting } from '../volumes/relay.ts';
import type { AgentStream } from './streams.ts';

const ARRIVAL_MS = 10_000;

type WithChannel = Extract<StreamOperation, { readonly channelId: string }>;
type Unopened<O> = O extends unknown ? Omit<O, 'channelId'> : never;
/** What is asked of an agent with a connection of its own. */
export type ChannelOperation = Unopened<WithChannel>;

type Ended = NonNullable<AgentStream['end']>;

export interface AgentChannel {
  readonly socket: WebSocket;
  /** How it ended, as the agent says over its session. */
  readonly ended: Promise<Ended>;
  /** The agent is told to end it. */
  cancel(): void;
}

/** Why there is none: the agent is not connected, says no, or does not come. */
export type OpenedChannel = AgentChannel | { readonly error: NonNullable<Ended['error']> };

export async function openChannel(
  meeting: Meeting,
  ask: (channelId: string) => AgentStream | undefined,
): Promise<OpenedChannel> {
  const stream = ask(meeting.id);
  if (stream === undefined) {
    meeting.leave();
    return failed('agent_unreachable', 'the agent is not connected');
  }
  const ended = endOf(stream);
  let late: NodeJS.Timeout | undefined;
  const silence = new Promise<undefined>((resolve) => {
    late = setTimeout(() => resolve(undefined), ARRIVAL_MS);
  });
  try {
    const first = await Promise.race([meeting.arrived, ended.then(({ error }) => ({ error })), silence]);
    if (first !== undefined && !('error' in first)) {
      first.on('error', () => first.terminate());
      return { socket: first, ended, cancel: () => stream.cancel() };
    }
    stream.cancel();
    return first?.error === undefined
      ? failed('agent_unreachable', 'the agent did not open a connection')
      : { error: first.error };
  } finally {
    clearTimeout(late);
    meeting.leave();
  }
}

function failed(reason: string, message: string): Extract<OpenedChannel, { readonly error: object }> {
  return { error: { reason, message } };
}

async function endOf(stream: AgentStream): Promise<Ended> {
  for await (const _nothing of stream);
  return stream.end ?? {};
}

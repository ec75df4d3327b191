import { setTimeout as pause } from 'node:timers/promises';
import { createWebSocketStream } from 'ws';
import { CHANNEL_OUTPUT, channelControl } from '../../../core/contract/channel-messages.ts';
import { frameReader } from '../../../core/schema/read-message.ts';
import type { AgentChannel } from '../../agents/streams/channel.ts';
import { MessageRate } from '../../agents/sessions/message-rate.ts';
import { systemClock } from '../../clock.ts';
import { type ClientChannel, sendFrame } from './client-channel.ts';

/** Who sends more messages than these, of whatever size, is waited for. */
const MESSAGES = { perSecond: 4000, burst: 16_000 };
/** An agent says that it has ended after it has closed its connection. */
const CLOSING_MS = 5000;
const END_OF_OUTPUT = JSON.stringify({ type: 'eof' });

const readControl = frameReader(channelControl);

/** Both directions at once, each no faster than it is taken, until the agent's side is over or the client departs. */
export async function carry(
  client: ClientChannel,
  channel: AgentChannel,
  departure: AbortSignal,
): Promise<void> {
  const { socket } = channel;
  const leave = (): void => {
    channel.cancel();
    socket.terminate();
  };
  departure.addEventListener('abort', leave, { once: true });
  if (departure.aborted) leave();
  void channel.ended.then(() => setTimeout(() => socket.terminate(), CLOSING_MS).unref());
  void toAgent(client, channel).catch(leave);
  await toClient(client, channel).catch(leave);
  departure.removeEventListener('abort', leave);
  const late = setTimeout(leave, CLOSING_MS);
  await channel.ended;
  clearTimeout(late);
}

/** Only what the table of messages knows goes on. */
async function toAgent(client: ClientChannel, { socket }: AgentChannel): Promise<void> {
  const rate = new MessageRate(MESSAGES, systemClock);
  for (let item = await client.next(); item !== undefined; item = await client.next()) {
    const control = typeof item === 'string' ? readControl(item) : undefined;
    if (typeof item !== 'string') await sendFrame(socket, item);
    else if (control !== undefined) await sendFrame(socket, JSON.stringify(control));
    await slowDown(rate);
  }
}

/** An agent that says anything else is not heard any more. */
async function toClient(client: ClientChannel, { socket }: AgentChannel): Promise<void> {
  const rate = new MessageRate(MESSAGES, systemClock);
  const items: AsyncIterable<Buffer | string> = createWebSocketStream(socket, { readableObjectMode: true });
  for await (const item of items) {
    if (typeof item === 'string') {
      if (item !== END_OF_OUTPUT) throw new Error('not a message of a channel');
    } else if (item[0] !== CHANNEL_OUTPUT.stdout && item[0] !== CHANNEL_OUTPUT.stderr) {
      throw new Error('output of no stream');
    }
    await client.send(item);
    await slowDown(rate);
  }
}

async function slowDown(rate: MessageRate): Promise<void> {
  const owedMs = rate.spend(1);
  if (owedMs > 1) await pause(owedMs);
}

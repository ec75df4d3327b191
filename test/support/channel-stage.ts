import { WebSocket } from 'ws';
import { RelayLink } from '../../src/agent/volumes/relay-link.ts';
import {
  CHANNEL_PROTOCOL,
  type ChannelControl,
  type ChannelNews,
  type ChannelStart,
} from '../../src/core/contract/channel-messages.ts';
import type { AgentIdentity } from './agents/scripted-agent.ts';

/** A client of a channel by script: what comes is kept. */
export class ScriptedClient {
  readonly socket: WebSocket;
  readonly news: ChannelNews[] = [];
  bytes = 0;
  /** Status of a refused request, and the code of it. */
  readonly outcome: Promise<{ readonly status: number; readonly code?: string }>;
  readonly closed: Promise<void>;

  constructor(url: string, headers: Readonly<Record<string, string>>, query = '', name = 'web') {
    const address = `${url.replace(/^http/, 'ws')}/api/v1/deployments/${name}/exec${query}`;
    this.socket = new WebSocket(address, CHANNEL_PROTOCOL, { headers, perMessageDeflate: false });
    this.socket.on('error', () => undefined);
    this.closed = new Promise((resolve) => this.socket.once('close', () => resolve()));
    this.outcome = new Promise((resolve) => {
      this.socket.once('open', () => resolve({ status: 101 }));
      this.socket.once('unexpected-response', (_request, response) => {
        let text = '';
        response.on('data', (piece) => {
          text += String(piece);
        });
        response.on('end', () =>
          resolve({ status: response.statusCode ?? 0, code: (JSON.parse(text) as { code: string }).code }),
        );
      });
    });
    this.socket.on('message', (data: Buffer, isBinary) => {
      if (isBinary) this.bytes += data.length - 1;
      else this.news.push(JSON.parse(data.toString()) as ChannelNews);
    });
  }

  say(message: ChannelStart | ChannelControl): void {
    this.socket.send(JSON.stringify(message));
  }
}

export const SHELL: ChannelStart = { type: 'exec', command: ['sh'], tty: true, stdin: true };

/** The connection that an agent opens when it was asked for a channel. */
export async function channelOf({ url, node, token }: AgentIdentity, channelId: string): Promise<WebSocket> {
  const link = new RelayLink({ server: url, nodeName: node, nodeToken: token });
  const socket = link.open(`/agent/v1/relay/${channelId}`);
  await new Promise<void>((resolve, reject) => {
    socket.once('open', resolve);
    socket.once('close', () => reject(new Error('refused')));
  });
  return socket;
}

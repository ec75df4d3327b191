import {
  CHANNEL_PIECE_BYTES,
  CHANNEL_PROTOCOL,
  type ChannelControl,
  type ChannelEnd,
  type ChannelStart,
  channelNews,
} from '../../core/contract/channel-messages.ts';
import { frameReader } from '../../core/schema/read-message.ts';

const readNews = frameReader(channelNews);

export interface ChannelTarget {
  readonly deployment: string;
  readonly instance: string;
  /** A page cannot send a header with a WebSocket: the tenant acted for is part of the address. */
  readonly tenant: string;
}

export interface ChannelEvents {
  readonly onStarted: () => void;
  readonly onOutput: (bytes: Uint8Array) => void;
  /** Once. Undefined: the connection broke, or was never there. */
  readonly onEnd: (end: ChannelEnd | undefined) => void;
}

export function channelAddress({ deployment, instance, tenant }: ChannelTarget, page: string): string {
  const url = new URL(`/api/v1/deployments/${encodeURIComponent(deployment)}/exec`, page);
  url.protocol = url.protocol === 'https:' ? 'wss:' : 'ws:';
  url.searchParams.set('instance', instance);
  url.searchParams.set('tenant', tenant);
  return url.href;
}

/** A command in an instance, as the person whose cookie the browser holds. Closing it ends the command. */
export class ExecChannel {
  readonly #socket: WebSocket;
  #end: ChannelEnd | undefined;

  constructor(target: ChannelTarget, start: ChannelStart, events: ChannelEvents) {
    const socket = new WebSocket(channelAddress(target, location.href), CHANNEL_PROTOCOL);
    this.#socket = socket;
    socket.binaryType = 'arraybuffer';
    socket.addEventListener('open', () => this.say(start));
    socket.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
      if (data instanceof ArrayBuffer) {
        // The first byte names the stream; a terminal has one.
        events.onOutput(new Uint8Array(data, 1));
        return;
      }
      const news = typeof data === 'string' ? readNews(data) : undefined;
      if (news?.type === 'started') events.onStarted();
      else if (news?.type === 'end') this.#end = news;
    });
    socket.addEventListener('close', () => events.onEnd(this.#end));
  }

  say(message: ChannelStart | ChannelControl): void {
    if (this.#socket.readyState === WebSocket.OPEN) this.#socket.send(JSON.stringify(message));
  }

  type(bytes: Uint8Array<ArrayBuffer>): void {
    if (this.#socket.readyState !== WebSocket.OPEN) return;
    for (let from = 0; from < bytes.length; from += CHANNEL_PIECE_BYTES)
      this.#socket.send(bytes.subarray(from, from + CHANNEL_PIECE_BYTES));
  }

  close(): void {
    this.#socket.close(1000);
  }
}

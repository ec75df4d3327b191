import { once } from 'node:events';
import { Agent, type IncomingMessage, type RequestOptions } from 'node:http';
import { request as plainRequest } from 'node:http';
import { Agent as SecureAgent, request as secureRequest } from 'node:https';
import type { Duplex } from 'node:stream';
import { eventually } from '../eventually.ts';
import { DEADLINE_MS } from './load.ts';

export interface IngressPlace {
  /** Of the node that is asked. */
  readonly address: string;
  readonly host: string;
  /** Present: by HTTPS, with a certificate that leads to this. */
  readonly ca?: string;
}

/** Somebody outside who asks an ingress node for a host, over connections that it keeps open as browsers do. */
export class IngressClient {
  readonly #place: IngressPlace;
  readonly #agent: Agent;

  constructor(place: IngressPlace) {
    this.#place = place;
    this.#agent =
      place.ca === undefined ? new Agent({ keepAlive: true }) : new SecureAgent({ keepAlive: true });
  }

  async ask(method = 'GET', body?: string): Promise<string> {
    const asked = this.#request({ method, path: '/', agent: this.#agent });
    asked.end(body);
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    let text = '';
    for await (const chunk of response.setEncoding('utf8')) text += String(chunk);
    if (response.statusCode !== 200) throw new Error(`${response.statusCode}: ${text.slice(0, 100)}`);
    return text.trim();
  }

  /** A WebSocket, as far as proxies look at it. */
  async open(): Promise<OpenStream> {
    const asked = this.#request({
      headers: {
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': 'AQIDBAUGBwgJCgsMDQ4PEA==',
      },
    });
    asked.end();
    const [, stream] = (await once(asked, 'upgrade')) as [IncomingMessage, Duplex];
    return new OpenStream(stream);
  }

  close(): void {
    this.#agent.destroy();
  }

  #request({ headers, ...more }: RequestOptions) {
    const { address, host, ca } = this.#place;
    const options = { ...more, host: address, headers: { ...headers, host } };
    const asked =
      ca === undefined ? plainRequest(options) : secureRequest({ ...options, servername: host, ca });
    return asked.setTimeout(DEADLINE_MS, () =>
      asked.destroy(new Error(`no answer within ${DEADLINE_MS} ms`)),
    );
  }
}

export class OpenStream {
  readonly #stream: Duplex;
  #heard = '';
  /** Why it is open no more. */
  ended: string | undefined;

  constructor(stream: Duplex) {
    this.#stream = stream;
    stream.on('data', (chunk: Buffer) => (this.#heard += chunk.toString()));
    stream.on('error', (error) => (this.ended ??= error.message));
    stream.on('close', () => (this.ended ??= 'closed'));
  }

  async echo(text: string): Promise<string> {
    this.#heard = '';
    this.#stream.write(`${text}\n`);
    const heard = await eventually(
      `an echo of ${text}`,
      () => this.ended ?? this.#heard,
      (seen) => seen !== '',
    );
    return heard.trim();
  }

  close(): void {
    this.#stream.destroy();
  }
}

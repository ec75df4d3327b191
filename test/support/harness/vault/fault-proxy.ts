import { createServer, type IncomingMessage, request as httpRequest, type ServerResponse } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { AddressInfo } from 'node:net';

/**
 * What becomes of one call. `unanswered`: carried out, and the connection ends or hangs; `dropped`: never arrives; `late`: arrives after the
 * caller gave up; `twice`: arrives twice, and the answer to the second is given.
 */
export type VaultFault = 'none' | 'slow' | 'reset' | 'unanswered' | 'dropped' | 'late' | 'twice';

export interface FaultProxy {
  readonly address: string;
  /** How often each fault was done. */
  readonly done: ReadonlyMap<VaultFault, number>;
  /** Calls that are still on their way to the store. */
  readonly underWay: number;
  close(): Promise<void>;
}

export interface FaultProxyOptions {
  readonly target: string;
  readonly ca?: string | undefined;
  /** Asked for every call, with `METHOD path` below /v1/. */
  readonly choose: (call: string) => VaultFault;
  /** A call was carried out, and its answer has not been passed on. */
  readonly onDone?: (call: string) => void;
  /** Longer than the deadline of the caller. */
  readonly lateMs: number;
  readonly slowMs: number;
}

interface Given {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

async function bodyOf(message: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of message as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}

/** Between a control plane and its secrets store: loses, delays and repeats calls and answers. */
export async function startFaultProxy(options: FaultProxyOptions): Promise<FaultProxy> {
  const { choose, lateMs, slowMs, ca, onDone = () => undefined } = options;
  const target = new URL(options.target);
  const done = new Map<VaultFault, number>();
  const timers = new Set<NodeJS.Timeout>();
  let underWay = 0;
  let closed = false;

  function forward(incoming: IncomingMessage, body: Buffer): Promise<Given> {
    underWay += 1;
    return new Promise<Given>((resolve, reject) => {
      const outgoing = (target.protocol === 'https:' ? httpsRequest : httpRequest)(
        new URL(incoming.url ?? '/', target),
        {
          method: incoming.method,
          headers: { ...incoming.headers, host: target.host, connection: 'close' },
          agent: false,
          ...(ca === undefined ? {} : { ca }),
        },
        (answer) => {
          bodyOf(answer).then(
            (content) => resolve({ status: answer.statusCode ?? 0, headers: answer.headers, body: content }),
            reject,
          );
        },
      );
      outgoing.on('error', reject);
      outgoing.end(body);
    }).finally(() => {
      underWay -= 1;
    });
  }

  const later = (ms: number, act: () => void): void => {
    if (closed) return;
    const timer = setTimeout(() => {
      timers.delete(timer);
      act();
    }, ms);
    timers.add(timer);
  };

  async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const body = await bodyOf(incoming);
    const path = decodeURIComponent((incoming.url ?? '').replace(/^\/v1\//, ''));
    const call = `${incoming.method} ${path}`;
    const fault = choose(call);
    done.set(fault, (done.get(fault) ?? 0) + 1);
    const give = ({ status, headers, body: content }: Given): void => {
      const { 'content-type': type = 'application/json', date = '' } = headers;
      response.writeHead(status, { 'content-type': type, date, 'content-length': content.length });
      response.end(content);
    };
    switch (fault) {
      case 'none': {
        const given = await forward(incoming, body);
        onDone(call);
        return give(given);
      }
      case 'slow': {
        const given = await forward(incoming, body);
        return later(slowMs, () => give(given));
      }
      case 'twice':
        await forward(incoming, body);
        return give(await forward(incoming, body));
      case 'reset':
        await forward(incoming, body);
        return void response.destroy();
      case 'unanswered':
        await forward(incoming, body);
        return;
      case 'dropped':
        return;
      case 'late':
        underWay += 1;
        return later(lateMs, () => {
          forward(incoming, body)
            .catch(() => undefined)
            .finally(() => {
              underWay -= 1;
            });
        });
    }
  }

  const server = createServer((incoming, response) => {
    answer(incoming, response).catch(() => response.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;

  return {
    address: `http://127.0.0.1:${port}`,
    done,
    get underWay() {
      return underWay;
    },
    close: () =>
      new Promise((resolve) => {
        closed = true;
        for (const timer of timers) clearTimeout(timer);
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

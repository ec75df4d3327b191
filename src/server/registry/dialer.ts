import type { Agent as HttpAgent, ClientRequest, IncomingHttpHeaders } from 'node:http';
import { isIP } from 'node:net';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { Duplex } from 'node:stream';
import {
  type AddressResolver,
  type ConnectOptions,
  connectChecked,
  createSystemResolver,
  DialError,
  type DialFailureKind,
  permit,
  systemAddresses,
  type Target,
} from './connect.ts';
import { bareHost, createDestinations, type DestinationLists, effectivePort } from './destinations.ts';
import { createGate } from './gate.ts';

const http = process.getBuiltinModule('node:http');

export interface DialerOptions extends DestinationLists {
  readonly resolver?: AddressResolver;
  readonly ca?: readonly string[];
  readonly ownAddresses?: () => readonly string[];
  readonly maxPerKey?: number;
  readonly maxTotal?: number;
  readonly maxWaiting?: number;
}

export interface DialRequest {
  /** Whose share of the concurrent requests it counts against: the tenant. */
  readonly key: string;
  /** The registry whose answer named the URL; absent if the caller names it. */
  readonly sentBy?: URL;
  readonly method?: 'GET' | 'HEAD' | 'POST';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Of a POST: sending it twice does no harm. */
  readonly isRepeatable?: true;
  /** For the whole exchange: waiting for a free place, DNS, connection, headers and body. */
  readonly timeoutMs: number;
  readonly maxBytes?: number;
  readonly signal?: AbortSignal;
}

export interface DialAnswer {
  readonly ok: true;
  readonly url: URL;
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export interface DialFailure {
  readonly ok: false;
  readonly failure: DialFailureKind;
}

export type DialResult = DialAnswer | DialFailure;

/** The only way out of the control plane. It never follows a redirect: the caller asks again, through the same check. */
export interface Dialer {
  registryUrl(registry: string): URL | undefined;
  request(url: URL, request: DialRequest): Promise<DialResult>;
  /** Whether no request may be made to this URL, as far as it says itself: a name may resolve to an address that is blocked too. */
  isBlocked(url: URL): boolean;
  close(): void;
}

const MAX_BODY_BYTES = 1024 * 1024;
const MAX_HEADER_BYTES = 16 * 1024;
/** Idle connections live long enough for the next request of the same check and little longer. */
const POOL = { keepAlive: true, timeout: 5000, maxFreeSockets: 4, maxTotalSockets: 256 };

export function createDialer(options: DialerOptions): Dialer {
  const destinations = createDestinations(options);
  const gate = createGate({
    perKey: options.maxPerKey ?? 4,
    total: options.maxTotal ?? 64,
    waiting: options.maxWaiting ?? 1024,
  });
  const system = createSystemResolver();
  const connecting: ConnectOptions = {
    resolver: options.resolver ?? system.resolve,
    ca: options.ca ?? [],
    ownAddresses: options.ownAddresses ?? systemAddresses,
  };
  const agents = {
    'http:': checkedAgent(new http.Agent(POOL), connecting),
    'https:': checkedAgent(new HttpsAgent(POOL), connecting),
  };
  const closing = new AbortController();

  async function exchange(target: Target, request: DialRequest): Promise<DialAnswer> {
    const agent = target.url.protocol === 'http:' ? agents['http:'] : agents['https:'];
    const first = send(target, request, agent);
    try {
      return await receive(target, first, request.maxBytes ?? MAX_BODY_BYTES);
    } catch (error) {
      // The server may close an idle connection at the moment it is taken from the pool: ask once more.
      const isRepeatable = request.method !== 'POST' || request.isRepeatable === true;
      const stale = first.reusedSocket && isRepeatable && !target.signal.aborted;
      if (!stale || (error instanceof DialError && error.failure === 'oversize')) throw error;
      return await receive(target, send(target, request, agent), request.maxBytes ?? MAX_BODY_BYTES);
    }
  }

  return {
    registryUrl: (registry) => destinations.registryUrl(registry),
    isBlocked(url) {
      const grant = destinations.grant(url);
      const host = bareHost(url);
      return grant === undefined || (isIP(host) !== 0 && !permit(grant, connecting.ownAddresses())(host));
    },
    async request(url, request) {
      const grant = destinations.grant(url, request.sentBy);
      if (grant === undefined) return { ok: false, failure: 'blocked' };
      const ends = [closing.signal, AbortSignal.timeout(request.timeoutMs)];
      const signal = AbortSignal.any(request.signal === undefined ? ends : [...ends, request.signal]);
      const leave = await gate.enter(request.key, signal);
      if (leave === undefined) return { ok: false, failure: closing.signal.aborted ? 'closed' : 'busy' };
      try {
        return await exchange({ url, grant, signal }, request);
      } catch (error) {
        return { ok: false, failure: failureOf(error, signal, closing.signal) };
      } finally {
        leave();
      }
    },
    close() {
      closing.abort();
      agents['http:'].destroy();
      agents['https:'].destroy();
      system.cancel();
    },
  };
}

type Deliver = (error: Error | null, socket?: Duplex) => void;

/** The pool keeps connections per host and port, and what is permitted depends on nothing else. */
function checkedAgent<A extends HttpAgent>(agent: A, connecting: ConnectOptions): A {
  const open = async (target: Target, deliver: Deliver): Promise<void> => {
    try {
      deliver(null, await connectChecked(target, connecting));
    } catch (error) {
      deliver(error instanceof Error ? error : new Error(String(error)));
    }
  };
  agent.createConnection = (options, callback) => {
    const { target } = options as { readonly target?: Target };
    if (target === undefined || callback === undefined) throw new Error('a request without a checked target');
    void open(target, callback as Deliver);
    return undefined;
  };
  return agent;
}

function send(target: Target, request: DialRequest, agent: HttpAgent): ClientRequest {
  const { url, signal } = target;
  const options = {
    target,
    agent,
    signal,
    host: bareHost(url),
    port: effectivePort(url),
    path: `${url.pathname}${url.search}`,
    method: request.method ?? 'GET',
    headers: { 'user-agent': 'berth', 'accept-encoding': 'identity', ...request.headers },
    maxHeaderSize: MAX_HEADER_BYTES,
  };
  const outgoing = url.protocol === 'http:' ? http.request(options) : httpsRequest(options);
  outgoing.end(request.body);
  return outgoing;
}

function receive(target: Target, outgoing: ClientRequest, maxBytes: number): Promise<DialAnswer> {
  return new Promise((resolve, reject) => {
    outgoing.once('error', reject);
    outgoing.once('close', () => reject(new DialError('broken')));
    outgoing.once('response', (response) => {
      const chunks: Buffer[] = [];
      let size = 0;
      response.on('data', (chunk: Buffer) => {
        size += chunk.length;
        chunks.push(chunk);
        if (size > maxBytes) {
          reject(new DialError('oversize'));
          outgoing.destroy();
        }
      });
      response.once('error', reject);
      response.once('end', () => {
        if (!response.complete) return reject(new DialError('broken'));
        const { statusCode, headers } = response;
        resolve({ ok: true, url: target.url, status: statusCode ?? 0, headers, body: Buffer.concat(chunks) });
      });
    });
  });
}

function failureOf(error: unknown, signal: AbortSignal, closing: AbortSignal): DialFailureKind {
  if (closing.aborted) return 'closed';
  if (error instanceof DialError && (error.failure === 'blocked' || error.failure === 'oversize'))
    return error.failure;
  if (signal.aborted) return 'timeout';
  return error instanceof DialError ? error.failure : 'broken';
}

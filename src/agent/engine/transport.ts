import { messageOf } from '../../core/model/values.ts';
import { bytesOf } from '../bytes.ts';
import { errorCode } from '../log.ts';
import type { Agent, ClientRequest, IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { CallOptions } from './engine.ts';
import { EngineError, EngineUnavailableError, errorForStatus } from './errors.ts';
import { fields, nonEmpty } from './fields.ts';

const http = process.getBuiltinModule('node:http');

export const DEFAULT_DEADLINE_MS = 30_000;
const MAX_BODY_BYTES = 64 * 1024 * 1024;

export interface Call extends CallOptions {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE' | 'HEAD';
  /** With the API version, already encoded: see `enginePath`. */
  readonly path: string;
  readonly json?: unknown;
  readonly body?: Buffer | Readable;
  readonly headers?: Readonly<Record<string, string>>;
  /** Of a stream: the deadline holds to its end, not only to its start. */
  readonly wholeDeadline?: boolean;
}

export interface EngineAnswer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly body: unknown;
}

export type Query = Readonly<Record<string, string | number | boolean | undefined>>;

/** Segments are encoded, query values too; an undefined value is left out. */
export function enginePath(segments: readonly string[], query: Query = {}): string {
  const pairs = Object.entries(query).flatMap(([key, value]) =>
    value === undefined ? [] : [`${key}=${encodeURIComponent(String(value))}`],
  );
  const path = segments.map((segment) => `/${encodeURIComponent(segment)}`).join('');
  return pairs.length === 0 ? path : `${path}?${pairs.join('&')}`;
}

/** A timestamp in the engine's format. */
export function seconds(ms: number): string {
  return (ms / 1000).toFixed(6);
}

/**
 * HTTP over the engine's unix socket. A connection per call: it costs some 50 µs, and none is ever found dead after a
 * restart of the engine, which would make a failed call ambiguous. Every call ends at its deadline or when it is aborted.
 */
export class EngineTransport {
  readonly socketPath: string;
  readonly #calls = new http.Agent({ keepAlive: false, maxSockets: 64 });
  /** Streams live long and must not starve calls. Their number is the caller's to bound. */
  readonly #streams = new http.Agent({ keepAlive: false });

  constructor(socketPath: string) {
    this.socketPath = socketPath;
  }

  /** The whole answer; a status of 400 and above is thrown as the error it stands for. */
  async call(call: Call): Promise<EngineAnswer> {
    const watch = new Watch(call);
    try {
      const response = await this.#send(call, this.#calls, watch);
      const body = parseBody(response, await readBody(response));
      const status = response.statusCode ?? 0;
      if (status >= 400) throw errorForStatus(status, errorMessage(body, status));
      return { status, headers: response.headers, body };
    } catch (error) {
      throw watch.failure ?? unavailable(call, error);
    } finally {
      watch.end();
    }
  }

  /** The answer's body as it comes. The caller reads it, or aborts. */
  async stream(call: Call): Promise<AsyncIterable<Buffer>> {
    const watch = new Watch(call);
    try {
      const response = await this.#send(call, this.#streams, watch);
      const status = response.statusCode ?? 0;
      if (status >= 400) {
        const body = parseBody(response, await readBody(response));
        throw errorForStatus(status, errorMessage(body, status));
      }
      if (call.wholeDeadline !== true) watch.stopClock();
      return this.#chunks(call, response, watch);
    } catch (error) {
      watch.end();
      throw watch.failure ?? unavailable(call, error);
    }
  }

  async *#chunks(call: Call, response: IncomingMessage, watch: Watch): AsyncGenerator<Buffer> {
    try {
      yield* bytesOf(response);
    } catch (error) {
      throw watch.failure ?? unavailable(call, error);
    } finally {
      watch.end();
      response.destroy();
    }
  }

  /** A connection that belongs to the caller once the engine has switched protocols (exec). */
  async hijack(call: Call): Promise<Socket> {
    const watch = new Watch(call);
    try {
      return await new Promise<Socket>((resolve, reject) => {
        const outgoing = this.#request(call, this.#streams, watch, {
          Connection: 'Upgrade',
          Upgrade: 'tcp',
        });
        outgoing.once('upgrade', (_response: IncomingMessage, socket: Socket, head: Buffer) => {
          if (head.length > 0) socket.unshift(head);
          resolve(socket);
        });
        outgoing.once('response', (response) => {
          const status = response.statusCode ?? 0;
          readBody(response).then(
            (bytes) => reject(errorForStatus(status, errorMessage(parseBody(response, bytes), status))),
            reject,
          );
        });
        outgoing.once('error', reject);
        writeBody(outgoing, call);
      });
    } catch (error) {
      throw watch.failure ?? unavailable(call, error);
    } finally {
      watch.end();
    }
  }

  #send(call: Call, agent: Agent, watch: Watch): Promise<IncomingMessage> {
    return new Promise((resolve, reject) => {
      const outgoing = this.#request(call, agent, watch, {});
      outgoing.once('response', resolve);
      // Stays: an error after the answer began is also emitted here, and reaches the reader through the response.
      outgoing.on('error', reject);
      writeBody(outgoing, call);
    });
  }

  #request(call: Call, agent: Agent, watch: Watch, headers: Record<string, string>): ClientRequest {
    const outgoing = http.request({
      socketPath: this.socketPath,
      method: call.method,
      path: call.path,
      agent,
      headers: {
        Host: 'engine',
        ...(call.json === undefined ? {} : { 'Content-Type': 'application/json' }),
        ...headers,
        ...call.headers,
      },
    });
    watch.guard((failure) => outgoing.destroy(failure));
    return outgoing;
  }
}

/** Ends a call at its deadline or with its signal, and remembers that it did. */
class Watch {
  failure: unknown;
  readonly #signal: AbortSignal | undefined;
  readonly #timer: NodeJS.Timeout;
  readonly #onAbort = (): void => this.#fail(this.#signal?.reason);
  #destroy: ((failure: Error) => void) | undefined;

  constructor(call: Call) {
    const deadlineMs = call.deadlineMs ?? DEFAULT_DEADLINE_MS;
    this.#signal = call.signal;
    this.#signal?.throwIfAborted();
    this.#signal?.addEventListener('abort', this.#onAbort, { once: true });
    this.#timer = setTimeout(() => {
      this.#fail(
        new EngineUnavailableError(
          `no answer in ${Math.ceil(deadlineMs)} ms: ${call.method} ${route(call.path)}`,
        ),
      );
    }, deadlineMs);
  }

  guard(destroy: (failure: Error) => void): void {
    this.#destroy = destroy;
  }

  stopClock(): void {
    clearTimeout(this.#timer);
  }

  end(): void {
    clearTimeout(this.#timer);
    this.#signal?.removeEventListener('abort', this.#onAbort);
  }

  #fail(failure: unknown): void {
    this.failure = failure;
    this.#destroy?.(failure instanceof Error ? failure : new Error('aborted'));
  }
}

function writeBody(outgoing: ClientRequest, call: Call): void {
  if (call.json !== undefined) outgoing.end(JSON.stringify(call.json));
  // What goes wrong with either is told by the other.
  else if (call.body instanceof Readable) pipeline(call.body, outgoing).catch(() => undefined);
  else outgoing.end(call.body);
}

async function readBody(response: IncomingMessage): Promise<Buffer> {
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of bytesOf(response)) {
    bytes += part.length;
    if (bytes > MAX_BODY_BYTES)
      throw new EngineError('answer of the engine is too long', response.statusCode ?? 0);
    parts.push(part);
  }
  return Buffer.concat(parts);
}

/** By its look: Podman sends some JSON as plain text. */
function parseBody(response: IncomingMessage, bytes: Buffer): unknown {
  const content = bytes.toString('utf8');
  if (!/^\s*[[{]/.test(content)) return content;
  try {
    return JSON.parse(content);
  } catch (cause) {
    throw new EngineError('answer of the engine is not JSON', response.statusCode ?? 0, { cause });
  }
}

/** Docker: `{message}`; Podman: `{cause, message, response}`, where `message` holds the cause too. */
function errorMessage(body: unknown, status: number): string {
  const message = nonEmpty(fields(body)['message']) ?? nonEmpty(body);
  return message?.trim() ?? `the engine answered ${status}`;
}

/** Without the query: filters and names of images are no part of a message. */
function route(path: string): string {
  return path.split('?', 1)[0] ?? path;
}

function unavailable(call: Call, error: unknown): unknown {
  if (error instanceof EngineError || error instanceof EngineUnavailableError) return error;
  const code = errorCode(error);
  const reason = code ?? messageOf(error);
  return new EngineUnavailableError(`${call.method} ${route(call.path)}: ${reason}`, { cause: error });
}

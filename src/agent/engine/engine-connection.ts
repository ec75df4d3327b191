import type { Socket } from 'node:net';
import { type Dialect, negotiate } from './dialect.ts';
import type { CallOptions } from './engine.ts';
import { EngineUnavailableError } from './errors.ts';
import { optional } from '../../core/model/values.ts';
import {
  type EngineAnswer,
  type Call,
  DEFAULT_DEADLINE_MS,
  EngineTransport,
  enginePath,
  type Query,
} from './transport.ts';

export type EngineRequest = Omit<Call, 'path'> & {
  readonly segments: readonly string[];
  readonly query?: Query;
};

/** The transport in the engine's dialect, which is asked for at the first call and again after an outage. */
export class EngineConnection {
  readonly #transport: EngineTransport;
  #dialect: Dialect | undefined;

  constructor(socketPath: string) {
    this.#transport = new EngineTransport(socketPath);
  }

  async call(request: EngineRequest): Promise<EngineAnswer> {
    const call = await this.#prepare(request);
    return await this.#forgetDialectOnOutage(this.#transport.call(call));
  }

  async stream(request: EngineRequest): Promise<AsyncIterable<Buffer>> {
    const call = await this.#prepare(request);
    return await this.#forgetDialectOnOutage(this.#transport.stream(call));
  }

  async hijack(request: EngineRequest): Promise<Socket> {
    const call = await this.#prepare(request);
    return await this.#forgetDialectOnOutage(this.#transport.hijack(call));
  }

  /** A path outside the versioned API. */
  async raw(call: Call): Promise<EngineAnswer> {
    return await this.#forgetDialectOnOutage(this.#transport.call(call));
  }

  async speak(options: CallOptions): Promise<Dialect> {
    this.#dialect ??= await negotiate(this.#transport, {
      ...optional('signal', options.signal),
      ...optional('deadlineMs', options.deadlineMs),
    });
    return this.#dialect;
  }

  /** Finding out the dialect counts against the call's own deadline. */
  async #prepare({ segments, query, ...call }: EngineRequest): Promise<Call> {
    const startedAt = performance.now();
    const { apiVersion } = await this.speak(call);
    const left = (call.deadlineMs ?? DEFAULT_DEADLINE_MS) - (performance.now() - startedAt);
    return {
      ...call,
      path: enginePath([`v${apiVersion}`, ...segments], query),
      deadlineMs: Math.max(1, left),
    };
  }

  /** After an outage another version of the engine may answer. */
  async #forgetDialectOnOutage<T>(result: Promise<T>): Promise<T> {
    try {
      return await result;
    } catch (error) {
      if (error instanceof EngineUnavailableError) this.#dialect = undefined;
      throw error;
    }
  }
}

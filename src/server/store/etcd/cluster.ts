import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../../core/model/values.ts';
import { runningMs, RunningTimeout } from '../../clock.ts';
import { KvUnavailableError } from '../kv.ts';
import { backOffMs } from './back-off.ts';
import { errorOf, type Fault, faultOf } from './fault.ts';
import { METHODS, type Method } from './messages.ts';
import { openWire } from './http2-wire.ts';
import { CODE, type Duplex, type TlsOptions, type Wire, WireError } from './wire.ts';

export interface ClusterOptions {
  /** `http(s)://host:port` of every member: a member that is not listed is neither failed over to nor defragmented. */
  readonly endpoints: readonly string[];
  readonly auth?: { readonly user: string; readonly password: string };
  readonly tls?: TlsOptions;
  /** For one call of the port, retries included. */
  readonly timeoutMs: number;
}

export interface CallOptions {
  /** A read, or a write that may safely happen twice: repeated after any passing fault. */
  readonly repeatable: boolean;
  readonly timeoutMs?: number;
}

export interface StreamHandlers<Answer> {
  onAnswer(answer: Answer): void;
  onEnd(fault: Fault): void;
}

export interface Stream {
  close(): void;
  /** Closes it because its member is of no use, which the next call is then not sent to. */
  abandon(): void;
}

function decoded<Answer, Request>(method: Method<Answer, Request>, bytes: Buffer): Answer | WireError {
  try {
    return method.decode(bytes);
  } catch (error) {
    return new WireError(CODE.unavailable, `etcd's answer cannot be read: ${String(error)}`, true);
  }
}

/** Calls beyond this are refused at once: behind an etcd that hangs they would pile up until the deadline. */
const MAX_CALLS_UNDER_WAY = 8_192;
const REFUSED_CREDENTIALS_PAUSE_MS = 1_000;

/** The members as one peer: every call has a deadline, goes to one member, and moves on when that member fails. */
export class EtcdCluster {
  readonly timeoutMs: number;
  readonly #wires: readonly Wire[];
  readonly #auth: ClusterOptions['auth'];
  #current = 0;
  #token: Promise<string | undefined> | undefined;
  #underWay = 0;
  #closed = false;

  constructor(options: ClusterOptions) {
    if (options.endpoints.length === 0) throw new Error('at least one etcd endpoint is needed');
    this.#wires = options.endpoints.map((endpoint) => openWire(endpoint, options.tls));
    this.#auth = options.auth;
    this.timeoutMs = options.timeoutMs;
  }

  get members(): readonly Wire[] {
    return this.#wires;
  }

  async call<Answer, Request>(
    method: Method<Answer, Request>,
    request: Request,
    options: CallOptions,
  ): Promise<Answer> {
    if (this.#underWay >= MAX_CALLS_UNDER_WAY) {
      throw new KvUnavailableError(`${MAX_CALLS_UNDER_WAY} calls to etcd are already waiting`, true);
    }
    this.#underWay += 1;
    try {
      return await this.#callWithRetries(method, request, options);
    } finally {
      this.#underWay -= 1;
    }
  }

  async #callWithRetries<Answer, Request>(
    method: Method<Answer, Request>,
    request: Request,
    options: CallOptions,
  ): Promise<Answer> {
    const bytes = method.encode(request);
    const end = runningMs() + (options.timeoutMs ?? this.timeoutMs);
    let tokenRenewed = false;
    for (let attempt = 0; ; attempt += 1) {
      const wire = this.#wire();
      const left = end - runningMs();
      // A member that hangs must not use up the whole time of a read that another member could answer, nor of a write that was not even sent.
      const firstMs = this.#wires.length > 1 && attempt === 0 ? left / 2 : left;
      const attemptMs = options.repeatable ? firstMs : left;
      try {
        const token = this.#auth && (await this.#tokenFrom(wire, attemptMs));
        const headers = { requireLeader: true, token };
        return method.decode(await wire.unary(method.path, bytes, headers, attemptMs, firstMs));
      } catch (error) {
        const cause = this.#wireError(error);
        const fault = faultOf(cause, wire.endpoint);
        if (fault.kind === 'token') this.#token = undefined;
        if (fault.kind === 'token' && !tokenRenewed) {
          tokenRenewed = true;
          continue;
        }
        if (fault.passing) this.#moveFrom(wire);
        const pauseMs = backOffMs(attempt, 20, 250);
        const repeat = fault.passing && (options.repeatable || fault.certainlyNotApplied);
        if (!repeat || runningMs() + pauseMs >= end || this.#closed) throw errorOf(fault, cause);
        await sleep(pauseMs);
      }
    }
  }

  /** One call to one member, for its maintenance. It needs no leader and is not repeated. */
  async callMember<Answer, Request>(
    wire: Wire,
    method: Method<Answer, Request>,
    request: Request,
    timeoutMs: number,
  ): Promise<Answer> {
    const token = this.#auth && (await this.#tokenFrom(wire, timeoutMs));
    return method.decode(
      await wire.unary(method.path, method.encode(request), { requireLeader: false, token }, timeoutMs),
    );
  }

  /** A stream to the current member, with its only request sent. Ends once, with the reason. */
  stream<Answer, Request>(
    method: Method<Answer, Request>,
    request: Request,
    handlers: StreamHandlers<Answer>,
  ): Stream {
    const wire = this.#wire();
    let duplex: Duplex | undefined;
    let open = true;
    const close = (): void => {
      open = false;
      duplex?.close();
    };
    const fail = (error: WireError): void => {
      if (!open) return;
      close();
      const fault = faultOf(error, wire.endpoint);
      if (fault.kind === 'token') this.#token = undefined;
      else if (fault.passing) this.#moveFrom(wire);
      handlers.onEnd(fault);
    };
    const receive = (bytes: Buffer): void => {
      const answer = decoded(method, bytes);
      if (answer instanceof WireError) fail(answer);
      else handlers.onAnswer(answer);
    };
    const start = (token: string | undefined): void => {
      if (!open) return;
      const headers = { requireLeader: true, token };
      duplex = wire.duplex(method.path, method.encode(request), headers, { onMessage: receive, onEnd: fail });
    };
    if (this.#auth)
      this.#tokenFrom(wire, this.timeoutMs).then(start, (error) => fail(this.#wireError(error)));
    else start(undefined);
    return {
      close,
      abandon: () => {
        close();
        this.#moveFrom(wire);
      },
    };
  }

  /** One question and one answer over a streaming method. The question may safely be put twice. */
  async ask<Answer, Request>(method: Method<Answer, Request>, request: Request): Promise<Answer> {
    const end = runningMs() + this.timeoutMs;
    for (let attempt = 0; ; attempt += 1) {
      const outcome = await this.#askOnce(method, request, end - runningMs());
      if ('answer' in outcome) return outcome.answer;
      const pauseMs = backOffMs(attempt, 20, 250);
      if (!outcome.fault.passing || runningMs() + pauseMs >= end || this.#closed) {
        throw new KvUnavailableError(outcome.fault.message, outcome.fault.certainlyNotApplied);
      }
      await sleep(pauseMs);
    }
  }

  #askOnce<Answer, Request>(
    method: Method<Answer, Request>,
    request: Request,
    timeoutMs: number,
  ): Promise<{ readonly answer: Answer } | { readonly fault: Fault }> {
    const { promise, resolve } = Promise.withResolvers<
      { readonly answer: Answer } | { readonly fault: Fault }
    >();
    const stream = this.stream(method, request, {
      onAnswer: (answer) => resolve({ answer }),
      onEnd: (fault) => resolve({ fault }),
    });
    const timer = new RunningTimeout(() => {
      stream.abandon();
      const late = new WireError(CODE.deadlineExceeded, `no answer within ${Math.round(timeoutMs)} ms`, true);
      resolve({ fault: faultOf(late, 'stream') });
    }, timeoutMs);
    return promise.finally(() => {
      timer.clear();
      stream.close();
    });
  }

  /** The session token was refused inside a stream, where etcd answers with a message instead of a status. */
  forgetToken(): void {
    this.#token = undefined;
  }

  close(): void {
    this.#closed = true;
    for (const wire of this.#wires) wire.close();
  }

  #wire(): Wire {
    const wire = this.#wires[this.#current];
    if (!wire) throw new Error('no etcd member');
    return wire;
  }

  /** Only the first of many calls that fail together moves on; the others find it done. */
  #moveFrom(wire: Wire): void {
    if (this.#wire() === wire) this.#current = (this.#current + 1) % this.#wires.length;
  }

  #wireError(error: unknown): WireError {
    if (error instanceof WireError) return error;
    const text = messageOf(error);
    return new WireError(CODE.unavailable, text, !this.#closed);
  }

  #tokenFrom(wire: Wire, timeoutMs: number): Promise<string | undefined> {
    this.#token ??= this.#authenticate(wire, timeoutMs).catch((error: unknown) => {
      const refused = faultOf(this.#wireError(error), wire.endpoint).kind === 'auth';
      const forget = (): void => {
        this.#token = undefined;
      };
      // Checking a password costs etcd tens of milliseconds: a wrong one is not offered with every call.
      if (refused) setTimeout(forget, REFUSED_CREDENTIALS_PAUSE_MS).unref();
      else forget();
      throw error;
    });
    return this.#token;
  }

  async #authenticate(wire: Wire, timeoutMs: number): Promise<string | undefined> {
    const request = METHODS.authenticate.encode({ name: this.#auth?.user, password: this.#auth?.password });
    try {
      const answer = await wire.unary(
        METHODS.authenticate.path,
        request,
        { requireLeader: false },
        timeoutMs,
      );
      return METHODS.authenticate.decode(answer).token;
    } catch (error) {
      const cause = this.#wireError(error);
      // Credentials given, but the cluster does not ask for any: as etcd's own client, go on without.
      if (cause.message.includes('authentication is not enabled')) return undefined;
      if (faultOf(cause, wire.endpoint).kind === 'auth') throw cause;
      // The call that needed the token has not been sent, whatever became of this one.
      throw new WireError(cause.code, cause.message, false);
    }
  }
}

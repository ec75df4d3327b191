import {
  type CallOptions,
  Client as Sdk,
  type Given,
  type ItemOf,
  type ListName,
  type LiveState,
  type OperationName,
  type Reply,
  type RejectionCode,
  RejectionError,
  type RejectionRecord,
  type StreamName,
  type TriedName,
  UnreachableError,
} from '../sdk/index.ts';
import type { Target } from './context.ts';
import { EXIT } from './exit-code.ts';
import { Failure, Refused, usage } from './failure.ts';
import type { Health } from './records.ts';
import type { Answered, AnsweredBy } from './answered.ts';
import { fetchOf, unreachable } from './transport.ts';

/** A document that a user wrote, or a record that is only passed on. */
export type Json = Readonly<Record<string, unknown>>;

/** A rejection is a value: the caller decides whether it ends the command. */
export type CommandAnswer<T> =
  | { readonly ok: true; readonly body: T }
  | { readonly ok: false; readonly status: number; readonly rejection: RejectionRecord };

type Asked = { readonly params?: object | undefined } | undefined;

/** The client of the SDK, with refusals and silence as messages for the user. */
export class Client {
  readonly target: Target;
  readonly #sdk: Sdk;
  readonly #onSilence: ((message: string) => void) | undefined;

  constructor(target: Target, signal?: AbortSignal, onSilence?: (message: string) => void) {
    this.target = target;
    this.#onSilence = onSilence;
    this.#sdk = new Sdk({
      url: target.server,
      token: target.token,
      tenant: target.tenant,
      fetch: fetchOf(target, onSilence),
      headers: { 'user-agent': 'berth-cli' },
      signal,
    });
  }

  /** The same control plane and token, with the tenant named in every request. */
  forTenant(tenant: string): Client {
    return new Client({ ...this.target, tenant }, this.#sdk.settings.signal, this.#onSilence);
  }

  /** What was asked for, or the command ends with the refusal. */
  async record<N extends OperationName>(
    operation: N,
    ...given: Given<CallOptions<N>>
  ): Promise<AnsweredBy<N>> {
    return (await this.reply(operation, ...given)).body;
  }

  /** A document; where it is only tried, it is refused with all that is wrong in it, not only with what comes first. */
  async written<N extends TriedName>(operation: N, options: CallOptions<N>): Promise<AnsweredBy<N>> {
    const { query }: { readonly query?: { readonly dryRun?: boolean | undefined } | undefined } = options;
    try {
      return await this.#asking(
        options,
        async () => (await this.#sdk.request<AnsweredBy<N>>(operation, options)).body,
      );
    } catch (error) {
      if (!(error instanceof Refused) || query?.dryRun !== true) throw error;
      // An older control plane does not know the question.
      throw error.among(await this.#sdk.rejections(operation, options).catch(() => []));
    }
  }

  async reply<N extends OperationName>(
    operation: N,
    ...given: Given<CallOptions<N>>
  ): Promise<Reply<AnsweredBy<N>>> {
    return this.#asking(given[0], () => this.#sdk.request<AnsweredBy<N>>(operation, given[0]));
  }

  async attempt<N extends OperationName>(
    operation: N,
    ...given: Given<CallOptions<N>>
  ): Promise<CommandAnswer<AnsweredBy<N>>> {
    try {
      return { ok: true, body: await this.record(operation, ...given) };
    } catch (error) {
      if (error instanceof Refused) return { ok: false, status: error.status, rejection: error.rejection };
      throw error;
    }
  }

  /** Undefined when the answer is one of these codes; any other refusal ends the command. */
  async recordUnless<N extends OperationName>(
    codes: readonly RejectionCode[],
    operation: N,
    ...given: Given<CallOptions<N>>
  ): Promise<AnsweredBy<N> | undefined> {
    const answer = await this.attempt(operation, ...given);
    if (answer.ok) return answer.body;
    if (codes.includes(answer.rejection.code)) return undefined;
    throw new Refused(answer.rejection, answer.status);
  }

  /** Every page. */
  async list<N extends ListName>(
    operation: N,
    ...given: Given<CallOptions<N>>
  ): Promise<readonly Answered<ItemOf<N>>[]> {
    return this.#asking(given[0], () => this.#sdk.list(operation, ...given)) as Promise<
      readonly Answered<ItemOf<N>>[]
    >;
  }

  /** A body that is sent piece by piece. */
  async *pieces<N extends StreamName>(
    operation: N,
    ...given: Given<CallOptions<N>>
  ): AsyncGenerator<Uint8Array> {
    yield* this.#streaming(given[0], () => this.#sdk.pieces(operation, ...given));
  }

  /** Messages of a stream; where somebody is to be told of its state, it is taken up again after the last one whenever it breaks. */
  async *frames<N extends StreamName>(
    operation: N,
    options: CallOptions<N>,
    onState?: (state: LiveState) => void,
  ) {
    const resume = onState !== undefined;
    yield* this.#streaming(options, () =>
      this.#sdk.frames(operation, { ...options, onState, resume, persistent: false }),
    );
  }

  /** What happens in the tenant, for ever: a stream that breaks is taken up again, and that is told. */
  async *events(onState: (state: LiveState) => void): AsyncGenerator<Answered<ItemOf<'GET /api/v1/events'>>> {
    yield* this.#streaming(undefined, () => this.#sdk.events({ onState }));
  }

  /** Also of a control plane whose store is away: that is what it tells then. */
  async health(): Promise<Reply<Health>> {
    return this.#asking(undefined, () => this.#sdk.request<Health>('GET /healthz', { answers: [503] }));
  }

  async *#streaming<T>(options: Asked, open: () => AsyncGenerator<T>): AsyncGenerator<T> {
    const source = await this.#asking(options, async () => open());
    try {
      yield* source;
    } catch (error) {
      throw this.#inWords(error);
    }
  }

  async #asking<T>(options: Asked, ask: () => Promise<T>): Promise<T> {
    const odd = Object.values(options?.params ?? {}).find((name) => /^\.{0,2}$/.test(String(name)));
    if (odd !== undefined) throw usage(`"${String(odd)}" is not a name`);
    try {
      return await ask();
    } catch (error) {
      throw this.#inWords(error);
    }
  }

  #inWords(error: unknown): unknown {
    if (error instanceof RejectionError) return new Refused(error.rejection, error.status);
    if (!(error instanceof UnreachableError)) return error;
    if (error.status === undefined) return unreachable(this.target, error.cause);
    return new Failure(
      `${this.target.server} answered ${error.status}, but not in the words of a control plane`,
      {
        exitCode: EXIT.unreachable,
        advice: [
          'Is this the address of a control plane? Something else, such as a proxy, may answer there.',
          `It said: ${error.said ?? ''}`,
        ],
        cause: error,
      },
    );
  }
}

/** By name. */
export function named<const S extends string>(name: S): { readonly params: { readonly name: S } } {
  return { params: { name } };
}

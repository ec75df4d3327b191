import type { OPERATIONS } from '../core/operations/index.ts';
import type { AllOf, AnswerOf, BodyOf, ParamsOf, QueryOf } from '../core/operations/operation.ts';
import type { RejectionCode } from '../core/rejections/catalogue.ts';

type Table = typeof OPERATIONS;
type Listed = { [G in keyof Table]: Table[G][keyof Table[G]] }[keyof Table];

/**
 * Every operation by its first line, `GET /api/v1/deployments/{name}`, as the reference has it. Types only: neither the table nor its
 * shapes are loaded by a program that uses the client.
 */
export type Operations = { readonly [O in Listed as `${O['method']} ${O['path']}`]: O };
export type OperationName = keyof Operations;

/** What an operation answers. */
export type AnswerTo<N extends OperationName> = AnswerOf<Operations[N]>;
/** What an operation is given. */
export type BodyFor<N extends OperationName> = BodyOf<Operations[N]>;

/** Operations that answer with a list; what its items are. */
export type ItemOf<N extends OperationName> = AnswerTo<N> extends readonly (infer I)[] ? I : never;
export type ListName = { [N in OperationName]: ItemOf<N> extends never ? never : N }[OperationName];
/** Operations that answer with a stream, or do so when asked. */
export type StreamName = {
  [N in OperationName]: Operations[N] extends { readonly lasts: string } ? N : never;
}[OperationName];

/** Operations that can say all that they refuse. */
export type TriedName = {
  [N in OperationName]: AllOf<Operations[N]> extends never ? never : N;
}[OperationName];

/** Of every call, whatever it asks for. */
export interface CallSettings {
  /** Only this revision of the record: the number, or the ETag as it came. */
  readonly ifMatch?: number | string | undefined;
  /** Of a POST; made by the client unless given. */
  readonly idempotencyKey?: string | undefined;
  readonly signal?: AbortSignal | undefined;
  /** Silence after which the call is given up. */
  readonly timeoutMs?: number | undefined;
  /** Of this call; those of the client unless given. */
  readonly attempts?: number | undefined;
  readonly tenant?: string | undefined;
}

type OrUndefined<Q> = {
  readonly [K in keyof Q]: Partial<Pick<Q, K>> extends Pick<Q, K> ? Q[K] | undefined : Q[K];
};
/** Nothing has to be given: the member itself may be absent too. */
type Member<N extends string, T> =
  Partial<T> extends T ? { readonly [K in N]?: T | undefined } : { readonly [K in N]: T };

type BodyMember<O, B> = O extends { readonly body: infer D }
  ? D extends { readonly optional: true }
    ? { readonly body?: B | undefined }
    : D extends { readonly yaml: true }
      ? { readonly body: B; readonly yaml?: undefined } | { readonly yaml: string; readonly body?: undefined }
      : { readonly body: B }
  : { readonly body?: undefined };

export type CallOptions<N extends OperationName> = CallSettings &
  Member<'params', ParamsOf<Operations[N]>> &
  Member<'query', OrUndefined<QueryOf<Operations[N]>>> &
  BodyMember<Operations[N], BodyFor<N>>;

/** The options of a call, which can be left out where nothing has to be given. */
export type Given<T> = Partial<T> extends T ? [options?: T] : [options: T];

/** Posts whose answer is not kept, because it holds what is shown once, or that act at once: a second one acts again. */
export const NOT_REPEATABLE: ReadonlySet<string> = new Set<OperationName>([
  'POST /api/v1/deployments/{name}/exec',
  'POST /api/v1/join-tokens',
  'POST /api/v1/nodes',
  'POST /api/v1/session',
  'POST /api/v1/tokens',
]);

export type { RejectionCode };

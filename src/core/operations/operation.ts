import type { Answer, Draft, Shape } from '../schema/shape.ts';
import type { Permission } from '../model/permission.ts';
import type { RejectionCode } from '../rejections/catalogue.ts';

export interface QueryParameter {
  readonly description: string;
  readonly schema: Readonly<Record<string, unknown>>;
  readonly required?: true;
  /** Of `all`, where the answer has a place for every rejection. */
  readonly sameAnswer?: true;
}

export interface OperationBody {
  readonly shape: Shape;
  /** Deployment, job, network and volume writes also take YAML. */
  readonly yaml?: boolean;
  readonly optional?: boolean;
  /** The handler checks the shape itself, because its first rule comes before the shape. */
  readonly unchecked?: boolean;
  /** Of lists and objects together, where more are taken than in other bodies. */
  readonly maxMembers?: number;
}

/** How the tenant acted for is found; every way ends in a comparison with the credential. */
export type TenantSource =
  /** The credential's tenant, or the one a platform administrator names in X-Tenant-ID. */
  | 'credential'
  /** X-Tenant-ID must be sent. */
  | 'header'
  /** X-Tenant-ID must be sent and be a UUID. */
  | 'header-uuid'
  /** `{tenant}` in the path is one more assertion. */
  | 'path'
  /** The operation is about the platform as a whole. */
  | 'platform';

/**
 * An operation as data, said once: the server's routes, the types of their handlers, the OpenAPI document, the credential matrix of the
 * tests and the types of clients are made from it.
 */
export interface Operation {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** With `{name}` parameters, as in the OpenAPI document. */
  readonly path: string;
  readonly summary: string;
  readonly tag: string;
  readonly permission: Permission | readonly Permission[];
  readonly tenant: TenantSource;
  readonly query?: Readonly<Record<string, QueryParameter>>;
  readonly body?: OperationBody;
  /** Codes of its own, beside those that every operation shares. */
  readonly codes: readonly RejectionCode[];
  readonly success: {
    readonly status: number;
    readonly description: string;
    /** Absent: the answer is a stream, or there is none. */
    readonly answer?: Shape;
    /** Other statuses with the same answer. */
    readonly also?: Readonly<Record<number, string>>;
    /** Of an answer that is, or may be, no JSON. */
    readonly media?: readonly string[];
  };
  /** The answer lasts as long as its reader, or a command, does, and counts as a stream; or it does so where events are asked for. */
  readonly lasts?: 'always' | 'as-events';
  /** Spoken over a WebSocket of this subprotocol; what refuses it is an answer of HTTP. */
  readonly socket?: string;
}

/** Keeps literal types, so that the types below can read them. */
export function operation<const O extends Operation>(definition: O): O {
  return definition;
}

type NamesIn<P extends string> = P extends `${string}{${infer N}}${infer Rest}` ? N | NamesIn<Rest> : never;

/** Of the path, by name. */
export type ParamsOf<O extends Operation> = { readonly [N in NamesIn<O['path']>]: string };

type QueryIn<O extends Operation> = O extends { readonly query: infer Q } ? Q : unknown;

export type QueryNameOf<O extends Operation> = keyof QueryIn<O> & string;

type RequiredIn<Q> = {
  [K in keyof Q]: Q[K] extends { readonly required: true } ? K : never;
}[keyof Q];

type ParameterValue<P> = P extends { readonly schema: { readonly enum: readonly (infer V)[] } }
  ? V
  : P extends { readonly schema: { readonly type: 'integer' | 'number' } }
    ? number
    : P extends { readonly schema: { readonly type: 'boolean' } }
      ? boolean
      : string;

/** `all` where it changes the shape of the answer. */
type AnsweredApart<Q> = Q extends { readonly all: { readonly sameAnswer: true } } ? never : keyof Q & 'all';

/** Whether every rejection can be asked for, in an answer of another shape. */
export type AllOf<O extends Operation> = AnsweredApart<QueryIn<O>>;

/** As a client gives it. What asks for all rejections has another answer, and is a call of its own. */
export type QueryOf<O extends Operation> = {
  readonly [K in RequiredIn<QueryIn<O>>]: ParameterValue<QueryIn<O>[K]>;
} & {
  readonly [K in Exclude<
    keyof QueryIn<O>,
    RequiredIn<QueryIn<O>> | AnsweredApart<QueryIn<O>>
  >]?: ParameterValue<QueryIn<O>[K]>;
};

type ShapeIn<O extends Operation> = O extends { readonly body: { readonly shape: infer S } } ? S : never;

/** As a client gives it; `never`: there is none. */
export type BodyOf<O extends Operation> = Draft<ShapeIn<O>>;

export type IsBodyOptional<O extends Operation> = O extends { readonly body: { readonly optional: true } }
  ? true
  : false;

/** What the handler is given: it checks values, and those bodies whose first rule comes before the shape, on its own. */
export type ServedBody<O extends Operation> = O extends { readonly body: { readonly unchecked: true } }
  ? unknown
  : BodyOf<O> | (IsBodyOptional<O> extends true ? undefined : never);

export type ServedQuery<O extends Operation> = { readonly [K in QueryNameOf<O>]?: string };

/** `undefined`: the answer is a stream, or there is none. */
export type AnswerOf<O extends Operation> = O['success'] extends { readonly answer: infer S }
  ? Answer<S>
  : undefined;

type OtherStatuses<O extends Operation> = O['success'] extends { readonly also: infer M } ? keyof M : never;

/** A dry run stores nothing, so that what would be 201 is 200. */
type DryStatus<O extends Operation> = 'dryRun' extends QueryNameOf<O> ? 200 : never;

/** Of answers; what a rejection has is its code's. */
export type StatusOf<O extends Operation> = O['success']['status'] | OtherStatuses<O> | DryStatus<O>;

import type { IncomingHttpHeaders } from 'node:http';
import type { Shape } from '../../core/contract/shape.ts';
import type { Permission } from '../../core/model/permission.ts';
import type { Tenant } from '../../core/model/tenant.ts';
import type { RejectionCode } from '../../core/rejections/catalogue.ts';
import type { Rejection } from '../../core/rejections/rejection.ts';
import type { Principal } from '../access/principal.ts';
import type { Caller } from '../admission/admission.ts';
import type { TenantStore } from '../store/store.ts';

export interface QueryParameter {
  readonly description: string;
  readonly schema: Readonly<Record<string, unknown>>;
  readonly required?: true;
}

export interface RouteBody {
  readonly shape: Shape;
  /** Deployment, job, network and volume writes also take YAML (decisions §1). */
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
  /** X-Tenant-ID must be sent (spec §5, recommendation reads). */
  | 'header'
  /** X-Tenant-ID must be sent and be a UUID (spec §5, claim release). */
  | 'header-uuid'
  /** `{tenant}` in the path is one more assertion. */
  | 'path'
  /** The route is about the platform as a whole. */
  | 'platform';

/** A route as data: the server, the OpenAPI document and the credential matrix of the tests are made from it. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** With `{name}` parameters, as in the OpenAPI document. */
  readonly path: string;
  readonly summary: string;
  readonly tag: string;
  readonly permission: Permission | readonly Permission[];
  readonly tenant: TenantSource;
  readonly query?: Readonly<Record<string, QueryParameter>>;
  readonly body?: RouteBody;
  /** Codes of its own, beside those that every route shares. */
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
  /** The answer lasts as long as its reader, or a command, does: it counts as a stream. Absent: never. */
  readonly lasts?: (headers: IncomingHttpHeaders) => boolean;
  readonly handle: (request: RouteRequest) => Promise<Reply> | Reply;
}

export interface RouteRequest {
  readonly principal: Principal;
  readonly tenant: Tenant;
  readonly store: TenantStore;
  readonly caller: Caller;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly headers: IncomingHttpHeaders;
  readonly body: unknown;
  readonly requestId: string;
  /** A signal that is aborted when the client goes away, or its credential ends: the reason is the rejection then. */
  readonly departure: () => AbortSignal;
  /** Counts as this many more requests of the credential: for work that grows with what is asked. */
  readonly charge: (requests: number) => void;
}

/** A body that is JSON already. */
export class JsonText {
  readonly text: string;

  constructor(text: string) {
    this.text = text;
  }
}

export interface JsonReply {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A body that is sent piece by piece; `write` answers false when the reader is slow, and then `drained` is awaited. */
export interface StreamReply {
  readonly status: number;
  readonly contentType: string;
  readonly stream: (sink: StreamSink) => Promise<void> | void;
}

export interface StreamSink {
  write(text: string): boolean;
  drained(): Promise<void>;
  /** Before so many bytes are kept for the reader; false: it has to come back when it has read other things. */
  hold(bytes: number): boolean;
  readonly signal: AbortSignal;
}

export type Reply = JsonReply | StreamReply | Rejection;

export function route(definition: Route): Route {
  return definition;
}

export const LIST_QUERY: Readonly<Record<string, QueryParameter>> = {
  limit: {
    description: 'Entries per page.',
    schema: { type: 'integer', minimum: 1, maximum: 1000, default: 500 },
  },
  cursor: { description: 'Where the next page starts; from the Link header.', schema: { type: 'string' } },
};

import type { IncomingHttpHeaders } from 'node:http';
import type { Tenant } from '../../core/model/tenant.ts';
import type { Operation } from '../../core/operations/operation.ts';
import type { Rejection } from '../../core/rejections/rejection.ts';
import type { Principal } from '../access/principal.ts';
import type { Caller } from '../admission/admission.ts';
import type { TenantStore } from '../store/store.ts';

/** An operation of the table, with what answers it. */
export interface Route extends Operation {
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

export function serve(operation: Operation, handle: Route['handle']): Route {
  return { ...operation, handle };
}

/** Does this answer last as long as its reader, or a command, does? */
export function lasts({ lasts: when }: Operation, { accept }: IncomingHttpHeaders): boolean {
  return when === 'always' || (when === 'as-events' && accept?.includes('text/event-stream') === true);
}

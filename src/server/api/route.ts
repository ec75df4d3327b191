import type { IncomingHttpHeaders } from 'node:http';
import type { WebSocket } from 'ws';
import type { Tenant } from '../../core/model/tenant.ts';
import type {
  AllOf,
  AnswerOf,
  Operation,
  ParamsOf,
  ServedBody,
  ServedQuery,
  StatusOf,
} from '../../core/operations/operation.ts';
import type { Exactly } from '../../core/schema/shape.ts';
import type { Rejection, RejectionRecord } from '../../core/rejections/rejection.ts';
import type { Principal } from '../access/principal.ts';
import type { Answering, Caller } from '../writes/admission.ts';
import type { TenantStore } from '../store/store.ts';
import type { SharedPiece } from './shared-piece.ts';

interface RequestContext {
  readonly principal: Principal;
  readonly tenant: Tenant;
  readonly store: TenantStore;
  readonly caller: Caller;
  readonly headers: IncomingHttpHeaders;
  readonly requestId: string;
  /** A signal that is aborted when the client goes away, or its credential ends: the reason is the rejection then. */
  readonly departure: () => AbortSignal;
  /** A rejection as the client is told. */
  readonly words: (rejection: Rejection) => RejectionRecord;
  /** Counts as this many more requests of the credential: for work that grows with what is asked. */
  readonly charge: (requests: number) => void;
  /** Of a write: sends what `writeReply` says, with the revision of the commit, before the handler returns. Absent: a read. */
  readonly answering?: Answering;
}

/** Any request, before it is known which operation it is for. */
export interface RouteRequest extends RequestContext {
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly body: unknown;
}

/** A request for the operation: parameters, query and body are those of the table. */
export interface RequestFor<O extends Operation> extends RequestContext {
  readonly params: ParamsOf<O>;
  readonly query: ServedQuery<O>;
  readonly body: ServedBody<O>;
}

/** A body that is JSON already, of an answer of this type. */
export class JsonText<A> {
  declare protected readonly of: (same: A) => A;
  readonly text: string;
  #bytes = -1;

  constructor(text: string) {
    this.text = text;
  }

  /** Of the text in UTF-8; one that is sent again and again is measured once. */
  get bytes(): number {
    if (this.#bytes < 0) this.#bytes = Buffer.byteLength(this.text);
    return this.#bytes;
  }
}

interface SentJson {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface JsonReply<A, S extends number = 200> extends SentJson {
  readonly status: S;
  readonly body: Exactly<A> | JsonText<A>;
}

/** A body that is sent piece by piece; `write` answers false when the reader is slow, and then `drained` is awaited. */
export interface StreamReply {
  readonly status: 200;
  readonly contentType: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly stream: (sink: StreamSink) => Promise<void> | void;
}

export interface StreamSink {
  write(piece: string | Uint8Array): boolean;
  /** The same of what many readers get, for less. */
  writeShared(piece: SharedPiece): boolean;
  drained(): Promise<void>;
  /** Before so many bytes are kept for the reader; false: it has to come back when it has read other things. */
  hold(bytes: number): boolean;
  readonly signal: AbortSignal;
}

/** All that is refused in a document that was only tried. */
export class Rejections {
  readonly status = 200;
  readonly rejections: readonly Rejection[];

  constructor(rejections: readonly Rejection[]) {
    this.rejections = rejections;
  }
}

/** A client at the other end of a WebSocket. */
export interface SocketClient {
  readonly connection: WebSocket;
  /** A rejection as the client is told. */
  readonly words: (rejection: Rejection) => RejectionRecord;
  /** Aborted when the client goes away, or its credential ends: the reason is the rejection then. */
  readonly departure: AbortSignal;
}

/** The connection is handed over. */
export interface SocketReply {
  readonly status: 101;
  readonly converse: (client: SocketClient) => Promise<void>;
}

/** Any reply, when it no longer matters to which operation. */
export type Reply = SentJson | StreamReply | SocketReply | Rejections | Rejection;

type SocketReplyTo<O extends Operation> = O extends { readonly socket: string } ? SocketReply : never;

type StreamReplyTo<O extends Operation> = O['success'] extends { readonly media: readonly string[] }
  ? StreamReply
  : never;

type RejectionsOf<O extends Operation> = AllOf<O> extends never ? never : Rejections;

/** What the table says of the operation: its statuses with its answer, exactly; a stream where it has one; a rejection. */
export type ReplyTo<O extends Operation> =
  | JsonReply<AnswerOf<O>, StatusOf<O>>
  | StreamReplyTo<O>
  | RejectionsOf<O>
  | SocketReplyTo<O>
  | Rejection;

export type Handler<O extends Operation> = (request: RequestFor<O>) => Promise<ReplyTo<O>> | ReplyTo<O>;

/** An operation of the table, with what answers it. */
export interface Route extends Operation {
  readonly handle: (request: RouteRequest) => Promise<Reply> | Reply;
  /** Nothing is done before its one commit, which can prove what it was judged by (`CommitProof`). */
  readonly isProvable?: true;
}

/** The only way to a route: its handler takes what the operation says, and answers as it says. */
export function serve<O extends Operation>(operation: O, handle: Handler<O>): Route;
export function serve(operation: Operation, handle: Route['handle']): Route {
  return { ...operation, handle };
}

/** Of a write that stops where it would do more than its commit does. */
export function provable(route: Route): Route {
  return { ...route, isProvable: true };
}

/** Does this answer last as long as its reader, or a command, does? */
export function lasts({ lasts: when }: Operation, { accept }: IncomingHttpHeaders): boolean {
  return when === 'always' || (when === 'as-events' && accept?.includes('text/event-stream') === true);
}

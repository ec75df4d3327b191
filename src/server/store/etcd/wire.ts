/** gRPC status codes that the adapter distinguishes. */
export const CODE = {
  ok: 0,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  outOfRange: 11,
  internal: 13,
  unavailable: 14,
  unauthenticated: 16,
} as const;

/** A call that did not succeed. `sent` is false only when it is certain that etcd has not begun with the request. */
export class WireError extends Error {
  override readonly name = 'WireError';
  readonly code: number;
  readonly sent: boolean;
  constructor(code: number, message: string, sent: boolean) {
    super(message);
    this.code = code;
    this.sent = sent;
  }
}

export interface CallHeaders {
  /** The member refuses the call, or ends the stream, while it knows of no leader. */
  readonly requireLeader: boolean;
  readonly token?: string | undefined;
}

export interface DuplexHandlers {
  onMessage(bytes: Buffer): void;
  /** Called once; nothing follows. */
  onEnd(error: WireError): void;
}

export interface Duplex {
  /** No handler is called after this. */
  close(): void;
}

export interface TlsOptions {
  readonly ca?: Buffer;
  readonly cert?: Buffer;
  readonly key?: Buffer;
  /** The name to expect in the certificate when it is not the endpoint's host. */
  readonly serverName?: string;
}

/** The connection to one member. It connects on the first call and again, with back-off, after a loss. */
export interface Wire {
  readonly endpoint: string;
  /** `connectMs`: how long it may take to be connected, where that is not so yet; absent: all of the time. */
  unary(
    path: string,
    request: Buffer,
    headers: CallHeaders,
    timeoutMs: number,
    connectMs?: number,
  ): Promise<Buffer>;
  /** A stream both ways of which the adapter sends one request. */
  duplex(path: string, request: Buffer, headers: CallHeaders, handlers: DuplexHandlers): Duplex;
  close(): void;
}

import {
  type ChannelCredentials,
  Client,
  credentials,
  Metadata,
  status as STATUS,
  type StatusObject,
} from '@grpc/grpc-js';

/** gRPC status codes that the adapter distinguishes. */
export const CODE = {
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  outOfRange: 11,
  unavailable: 14,
  unauthenticated: 16,
} as const;

/** A call that did not succeed. `sent` is false only when it is certain that no byte of the request left. */
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
  send(bytes: Buffer): void;
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
  unary(path: string, request: Buffer, headers: CallHeaders, timeoutMs: number): Promise<Buffer>;
  duplex(path: string, headers: CallHeaders, handlers: DuplexHandlers): Duplex;
  close(): void;
}

// etcd ends a connection that pings more often than every 5 s (--grpc-keepalive-min-time); a timer may fire a
// millisecond early, so the interval stays a little above it. Pings without a call are refused by etcd.
const KEEPALIVE_INTERVAL_MS = 5_100;
const KEEPALIVE_TIMEOUT_MS = 3_000;
const MAX_ANSWER_BYTES = 256 * 1024 * 1024;
const FLOW_CONTROL_WINDOW_BYTES = 4 * 1024 * 1024;

const same = (bytes: Buffer): Buffer => bytes;

function metadataOf(headers: CallHeaders): Metadata {
  const metadata = new Metadata();
  if (headers.requireLeader) metadata.set('hasleader', 'true');
  if (headers.token !== undefined) metadata.set('token', headers.token);
  return metadata;
}

/**
 * Whether grpc-js may have handed the request to a connection. It says so only in words; anything not known to be
 * from before that point counts as sent, because a commit wrongly reported as not applied would be applied twice.
 */
function wasSent(code: number, details: string): boolean {
  if (code === CODE.unavailable) return !/^(No connection established|Name resolution failed)/.test(details);
  if (code === CODE.deadlineExceeded) {
    return !/(Waiting for LB pick|waiting for name resolution|waiting for metadata filters)$/.test(details);
  }
  return true;
}

function wireErrorOf(status: Pick<StatusObject, 'code' | 'details'>): WireError {
  return new WireError(status.code, status.details, wasSent(status.code, status.details));
}

function credentialsOf(tls: TlsOptions | undefined): ChannelCredentials {
  if (!tls) return credentials.createInsecure();
  return credentials.createSsl(tls.ca ?? null, tls.key ?? null, tls.cert ?? null);
}

/** `http://host:port`, `https://host:port` or `host:port`. */
export function addressOf(endpoint: string): {
  readonly address: string;
  readonly secure: boolean | undefined;
} {
  const match = /^(?:(https?):\/\/)?([^/\s]+:\d+)\/?$/.exec(endpoint);
  if (!match?.[2]) throw new Error(`etcd endpoint "${endpoint}" is not http(s)://host:port`);
  return { address: match[2], secure: match[1] === undefined ? undefined : match[1] === 'https' };
}

export function openWire(endpoint: string, tls: TlsOptions | undefined): Wire {
  const { address, secure } = addressOf(endpoint);
  const client = new Client(
    address,
    credentialsOf(secure === false ? undefined : secure ? (tls ?? {}) : tls),
    {
      'grpc.keepalive_time_ms': KEEPALIVE_INTERVAL_MS,
      'grpc.keepalive_timeout_ms': KEEPALIVE_TIMEOUT_MS,
      'grpc.keepalive_permit_without_calls': 0,
      'grpc.initial_reconnect_backoff_ms': 100,
      'grpc.max_reconnect_backoff_ms': 1_000,
      'grpc.max_receive_message_length': MAX_ANSWER_BYTES,
      'grpc.use_local_subchannel_pool': 1,
      'grpc.enable_http_proxy': 0,
      'grpc.enable_retries': 0,
      'grpc.service_config_disable_resolution': 1,
      'grpc-node.flow_control_window': FLOW_CONTROL_WINDOW_BYTES,
      ...(tls?.serverName === undefined ? {} : { 'grpc.ssl_target_name_override': tls.serverName }),
    },
  );

  return {
    endpoint,
    unary(path, request, headers, timeoutMs) {
      return new Promise((resolve, reject) => {
        client.makeUnaryRequest(
          path,
          same,
          same,
          request,
          metadataOf(headers),
          { deadline: Date.now() + timeoutMs },
          (error, answer) => {
            if (error) reject(wireErrorOf(error));
            else if (answer) resolve(answer);
            else reject(new WireError(CODE.unavailable, 'empty answer', true));
          },
        );
      });
    },
    duplex(path, headers, handlers) {
      const call = client.makeBidiStreamRequest(path, same, same, metadataOf(headers));
      let open = true;
      call.on('data', (bytes: Buffer) => {
        if (open) handlers.onMessage(bytes);
      });
      // 'status' follows every outcome; 'error' needs a listener or it would be thrown.
      call.on('error', () => {});
      call.on('status', (status: StatusObject) => {
        if (!open) return;
        open = false;
        handlers.onEnd(
          status.code === STATUS.OK
            ? new WireError(CODE.unavailable, 'stream ended', true)
            : wireErrorOf(status),
        );
      });
      return {
        send: (bytes) => {
          if (open) call.write(bytes);
        },
        close: () => {
          open = false;
          call.cancel();
        },
      };
    },
    close: () => client.close(),
  };
}

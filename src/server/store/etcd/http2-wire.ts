import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  constants,
  type OutgoingHttpHeaders,
} from 'node:http2';
import { runningMs, RunningTimeout } from '../../clock.ts';
import { Connection } from './connection.ts';
import { frame, Unframer } from './framing.ts';
import {
  type CallHeaders,
  CODE,
  type Duplex,
  type DuplexHandlers,
  type TlsOptions,
  type Wire,
  WireError,
} from './wire.ts';

type Answered = Readonly<Record<string, string | string[] | number | undefined>>;

function headersOf(path: string, headers: CallHeaders, timeoutMs: number | undefined): OutgoingHttpHeaders {
  const out: OutgoingHttpHeaders = {
    ':method': 'POST',
    ':path': path,
    'content-type': 'application/grpc',
    te: 'trailers',
  };
  if (timeoutMs !== undefined) out['grpc-timeout'] = `${Math.max(1, Math.ceil(timeoutMs))}m`;
  if (headers.requireLeader) out['hasleader'] = 'true';
  if (headers.token !== undefined) out['token'] = headers.token;
  return out;
}

/** The message is percent-encoded; one that is not well formed is shown as it came. */
function messageOf(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

interface CallHandlers {
  onMessage(bytes: Buffer): void;
  /** Undefined: etcd ended the call with status OK. */
  onEnd(error: WireError | undefined): void;
}

/** Speaks gRPC on one stream of a session. `onEnd` is called once, also when the session breaks. */
function startCall(
  session: ClientHttp2Session,
  headers: OutgoingHttpHeaders,
  request: Buffer,
  more: boolean,
  handlers: CallHandlers,
): ClientHttp2Stream {
  const stream = session.request(headers);
  const unframer = new Unframer();
  let status: Answered | undefined;
  let failure: string | undefined;
  let refusal: WireError | undefined;
  const takeStatus = (answered: Answered): void => {
    if (answered['grpc-status'] !== undefined) status = answered;
    else if (answered[':status'] !== undefined && answered[':status'] !== 200)
      failure = `HTTP status ${String(answered[':status'])}`;
  };
  stream.on('response', takeStatus);
  stream.on('trailers', takeStatus);
  stream.on('data', (chunk: Buffer) => {
    try {
      unframer.push(chunk, (bytes) => handlers.onMessage(bytes));
    } catch (error) {
      if (!(error instanceof WireError)) throw error;
      refusal = error;
      stream.close(constants.NGHTTP2_CANCEL);
    }
  });
  stream.on('error', (error) => {
    failure = error.message;
  });
  stream.on('close', () => {
    if (refusal) handlers.onEnd(refusal);
    else if (!status) {
      // A refused stream guarantees that the peer did not process it.
      const sent = stream.rstCode !== constants.NGHTTP2_REFUSED_STREAM;
      handlers.onEnd(new WireError(CODE.unavailable, failure ?? 'the connection was closed', sent));
    } else if (Number(status['grpc-status']) === CODE.ok) handlers.onEnd(undefined);
    else {
      const text = messageOf(String(status['grpc-message'] ?? ''));
      handlers.onEnd(new WireError(Number(status['grpc-status']), text, true));
    }
  });
  if (more) stream.write(frame(request));
  else stream.end(frame(request));
  return stream;
}

/** A request that could not even be handed to the session. */
function notSent(error: unknown): WireError {
  if (error instanceof WireError) return error;
  return new WireError(CODE.unavailable, error instanceof Error ? error.message : String(error), false);
}

/**
 * gRPC over node:http2. A general gRPC library costs more processor time per call than etcd's answer itself, and does
 * not tell whether a failed request was sent, on which `certainlyNotApplied` depends.
 */
export function openWire(endpoint: string, tls: TlsOptions | undefined): Wire {
  const connection = new Connection(endpoint, tls);

  function unary(
    path: string,
    request: Buffer,
    headers: CallHeaders,
    timeoutMs: number,
    connectMs = timeoutMs,
  ): Promise<Buffer> {
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
    const begun = runningMs();
    let stream: ClientHttp2Stream | undefined;
    let expired = false;
    const expire = (): void => {
      expired = true;
      // The last of several attempts may have had no time to fail: what ended the one before says more than that.
      const late = stream
        ? `no answer within ${Math.round(timeoutMs)} ms`
        : `no connection within ${Math.round(connectMs)} ms: ${connection.problem}`;
      reject(new WireError(CODE.deadlineExceeded, late, stream !== undefined));
      stream?.close(constants.NGHTTP2_CANCEL);
      connection.probe();
    };
    const session = connection.ready;
    let timer = new RunningTimeout(expire, session ? timeoutMs : connectMs);
    const fail = (error: WireError): void => {
      timer.clear();
      reject(error);
    };
    const send = (over: ClientHttp2Session): void => {
      let answer: Buffer | undefined;
      try {
        stream = startCall(over, headersOf(path, headers, timeoutMs), request, false, {
          onMessage: (bytes) => {
            answer = bytes;
          },
          onEnd: (error) => {
            connection.streamClosed();
            if (error) fail(error);
            else if (!answer) fail(new WireError(CODE.internal, 'etcd answered without a message', true));
            else {
              timer.clear();
              resolve(answer);
            }
          },
        });
        connection.streamOpened();
      } catch (error) {
        fail(notSent(error));
      }
    };
    const sendConnected = (made: ClientHttp2Session): void => {
      if (expired) return;
      timer.clear();
      timer = new RunningTimeout(expire, Math.max(1, timeoutMs - (runningMs() - begun)));
      send(made);
    };
    if (session) send(session);
    else connection.connected().then(sendConnected, (error) => fail(notSent(error)));
    return promise;
  }

  function duplex(path: string, request: Buffer, headers: CallHeaders, handlers: DuplexHandlers): Duplex {
    let stream: ClientHttp2Stream | undefined;
    let open = true;
    const end = (error: WireError): void => {
      if (!open) return;
      open = false;
      handlers.onEnd(error);
    };
    const send = (session: ClientHttp2Session): void => {
      if (!open) return;
      try {
        stream = startCall(session, headersOf(path, headers, undefined), request, true, {
          onMessage: (bytes) => {
            if (open) handlers.onMessage(bytes);
          },
          onEnd: (error) => {
            connection.streamClosed();
            end(error ?? new WireError(CODE.unavailable, 'etcd ended the stream', true));
          },
        });
        connection.streamOpened();
      } catch (error) {
        end(notSent(error));
      }
    };
    connection.connected().then(send, (error) => end(notSent(error)));
    return {
      close: () => {
        open = false;
        stream?.close(constants.NGHTTP2_CANCEL);
      },
    };
  }

  return { endpoint, unary, duplex, close: () => connection.close() };
}

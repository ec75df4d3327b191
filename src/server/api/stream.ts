import type { ServerResponse } from 'node:http';
import { CREDENTIAL_CHECK_MS } from './admit-request.ts';
import type { ApiReply, ApiRequest } from './request-parts.ts';
import type { StreamReply } from './route.ts';
import type { SharedPiece } from './shared-piece.ts';

/** A reader that does not read is dropped rather than buffered for. */
const DRAIN_TIMEOUT_MS = 30_000;

export async function sendStream<R extends ApiReply>(
  request: ApiRequest,
  reply: R,
  result: StreamReply,
  credentialHolds: () => boolean,
  hold: (bytes: number) => boolean,
): Promise<R> {
  const response = reply.raw;
  const controller = new AbortController();
  const check = setInterval(() => {
    if (!credentialHolds()) response.destroy();
  }, CREDENTIAL_CHECK_MS);
  const leave = (): void => {
    clearInterval(check);
    controller.abort();
  };
  response.once('close', leave);
  // The client went while the answer was prepared: what was taken for it is given back by the stream itself.
  if (response.destroyed || response.closed) leave();
  reply.hijack();
  response.writeHead(result.status, {
    ...result.headers,
    'content-type': result.contentType,
    'cache-control': 'no-store',
    'x-accel-buffering': 'no',
    'x-request-id': request.id,
    'x-content-type-options': 'nosniff',
  });
  response.flushHeaders();
  request.raw.socket.setTimeout(0);
  const drained = () =>
    new Promise<void>((resolve) => {
      const { socket } = response;
      // The answer itself does not know of what went straight to its socket.
      const full = response.writableNeedDrain
        ? response
        : socket?.writableNeedDrain === true
          ? socket
          : undefined;
      if (full === undefined || controller.signal.aborted) return resolve();
      const timer = setTimeout(() => response.destroy(), DRAIN_TIMEOUT_MS);
      const done = () => {
        clearTimeout(timer);
        full.off('drain', done);
        controller.signal.removeEventListener('abort', done);
        resolve();
      };
      full.once('drain', done);
      controller.signal.addEventListener('abort', done, { once: true });
    });
  try {
    await result.stream({
      write: (piece) => !controller.signal.aborted && response.write(piece),
      writeShared: (piece) => !controller.signal.aborted && writeShared(response, piece),
      drained,
      hold,
      signal: controller.signal,
    });
  } finally {
    response.end();
  }
  return reply;
}

/**
 * Straight to the socket, in one write. The answer would write head, bytes and end of the chunk one by one and join them again. Where it has no socket yet
 * (an answer before it on the same connection is not over), no chunks (HTTP/1.0), or holds pieces of its own until the end of this turn, it does so.
 */
function writeShared(response: ServerResponse, { bytes, chunk }: SharedPiece): boolean {
  const { socket } = response;
  if (
    socket === null ||
    !socket.writable ||
    !response.chunkedEncoding ||
    !response.headersSent ||
    response.writableLength !== socket.writableLength
  )
    return response.write(bytes);
  return socket.write(chunk);
}

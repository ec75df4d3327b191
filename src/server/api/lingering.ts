import type { ServerResponse } from 'node:http';

/** By then a client has heard that it was refused, or does not listen. */
const LINGER_MS = 2000;

/**
 * Of an answer that ends its connection while the request is still being sent: what comes is read and dropped for a while. Were the
 * connection closed at once, as Node does, the next bytes of the client would be answered with a reset, and it would see that it cannot send
 * instead of why it should not.
 */
export function lingers({ req, socket }: ServerResponse): void {
  if (socket === null || req.complete) return;
  socket.destroySoon = () => {
    req.resume();
    const late = setTimeout(() => socket.destroy(), LINGER_MS);
    socket.once('close', () => clearTimeout(late));
    socket.end();
  };
}

import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Something else than a control plane, or one with troubles of its own, for as long as it is asked. */
export async function answeringAs(
  answer: (to: ServerResponse, request: IncomingMessage) => void,
  ask: (url: string) => Promise<void>,
): Promise<void> {
  const other = createServer((request, to) => answer(to, request)).listen(0, '127.0.0.1');
  await once(other, 'listening');
  try {
    await ask(`http://127.0.0.1:${(other.address() as AddressInfo).port}`);
  } finally {
    other.closeAllConnections();
    other.close();
  }
}

import { once } from 'node:events';
import { createServer } from 'node:net';
import { Failure } from '../failure.ts';

export async function isFree(port: number, host = '127.0.0.1'): Promise<boolean> {
  const server = createServer();
  try {
    server.listen({ port, host, exclusive: true });
    await once(server, 'listening');
    return true;
  } catch {
    return false;
  } finally {
    server.close();
  }
}

/** The remembered port if it is free, else the first free one from the usual port on. */
export async function choosePort(
  remembered: number | undefined,
  usual: number,
  host?: string,
): Promise<number> {
  const candidates = [
    ...(remembered === undefined ? [] : [remembered]),
    ...Array.from({ length: 100 }, (_, index) => usual + index),
  ];
  for (const port of candidates) if (await isFree(port, host)) return port;
  throw new Failure(`no free port from ${usual} to ${usual + 99}`);
}

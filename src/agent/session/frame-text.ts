import type { RawData } from 'ws';

/** Messages come as one buffer, unless a socket was told otherwise. */
export function textOfFrame(data: RawData): string {
  return Buffer.isBuffer(data) ? data.toString('utf8') : '';
}

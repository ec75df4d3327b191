import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { HANDED_ON_HEADER } from '../../core/protocol/agent-protocol.ts';
import type { ControlPlaneRecord } from '../store/records.ts';
import { connected } from './peer-dial.ts';

/** The upgrade as it came: the other control plane checks the node's token. */
function headOf(request: IncomingMessage, host: string): string {
  const lines = [`${request.method} ${request.url} HTTP/1.1`];
  const { rawHeaders } = request;
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index] ?? '';
    lines.push(`${name}: ${name.toLowerCase() === 'host' ? host : (rawHeaders[index + 1] ?? '')}`);
  }
  lines.push(`${HANDED_ON_HEADER}: 1`);
  return `${lines.join('\r\n')}\r\n\r\n`;
}

/** Proxies a connection to the control plane that it is meant for, with back-pressure. */
export async function proxyUpgrade(
  request: IncomingMessage,
  socket: Duplex,
  head: Buffer,
  to: ControlPlaneRecord,
): Promise<void> {
  socket.on('error', () => socket.destroy());
  try {
    const url = new URL(to.url);
    const onward = await connected(url, to.certificate);
    onward.on('error', () => onward.destroy());
    onward.once('close', () => socket.destroy());
    socket.once('close', () => onward.destroy());
    onward.write(headOf(request, url.host));
    if (head.length > 0) onward.write(head);
    onward.pipe(socket);
    socket.pipe(onward);
  } catch {
    socket.end('HTTP/1.1 503 Service Unavailable\r\nRetry-After: 1\r\nConnection: close\r\n\r\n');
  }
}

import { createSocket } from 'node:dgram';
import { createServer } from 'node:http';
import { createServer as createTcp } from 'node:net';
import { WebSocketServer } from 'ws';
import { textOfFrame } from '../../../src/agent/session/frame-text.ts';

/** What runs in an instance: says its name over HTTP, WebSocket, TCP and UDP. */
const [name = 'n'] = process.argv.slice(2);
const said = (text: string): string => `${name} ${text}\n`;

const http = createServer((request, response) => {
  if (request.url === '/stream') {
    // In two parts, the second when the first has been seen for a while.
    response.write(said('first'));
    setTimeout(() => response.end(said('last')), 1_000);
    return;
  }
  const proto = String(request.headers['x-forwarded-proto']);
  request.resume().on('end', () => response.end(said(`${request.method} ${request.url} ${proto}`)));
});
new WebSocketServer({ server: http }).on('connection', (socket) => {
  socket.on('error', () => {});
  socket.on('message', (data) => socket.send(said(textOfFrame(data))));
});
http.listen(8080);
createTcp((socket) => socket.on('error', () => {}).end(said('tcp'))).listen(5432);
const udp = createSocket('udp4').on('message', (_data, { port, address }) => {
  udp.send(said('udp'), port, address);
});
udp.bind(5353);

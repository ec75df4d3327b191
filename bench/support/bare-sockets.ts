import type { AddressInfo } from 'node:net';
import { WebSocketServer } from 'ws';

/** What the sockets alone cost: takes every message, parses it and forgets it. Prints its port; ends with its parent. */
const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false });
server.on('connection', (socket) => {
  socket.on('message', (data: Buffer) => void JSON.parse(data.toString()));
});
server.on('listening', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
process.on('disconnect', () => process.exit(0));
process.on('SIGTERM', () => process.exit(0));

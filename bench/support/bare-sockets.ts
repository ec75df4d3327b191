import type { AddressInfo } from 'node:net';
import { type WebSocket, WebSocketServer } from 'ws';

/**
 * What the sockets alone cost: takes every message, parses it and forgets it, and gives each socket a sign of life every heartbeat (ms, the first
 * argument). Prints its port; ends with its parent.
 */
const HEARTBEAT_MS = Number(process.argv[2] ?? 5000);
const SWEEP_MS = 1000;
const signs = new Map<WebSocket, number>();
setInterval(() => {
  const now = performance.now();
  for (const [socket, at] of signs) {
    if (now - at < HEARTBEAT_MS) continue;
    signs.set(socket, now);
    socket.pong();
  }
}, SWEEP_MS);
const server = new WebSocketServer({ host: '127.0.0.1', port: 0, perMessageDeflate: false });
server.on('connection', (socket) => {
  signs.set(socket, performance.now());
  socket.on('close', () => signs.delete(socket));
  socket.on('message', (data: Buffer) => void JSON.parse(data.toString()));
});
server.on('listening', () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));
process.on('disconnect', () => process.exit(0));
process.on('SIGTERM', () => process.exit(0));

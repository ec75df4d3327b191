import { once } from 'node:events';
import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { type WebSocket, WebSocketServer } from 'ws';
import { systemClock } from '../../clock.ts';
import { Inflow } from './inflow.ts';

const PULSE = Buffer.from([0x8a, 0x80, 1, 2, 3, 4]);

const server = createServer();
const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false });
let client: Socket;
let accepted: WebSocket;
/** Parts as they came in. */
let parts: Buffer[];
let arrived: () => void;

beforeEach(async () => {
  parts = [];
  arrived = () => undefined;
  const opened = new Promise<WebSocket>((resolve) => {
    server.once('upgrade', (request, raw, head) =>
      sockets.handleUpgrade(request, raw, head, (socket) => {
        // eslint-disable-next-line no-new -- It listens for as long as the connection lasts.
        new Inflow(socket, raw, systemClock, () => undefined);
        raw.on('data', (part: Buffer) => {
          parts.push(part);
          arrived();
        });
        resolve(socket);
      }),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  client = connect((server.address() as AddressInfo).port, '127.0.0.1');
  client.setNoDelay();
  client.write(
    'GET / HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n',
  );
  accepted = await opened;
});
afterEach(async () => {
  client.destroy();
  server.close();
  await once(server, 'close');
});

/** Read by the server before the next part is sent. */
async function send(part: Buffer): Promise<void> {
  const read = new Promise<void>((resolve) => (arrived = resolve));
  client.write(part);
  await read;
}

it('takes a pulse for what it is: alone, together with another, and between the parts of a message', async () => {
  let pongs = 0;
  accepted.on('pong', () => (pongs += 1));
  const message = once(accepted, 'message');
  await send(PULSE);
  expect(pongs).toBe(1);
  await send(Buffer.concat([PULSE, PULSE]));
  // `he` and `llo`, not masked by anything; a control frame may come between.
  await send(Buffer.from([0x01, 0x82, 0, 0, 0, 0, 0x68, 0x65]));
  await send(PULSE);
  await send(Buffer.from([0x80, 0x83, 0, 0, 0, 0, 0x6c, 0x6c, 0x6f]));
  expect(String((await message)[0])).toBe('hello');
  expect(pongs).toBe(4);
});

it('takes the same bytes within a message for its text', async () => {
  let pongs = 0;
  accepted.on('pong', () => (pongs += 1));
  const message = once(accepted, 'message');
  const text = Buffer.from('pulses');
  const mask = PULSE.subarray(0, 4).map((byte, at) => byte ^ (text[at] ?? 0));
  await send(Buffer.concat([Buffer.from([0x81, 0x86]), mask]));
  const masked = text.map((byte, at) => byte ^ (mask[at % 4] ?? 0));
  expect([...masked.subarray(0, 2)]).toEqual([0x8a, 0x80]);
  await send(Buffer.from(masked));
  expect(String((await message)[0])).toBe('pulses');
  expect([pongs, parts.at(-1)?.length]).toEqual([0, 6]);
});

it('leaves the end of a connection to the WebSocket', async () => {
  const closed = once(accepted, 'close');
  await send(Buffer.from([0x88, 0x82, 0, 0, 0, 0, 0x03, 0xe8]));
  client.end();
  expect((await closed)[0]).toBe(1000);
});

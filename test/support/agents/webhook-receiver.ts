/** A receiver of webhooks as a process: what it takes is on the disk before it answers, a line for each request. */
import { createHmac } from 'node:crypto';
import { fsyncSync, openSync, writeSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

const [port = '0', file = '', key = ''] = process.argv.slice(2);
const taken = openSync(file, 'a');

const server = createServer((request, response) => {
  void text(request).then((body) => {
    const { 'webhook-id': id, 'webhook-timestamp': at, 'webhook-signature': sent } = request.headers;
    const mac = createHmac('sha256', key)
      .update(`${String(id)}.${String(at)}.${body}`)
      .digest('base64');
    const isSigned = String(sent).split(' ').includes(`v1,${mac}`);
    writeSync(taken, `${JSON.stringify({ path: request.url, id, isSigned, event: JSON.parse(body) })}\n`);
    fsyncSync(taken);
    response.writeHead(204).end();
  });
});
server.listen(Number(port), '127.0.0.1', () =>
  console.log(`listening on ${(server.address() as AddressInfo).port}`),
);

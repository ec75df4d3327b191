import { Agent, createServer, request as ask } from 'node:http';
import type { AddressInfo } from 'node:net';

/** What a router of Node would cost: the cell from the token, the request piped. Takes names and URLs of cells; prints its port. */
const cells = new Map(Object.entries(JSON.parse(process.argv[2] ?? '{}') as Record<string, string>));
const agent = new Agent({ keepAlive: true, maxSockets: 256 });
const NAMED = /^Bearer berth_pat_tok[0-9a-z]{26}([a-z][a-z0-9]{0,7})_/;

const server = createServer((request, response) => {
  const url = cells.get(NAMED.exec(request.headers.authorization ?? '')?.[1] ?? '');
  if (url === undefined) {
    response.writeHead(503).end();
    return;
  }
  const { hostname, port } = new URL(url);
  const { method, url: path, headers } = request;
  const onward = ask({ agent, hostname, port, method, path, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(response);
  });
  onward.on('error', () => response.destroy());
  request.pipe(onward);
});
server.listen(0, '127.0.0.1', () => console.log((server.address() as AddressInfo).port));
process.on('disconnect', () => process.exit());

import { readFileSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, request } from 'node:https';

/**
 * Between nodes and an authority of ACME: refuses the next orders for a host as public ones do that have had enough.
 * `POST /refuse/<count>/<host>` says how many, `GET /refused` tells how many were.
 */
const [listen = '', target = '', cert = '', key = ''] = process.argv.slice(2);
const PROBLEM = {
  type: 'urn:ietf:params:acme:error:rateLimited',
  detail: 'too many certificates already issued for this host',
  status: 429,
};
let toRefuse = 0;
let refused = 0;
let limited = '';

/** The orders of others, such as renewals, go on. */
function isFor(host: string, body: string): boolean {
  const { payload } = JSON.parse(body) as { readonly payload: string };
  return Buffer.from(payload, 'base64url').toString().includes(`"${host}"`);
}

const [host = '', port = ''] = listen.split(':');
createServer({ cert: readFileSync(cert), key: readFileSync(key) }, (incoming, response) => {
  answer(incoming, response).catch(() => response.destroy());
}).listen(Number(port), host);

async function answer(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
  const { url = '/', method, headers } = incoming;
  if (url.startsWith('/refuse/')) {
    const [, , count, host = ''] = url.split('/');
    [toRefuse, limited, refused] = [Number(count), host, 0];
    response.end();
    return;
  }
  if (url === '/refused') {
    response.end(String(refused));
    return;
  }
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  const body = Buffer.concat(chunks);
  if (url === '/order-plz' && toRefuse > 0 && isFor(limited, body.toString())) {
    toRefuse -= 1;
    refused += 1;
    response.writeHead(429, { 'content-type': 'application/problem+json', 'retry-after': '30' });
    response.end(JSON.stringify(PROBLEM));
    return;
  }
  const [targetHost, targetPort] = target.split(':');
  const passed = request(
    { host: targetHost, port: targetPort, path: url, method, headers, rejectUnauthorized: false },
    (theirs) => {
      response.writeHead(theirs.statusCode ?? 502, theirs.headers);
      theirs.pipe(response);
    },
  );
  passed.on('error', () => response.destroy());
  passed.end(body);
}

import { readFileSync } from 'node:fs';
import { createServer, request } from 'node:https';

/**
 * Between nodes and an authority of ACME: refuses the next orders as public ones do that have had enough. `POST /refuse/<count>` says how
 * many, `GET /refused` tells how many were.
 */
const [listen = '', target = '', cert = '', key = ''] = process.argv.slice(2);
const PROBLEM = {
  type: 'urn:ietf:params:acme:error:rateLimited',
  detail: 'too many certificates already issued for this host',
  status: 429,
};
let toRefuse = 0;
let refused = 0;

const [host = '', port = ''] = listen.split(':');
createServer({ cert: readFileSync(cert), key: readFileSync(key) }, (incoming, response) => {
  const { url = '/', method, headers } = incoming;
  if (url.startsWith('/refuse/')) {
    toRefuse = Number(url.slice('/refuse/'.length));
    refused = 0;
    response.end();
    return;
  }
  if (url === '/refused') {
    response.end(String(refused));
    return;
  }
  if (url === '/order-plz' && toRefuse > 0) {
    toRefuse -= 1;
    refused += 1;
    incoming.resume();
    response.writeHead(429, { 'content-type': 'application/problem+json', 'retry-after': '30' });
    response.end(JSON.stringify(PROBLEM));
    return;
  }
  const [targetHost, targetPort] = target.split(':');
  const passed = request(
    { host: targetHost, port: targetPort, path: url, method, headers, rejectUnauthorized: false },
    (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    },
  );
  passed.on('error', () => response.destroy());
  incoming.pipe(passed);
}).listen(Number(port), host);

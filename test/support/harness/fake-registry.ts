import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  createServer as createHttpServer,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { createServer as createNetServer, type Server as NetServer, type Socket } from 'node:net';

export interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly authorization: string | undefined;
}

/**
 * A registry on loopback that misbehaves on demand: the first component of the repository says how, as in
 * `GET /v2/hang/manifests/1`. What it needs besides (`realm`, `location`, `token`) can be set at any time.
 */
export interface FakeRegistry {
  readonly host: string;
  readonly port: number;
  readonly seen: SeenRequest[];
  /** Every byte that arrived, to search for credentials. */
  received(): string;
  realm: string;
  location: string;
  token: string;
  /** What `/v2/` answers: 200 as a registry does, or 404 as a proxy does whose registry is away. */
  baseStatus: number;
  stop(): Promise<void>;
}

export interface FakeRegistryOptions {
  readonly tls?: { readonly key: string; readonly cert: string };
}

const MANIFEST = 'application/vnd.oci.image.manifest.v1+json';
const INDEX = 'application/vnd.oci.image.index.v1+json';
export const FAKE_MANIFEST = JSON.stringify({
  schemaVersion: 2,
  mediaType: MANIFEST,
  config: {},
  layers: [],
});
export const FAKE_DIGEST = `sha256:${createHash('sha256').update(FAKE_MANIFEST).digest('hex')}`;

type Behaviour = (request: IncomingMessage, response: ServerResponse, fake: FakeRegistry) => void;

const status =
  (code: number, body = '', headers: Readonly<Record<string, string>> = {}): Behaviour =>
  (_, response) => {
    response.writeHead(code, headers).end(body);
  };

const manifest = (body: string, digest: string, type = MANIFEST): Behaviour =>
  status(200, body, { 'content-type': type, 'docker-content-digest': digest });

const registryError = (code: number, name: string): Behaviour =>
  status(code, JSON.stringify({ errors: [{ code: name }] }), { 'content-type': 'application/json' });

const drip: Behaviour = (_, response) => {
  response.writeHead(200, { 'content-type': MANIFEST, 'content-length': '100000' });
  const timer = setInterval(() => response.write(' '), 50);
  response.on('close', () => clearInterval(timer));
};

const dripHeaders: Behaviour = (request) => {
  const { socket } = request;
  socket.write('HTTP/1.1 200 OK\r\n');
  const timer = setInterval(() => socket.write(`x-${Math.random()}: 1\r\n`), 50);
  socket.on('close', () => clearInterval(timer));
};

const challenge =
  (
    scheme: (fake: FakeRegistry) => string,
    accepts: (header: string, fake: FakeRegistry) => boolean,
  ): Behaviour =>
  (request, response, fake) => {
    const granted = accepts(request.headers.authorization ?? '', fake);
    const next = granted
      ? manifest(FAKE_MANIFEST, FAKE_DIGEST)
      : status(401, '', { 'www-authenticate': scheme(fake) });
    next(request, response, fake);
  };

const BEHAVIOURS: Readonly<Record<string, Behaviour>> = {
  ok: manifest(FAKE_MANIFEST, FAKE_DIGEST),
  nodigest: status(200, FAKE_MANIFEST, { 'content-type': MANIFEST }),
  untyped: status(200, FAKE_MANIFEST, {
    'content-type': 'application/json',
    'docker-content-digest': FAKE_DIGEST,
  }),
  otherdigest: manifest(FAKE_MANIFEST, `sha256:${'1'.repeat(64)}`),
  baddigest: manifest(FAKE_MANIFEST, 'sha256:../../etc/passwd'),
  foreign: manifest(
    JSON.stringify({ schemaVersion: 2, config: {}, layers: [{ urls: ['http://127.0.0.1:1/'] }] }),
    FAKE_DIGEST,
    INDEX,
  ),
  html: status(200, '<html></html>', { 'content-type': 'text/html' }),
  huge: (request, response, fake) =>
    manifest('x'.repeat(10_000_000), FAKE_DIGEST, INDEX)(request, response, fake),
  missing: registryError(404, 'MANIFEST_UNKNOWN'),
  norepo: registryError(404, 'NAME_UNKNOWN'),
  plain404: status(404, 'no such page'),
  nohead: (request, response, fake) => {
    const next = request.method === 'HEAD' ? status(405) : manifest(FAKE_MANIFEST, FAKE_DIGEST);
    next(request, response, fake);
  },
  s500: status(500),
  s503: registryError(503, 'UNAVAILABLE'),
  s429: status(429),
  forbidden: status(403),
  hang: () => {},
  reset: (request) => request.socket.resetAndDestroy(),
  garbage: (request) => request.socket.end('SSH-2.0-OpenSSH_9.2\r\n'),
  bigheaders: (_, response) => {
    response.writeHead(200, { 'x-big': 'x'.repeat(64 * 1024) }).end();
  },
  drip,
  dripheaders: dripHeaders,
  redirect: (request, response, fake) =>
    status(307, '', { location: fake.location })(request, response, fake),
  loop: (request, response, fake) =>
    status(302, '', { location: request.url ?? '' })(request, response, fake),
  bearer: challenge(
    (fake) => `Bearer realm="${fake.realm}",service="fake",scope="repository:victim/all:push,pull"`,
    (header, fake) => header === `Bearer ${fake.token}`,
  ),
  basic: challenge(
    () => 'Basic realm="fake"',
    (header) => header.startsWith('Basic '),
  ),
  basicredirect: (request, response, fake) => {
    const granted = request.headers.authorization !== undefined;
    const next = granted
      ? status(307, '', { location: fake.location })
      : status(401, '', { 'www-authenticate': 'Basic realm="fake"' });
    next(request, response, fake);
  },
  oddauth: challenge(
    () => 'Negotiate',
    () => false,
  ),
  token: (request, response, fake) =>
    status(200, JSON.stringify({ token: fake.token }))(request, response, fake),
  badtoken: status(200, JSON.stringify({ token: 'a\r\nx-injected: 1' })),
};

export async function startFakeRegistry(options: FakeRegistryOptions = {}): Promise<FakeRegistry> {
  const chunks: Buffer[] = [];
  const sockets = new Set<Socket>();
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    const { method = '', url = '' } = request;
    fake.seen.push({ method, url, authorization: request.headers.authorization });
    chunks.push(Buffer.from(`${method} ${url}\n${request.rawHeaders.join('\n')}\n`));
    if (url === '/v2/') return void response.writeHead(fake.baseStatus).end('{}');
    const name = url.split('/')[url.startsWith('/v2/') ? 2 : 1]?.split('?', 1)[0] ?? '';
    (BEHAVIOURS[name] ?? status(404))(request, response, fake);
  };
  const server: Server =
    options.tls === undefined ? createHttpServer(answer) : createHttpsServer(options.tls, answer);
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const port = portOf(server);
  const fake: FakeRegistry = {
    host: `127.0.0.1:${port}`,
    port,
    seen: [],
    received: () => Buffer.concat(chunks).toString('latin1'),
    realm: `http://127.0.0.1:${port}/token`,
    location: '',
    token: 'token-1',
    baseStatus: 200,
    stop: () => stopServer(server, sockets),
  };
  return fake;
}

/** Listens on loopback, IPv4 and IPv6, on one port, and should hear nothing. */
export interface Decoy {
  readonly port: number;
  connections: number;
  bytes: number;
  stop(): Promise<void>;
}

export async function startDecoy(): Promise<Decoy> {
  const sockets = new Set<Socket>();
  const listen = async (host: string, port: number): Promise<NetServer> => {
    const server = createNetServer((socket) => {
      decoy.connections += 1;
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('data', (data) => {
        decoy.bytes += data.length;
      });
    });
    server.listen(port, host);
    await once(server, 'listening');
    return server;
  };
  // 0.0.0.0 covers 127.0.0.0/8 and the machine's own addresses.
  const decoy: Decoy = { port: 0, connections: 0, bytes: 0, stop: async () => {} };
  const four = await listen('0.0.0.0', 0);
  const six = await listen('::1', portOf(four));
  const stop = async (): Promise<void> => {
    await Promise.all([stopServer(four, sockets), stopServer(six, sockets)]);
  };
  return Object.assign(decoy, { port: portOf(four), stop });
}

function portOf(server: NetServer): number {
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('not listening on a port');
  return address.port;
}

async function stopServer(server: NetServer, sockets: ReadonlySet<Socket>): Promise<void> {
  const closed = once(server, 'close');
  server.close();
  for (const socket of sockets) socket.destroy();
  await closed;
}

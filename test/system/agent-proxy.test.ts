import { execFile } from 'node:child_process';
import { createHash, X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { WebSocket, WebSocketServer } from 'ws';
import { readConfig } from '../../src/agent/config.ts';
import { dialer } from '../../src/agent/session/dial.ts';
import { Pins } from '../../src/agent/session/pins.ts';
import { reach } from '../../src/agent/session/reach.ts';
import { makeCertificate, type TestCertificate } from '../support/harness/authority.ts';
import { selfSigned } from '../support/harness/certificates.ts';
import { BERTH } from '../support/harness/program.ts';

/** An agent that gets out through a proxy alone, and one whose control plane has a certificate of a company's authority. */

const folder = mkdtempSync(join(tmpdir(), 'berth-proxy-'));
const servers: Server[] = [];
const asked: string[] = [];
let certificate: TestCertificate;
let server: string;
let proxy: string;

async function listening(made: Server): Promise<number> {
  servers.push(made);
  await new Promise<void>((resolve) => made.listen(0, '127.0.0.1', resolve));
  return (made.address() as AddressInfo).port;
}

/** `user:secret` only; nothing but `CONNECT`. */
function connectProxy(): Server {
  const wanted = `Basic ${Buffer.from('user:secret').toString('base64')}`;
  return createServer((_request, response) => response.writeHead(405).end()).on(
    'connect',
    ({ url = '', headers }, socket) => {
      asked.push(url);
      if (headers['proxy-authorization'] !== wanted) {
        socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
        return;
      }
      if (url.startsWith('forbidden.')) {
        socket.end('HTTP/1.1 403 Forbidden\r\n\r\n');
        return;
      }
      const onward = connect(Number(url.split(':')[1]), '127.0.0.1', () => {
        socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
        onward.pipe(socket).pipe(onward);
      });
      for (const end of [socket, onward]) end.on('error', () => onward.destroy());
    },
  );
}

beforeAll(async () => {
  certificate = await makeCertificate(folder);
  const { cert, key } = certificate;
  const plane = createTlsServer({ cert, key }, (_request, response) => response.end('ok'));
  const other = createTlsServer(selfSigned(['IP:127.0.0.1']), (_request, response) => response.end('ok'));
  // By its name, as the certificate has it.
  server = `https://localhost:${await listening(plane)}`;
  impostor = `https://127.0.0.1:${await listening(other)}`;
  proxy = `127.0.0.1:${await listening(connectProxy())}`;
});
let impostor: string;
afterAll(() => {
  for (const one of servers) one.close();
  rmSync(folder, { recursive: true, force: true });
});

function wayOf(...flags: readonly string[]) {
  const reading = readConfig(['--data-dir', folder, ...flags], {}, 'n1');
  if (reading.kind !== 'config') throw new Error(JSON.stringify(reading));
  return { ca: [certificate.ca.toString()], proxyFor: reading.config.proxyFor };
}

interface Ended {
  readonly status: number;
  readonly out: string;
  readonly err: string;
}

function agent(...words: readonly string[]): Promise<Ended> {
  return new Promise((resolve) => {
    const child = execFile(BERTH, ['agent', ...words, '--data-dir', folder], (_error, out, err) =>
      resolve({ status: child.exitCode ?? -1, out, err }),
    );
  });
}

describe('through a proxy', () => {
  it('the control plane is reached by CONNECT, proven by its certificate', async () => {
    asked.length = 0;
    const way = wayOf('--proxy', `http://user:secret@${proxy}`);
    expect(await reach(server, new Pins(undefined, [], way))).toMatchObject({ ok: true });
    expect(asked).toEqual([new URL(server).host]);
    expect(await reach(impostor, new Pins(undefined, [], way))).toMatchObject({
      ok: false,
      problem: expect.stringMatching('self-signed'),
    });
    const pinned = new Pins(`sha256:${'0'.repeat(64)}`, [], way);
    expect(await reach(server, pinned)).toMatchObject({
      ok: false,
      problem: expect.stringMatching('shows another certificate'),
    });
  });

  it('a session is a WebSocket over it, with TLS or without', async () => {
    const way = wayOf('--proxy', `http://user:secret@${proxy}`);
    const plain = createServer();
    const secure = createTlsServer({ cert: certificate.cert, key: certificate.key });
    for (const [made, scheme] of [
      [plain, 'http'],
      [secure, 'https'],
    ] as const) {
      const sockets = new WebSocketServer({ server: made });
      sockets.on('connection', (socket) => socket.on('message', (data) => socket.send(data)));
      const url = new URL(`${scheme}://localhost:${await listening(made)}/agent/v1/session`);
      const socket = new WebSocket(url.href.replace(/^http/, 'ws'), {
        createConnection: dialer(url, new Pins(undefined, [], way)),
      });
      const echoed = await new Promise<string>((resolve, reject) => {
        socket.once('error', reject);
        socket.once('open', () => socket.send('hello'));
        socket.once('message', (data: Buffer) => resolve(data.toString()));
      });
      expect(echoed).toBe('hello');
      socket.terminate();
      sockets.close();
      expect(asked.at(-1)).toBe(url.host);
    }
  });

  it('what it refuses is said in its words, without the password', async () => {
    const problem = async (url: string, through: string): Promise<string> => {
      const reached = await reach(url, new Pins(undefined, [], wayOf('--proxy', through)));
      return reached.ok ? 'reached' : reached.problem;
    };
    expect(await problem(server, `user:wrong@${proxy}`)).toMatch(
      /wants to know who asks \(407\): give --proxy/,
    );
    expect(await problem(server, `user:wrong@${proxy}`)).not.toContain('wrong@');
    expect(await problem('https://forbidden.example', `user:secret@${proxy}`)).toContain(
      'it opens no connection to forbidden.example:443: 403 Forbidden',
    );
    expect(await problem(server, new URL(server).host)).toMatch(/the proxy localhost:\d+: it/);
    expect(await problem(server, '127.0.0.1:1')).toContain('ECONNREFUSED');
  });

  it('variables name it, except for the hosts of NO_PROXY and for this machine', () => {
    const through = (environment: Record<string, string>, url: string): unknown => {
      const reading = readConfig([], environment, 'n1');
      return reading.kind === 'config' ? reading.config.proxyFor(new URL(url)) : reading;
    };
    const environment = { HTTPS_PROXY: 'http://p:1', http_proxy: 'q:2', NO_PROXY: 'example.org' };
    expect(through(environment, 'https://berth.example.com')).toEqual({ host: 'p', port: 1 });
    expect(through(environment, 'http://berth.example.com')).toEqual({ host: 'q', port: 2 });
    expect(through(environment, 'https://berth.example.org')).toBeUndefined();
    expect(through(environment, 'https://127.0.0.1:7600')).toBeUndefined();
    expect(
      through({ ...environment, BERTH_AGENT_PROXY: 'off' }, 'https://berth.example.com'),
    ).toBeUndefined();
    // For other programs of the machine, as far as the agent is concerned; what is meant for it has to be right.
    const other = 'socks5://user:secret@p:1';
    expect(through({ HTTPS_PROXY: other }, 'https://a.example')).toBeUndefined();
    expect(readConfig([], { HTTPS_PROXY: other, http_proxy: 'http://u:1%@p' }, 'n1')).toMatchObject({
      config: {
        warnings: ['HTTPS_PROXY', 'HTTP_PROXY'].map((name) =>
          expect.stringMatching(`^${name} is not used: expected the address of an HTTP proxy(?!.*secret)`),
        ),
      },
    });
    expect(readConfig(['--proxy', other], {}, 'n1')).toEqual({
      kind: 'problem',
      message: expect.stringMatching(/^--proxy: expected the address of an HTTP proxy(?!.*secret)/),
    });
  });
});

describe('another certificate', () => {
  const digest = (pem: Buffer): string =>
    `sha256:${createHash('sha256').update(new X509Certificate(pem).raw).digest('hex')}`;
  const identity = join(folder, 'identity.json');

  it('is trusted by --ca-file, which has to be one', async () => {
    writeFileSync(join(folder, 'empty.pem'), 'nothing');
    expect(await agent('--check', '--server', server, '--ca-file', join(folder, 'empty.pem'))).toMatchObject({
      status: 1,
      err: expect.stringMatching('--ca-file .*empty.pem: it has no certificate in PEM form'),
    });
    expect((await agent('--check', '--server', server, '--ca-file', join(folder, 'none.pem'))).err).toMatch(
      'ENOENT',
    );
  });

  it('is known from now on by berth agent repin, once a connection has proven it', async () => {
    expect((await agent('repin')).err).toContain('holds no identity of a node');
    const known = { server, nodeName: 'n1', nodeToken: 'berth_node_x', caDigest: digest(certificate.cert) };
    const stored = JSON.stringify({ ...known, anchors: ['QUJD'] });
    writeFileSync(identity, stored);
    expect((await agent('repin')).err).toContain('--ca-digest sha256:… is needed');
    const wrong = await agent('repin', '--ca-digest', `sha256:${'1'.repeat(64)}`);
    expect(wrong).toMatchObject({
      status: 1,
      err: expect.stringMatching(/shows another certificate[\s\S]*Nothing was changed/),
    });
    expect(readFileSync(identity, 'utf8')).toBe(stored);
    const authority = digest(certificate.ca);
    // The authority is not sent along, so its digest proves nothing.
    expect((await agent('repin', '--ca-digest', authority)).status).toBe(1);
    const right = await agent('repin', '--ca-digest', known.caDigest);
    expect(right).toMatchObject({
      status: 0,
      out: `node n1 knows ${server} by ${known.caDigest} from now on\n`,
    });
    expect(JSON.parse(readFileSync(identity, 'utf8'))).toEqual(known);
  });
});

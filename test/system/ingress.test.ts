import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { directoryId } from '../../src/agent/ingress/certificate-files.ts';
import type { MeshMap } from '../../src/core/protocol/agent-protocol.ts';
import { eventually } from '../support/eventually.ts';
import { LONG_TIER } from '../support/fault-tier.ts';
import { browserOutside } from '../support/harness/browser.ts';
import { selfSigned } from '../support/harness/certificates.ts';
import { IngressNode, type SharedFiles, VIRTUAL } from '../support/harness/ingress-stage.ts';
import { Lan } from '../support/harness/lan.ts';
import { ensurePackages } from '../support/harness/packages.ts';
import { Pebble, spkiPin } from '../support/harness/pebble.ts';

/** The way in: real Caddy, nftables and ACME on two machines of a tenant, with a client beside them. No engine is needed for it. */

const AUTHORITY = '172.30.0.250';
/** Renewed in the last third. Two thirds are more than a busy machine takes from one certificate to the next. */
const VALIDITY_S = 36;
const SECOND_VIRTUAL = '10.211.0.2';
const SECRET = selfSigned(['DNS:secret.example.com']);

type Route = NonNullable<MeshMap['ingress']>[number];

const shared: SharedFiles = new Map();
const folder = mkdtempSync(join(tmpdir(), 'berth-ingress-test-'));
let lan: Lan;
let pebble: Pebble;
let one: IngressNode;
let two: IngressNode;
let first: string;
let second: string;
let root: string;

function http(change: Partial<Route>): Route {
  return { deployment: 'web', protocol: 'http', address: VIRTUAL, port: 8080, tls: 'off', ...change };
}

const PLAIN = http({ host: 'plain.example.com' });
const AUTO = http({ host: 'shop.example.com', tls: 'auto' });
const ROUTES: readonly Route[] = [
  PLAIN,
  AUTO,
  http({ host: 'shop.example.com', path: '/api', tls: 'auto', deployment: 'api', address: SECOND_VIRTUAL }),
  http({ host: 'secret.example.com', tls: 'secret', certificate: '1' }),
  http({ deployment: 'db', protocol: 'tcp', listen: 5432, port: 5432 }),
  http({ deployment: 'dns', protocol: 'udp', listen: 5300, port: 5353 }),
];
let map: MeshMap;

function give(change: Partial<MeshMap>): void {
  map = { ...map, ...change };
  for (const node of [one, two]) node.take(map);
}

function servedBy(...addresses: readonly string[]): Pick<MeshMap, 'services'> {
  const of = (those: readonly string[]) => those.map((address) => ({ id: address, node: 'one', address }));
  return {
    services: [
      { name: 'web', address: VIRTUAL, instances: of(addresses) },
      { name: 'api', address: SECOND_VIRTUAL, instances: of([second]) },
    ],
  };
}

/** What a client beside the nodes gets. */
function outside(...argv: readonly string[]): Promise<string> {
  const [command, args] = lan.outside(argv);
  return new Promise((resolve) =>
    execFile(command, args, { timeout: 20_000 }, (error, stdout, stderr) =>
      resolve(error === null ? stdout : `${stdout}${stderr}failed: ${error.code}`),
    ),
  );
}

function curl(url: string, node: IngressNode, ...flags: readonly string[]): Promise<string> {
  const { hostname, protocol } = new URL(url);
  const to = `${hostname}:${protocol === 'https:' ? 443 : 80}:${node.address}`;
  return outside('curl', '-sS', '-m', '10', '--cacert', root, '--resolve', to, ...flags, url);
}

beforeAll(async () => {
  ensurePackages(['caddy', 'curl', 'nftables', 'iproute2', 'openssl', 'chromium-headless-shell']);
  lan = new Lan();
  one = new IngressNode(lan, 'one', 0, shared);
  two = new IngressNode(lan, 'two', 1, shared);
  one.joins(two);
  two.joins(one);
  lan.outside(['true']);
  // Hosts are at the second node: the first, which issues, is reached through it.
  const inside = (argv: readonly string[]) => lan.outside(argv);
  pebble = new Pebble({ inside, address: AUTHORITY, hostsAt: two.address, validitySeconds: VALIDITY_S });
  shared.set('certificate/web/secret.example.com', `${SECRET.cert}${SECRET.key}`);
  [first, second] = await Promise.all([one.instance('a'), one.instance('b')]);
  await Promise.all([pebble.ready(), one.startAgent(), two.startAgent()]);
  root = join(folder, 'root.pem');
  writeFileSync(root, await pebble.root());
  map = {
    type: 'mesh',
    prefix: '10.210.0.0/16',
    virtualPrefix: '10.211.0.0/16',
    nodes: [one, two].map(({ name, address, index }) => ({
      name,
      publicKey: '',
      port: 51820,
      addresses: [address],
      subnet: `10.210.${index}.0/24`,
    })),
    ingressNodes: ['one', 'two'],
    acme: { directory: pebble.directory, caPem: pebble.caPem, email: 'ops@example.com' },
    ingress: ROUTES,
    ...servedBy(first),
  };
  // The authority asks the second node as soon as the first has ordered.
  two.take(map);
  await two.reports('plain.example.com', 'serving');
  one.take(map);
}, 60_000);
afterAll(async () => {
  await Promise.all([one.remove(), two.remove()]);
  pebble.stop();
  lan.remove();
  rmSync(folder, { recursive: true, force: true });
});

describe('the ingress', () => {
  it('gets a certificate through another node, and both serve it', async () => {
    const { certificate } = await one.reports('shop.example.com', 'serving');
    expect(certificate?.issuer).toContain('Pebble');
    expect((await two.reports('shop.example.com', 'serving')).certificate).toEqual(certificate);
    for (const node of [one, two]) {
      expect(await curl('https://shop.example.com/x?y', node)).toBe('a GET /x?y https\n');
      expect(
        await curl(
          'http://shop.example.com/x',
          node,
          '-o',
          '/dev/null',
          '-w',
          '%{http_code} %{redirect_url}',
        ),
      ).toBe('308 https://shop.example.com/x');
    }
    const storage = one.run(['find', join(one.dataDir, 'ingress'), '-name', '*.key', '-printf', '%m\n']);
    expect(new Set(storage.trim().split('\n'))).toEqual(new Set(['600']));
    expect(statSync(join(one.dataDir, 'ingress')).mode & 0o777).toBe(0o700);
  });

  it('leads hosts and paths to deployments, with a certificate of a secret and without one', async () => {
    for (const node of [one, two]) {
      expect(await curl('http://plain.example.com/p', node)).toBe('a GET /p http\n');
      expect(await curl('https://shop.example.com/api/v1', node)).toBe('b GET /api/v1 https\n');
      expect(await curl('https://shop.example.com/apis', node)).toBe('a GET /apis https\n');
      expect(await curl('http://other.example.com/', node)).toContain('No deployment answers');
    }
    const trusted = join(folder, 'secret.pem');
    writeFileSync(trusted, SECRET.cert);
    expect(await curl('https://secret.example.com/s', one, '--cacert', trusted)).toBe('a GET /s https\n');
    const line = SECRET.key.split('\n')[1] ?? '';
    await expect(inFiles(one, line)).resolves.toBe('');
  });

  it('gives ports to deployments, on every node, and says which one it cannot have', async () => {
    for (const { address } of [one, two]) {
      expect(await outside('bash', '-c', `exec 3<>/dev/tcp/${address}/5432; cat <&3`)).toBe('a tcp\n');
      expect(await outside('bash', '-c', `exec 3<>/dev/udp/${address}/5300; echo x >&3; head -n 1 <&3`)).toBe(
        'a udp\n',
      );
    }
    const taken = listening(one, 7000);
    try {
      await eventually(
        () => one.run(['ss', '-Hltn']),
        (text) => text.includes(':7000'),
      );
      give({ ingress: [...ROUTES, http({ deployment: 'late', protocol: 'tcp', listen: 7000, port: 5432 })] });
      const late = () => one.routes.find(({ deployment }) => deployment === 'late');
      await eventually(late, (route) => route?.state === 'failed');
      expect(late()?.problem).toContain('tcp port 7000 is in use');
    } finally {
      taken.kill('SIGKILL');
      give({ ingress: ROUTES });
    }
  });

  it('keeps WebSockets open while instances and the agent change, and tries again while there is no instance', async () => {
    give(servedBy(first));
    const loads = () => one.log.split('Caddy was given').length;
    await settled(loads);
    const socket = new OpenSocket(one);
    const [before, pid] = [loads(), one.caddyPid()];
    expect(await socket.echo('one')).toBe('a one');
    give(servedBy(first, second));
    give(servedBy());
    const posted = curl('http://plain.example.com/post', one, '-d', 'x=1');
    setTimeout(() => give(servedBy(second)), 700);
    expect(await posted).toBe('b POST /post http\n');
    expect(await socket.echo('two')).toBe('a two');
    expect(loads()).toBe(before);
    await one.killAgent();
    expect(await curl('http://plain.example.com/alone', one)).toBe('b GET /alone http\n');
    await one.startAgent();
    await one.reports('secret.example.com', 'serving');
    expect(await socket.echo('three')).toBe('a three');
    expect(one.caddyPid()).toBe(pid);
    socket.close();
    const [began = 0, ended = 0] = (
      await curl(
        'http://plain.example.com/stream',
        one,
        '-o',
        '/dev/null',
        '-w',
        '%{time_starttransfer} %{time_total}',
      )
    )
      .split(' ')
      .map(Number);
    expect(ended - began).toBeGreaterThan(0.5);
  });

  it('opens in a browser that trusts the authority alone', async () => {
    const pin = spkiPin(await pebble.intermediate());
    const browser = await browserOutside(lan, folder, {
      host: 'shop.example.com',
      address: two.address,
      pin,
    });
    try {
      const page = await browser.newPage();
      const answer = await page.goto('http://shop.example.com/');
      expect(page.url()).toBe('https://shop.example.com/');
      expect(await answer?.text()).toBe('b GET / https\n');
    } finally {
      await browser.close();
    }
  });

  it('starts Caddy again when it was killed, and a certificate that is due is renewed and shared', async () => {
    // Before one is revoked, which then has most of its time left.
    const held = (await one.reports('shop.example.com', 'serving')).certificate?.notAfter ?? '';
    await eventually(
      () => Date.now(),
      (now) => now > Date.parse(held) - (VALIDITY_S * 1000) / 4,
      60_000,
    );
    process.kill(one.caddyPid(), 'SIGKILL');
    await eventually(
      () => one.log,
      (log) => log.includes('Caddy has ended and is started again'),
    );
    const renewed = () => one.routes.find(({ host }) => host === 'shop.example.com');
    const { certificate } =
      (await eventually(
        'it is renewed and served',
        renewed,
        (route) => route?.state === 'serving' && (route.certificate?.notAfter ?? '') > held,
      )) ?? {};
    await eventually(
      () => two.routes,
      (routes) => routes.some((route) => route.certificate?.notAfter === certificate?.notAfter),
    );
    for (const node of [one, two])
      expect(await curl('https://shop.example.com/', node)).toBe('b GET / https\n');
  });

  it('has a certificate revoked, and serves another with another key, without a failed request', async () => {
    const host = 'shop.example.com';
    await one.reports(host, 'serving');
    const before = await presented(host);
    expect(await pebble.statusOf(before)).toBe('Valid');
    const asking = new Requests(`https://${host}/`, one);
    expect(await two.revoke('plain.example.com')).toContain('serves no certificate of an authority');
    expect(await two.revoke(host)).toEqual({});
    expect(await pebble.statusOf(before)).toBe('Valid');
    // Asked for twice at once, it is done once.
    const [revoked, again] = await Promise.all([one.revoke(host), one.revoke(host)]);
    expect(revoked).toMatchObject({ issuer: expect.stringContaining('Pebble') });
    expect(again).toEqual(revoked);
    expect(await pebble.statusOf(before)).toBe('Revoked');
    for (const node of [one, two]) {
      const after = await eventually(
        `${node.name} serves a certificate with another key`,
        () => presented(host, node),
        (now) => now !== '' && spkiPin(now) !== spkiPin(before),
        90_000,
      );
      expect(await pebble.statusOf(after)).toBe('Valid');
    }
    await one.reports(host, 'serving');
    const { asked, failed } = await asking.end();
    expect([failed, asked > 10]).toEqual([[], true]);
    expect(await inFiles(one, keyLines(before))).toBe('');
  });

  it('serves the next version of a secret within seconds, without a failed request', async () => {
    const host = 'secret.example.com';
    const next = selfSigned([`DNS:${host}`]);
    const trusted = join(folder, 'both.pem');
    writeFileSync(trusted, `${SECRET.cert}${next.cert}`);
    const asking = new Requests(`https://${host}/`, one, '--cacert', trusted);
    const pid = one.caddyPid();
    shared.set(`certificate/web/${host}`, `${next.cert}${next.key}`);
    const changedMs = performance.now();
    give({ ingress: ROUTES.map((route) => (route.host === host ? { ...route, certificate: '2' } : route)) });
    for (const node of [one, two])
      await eventually(
        `${node.name} serves the next version`,
        () => presented(host, node),
        (now) => now.trim() === next.cert.trim(),
        20_000,
      );
    process.stdout.write(
      `the next version is served after ${Math.round(performance.now() - changedMs)} ms\n`,
    );
    const { asked, failed } = await asking.end();
    expect([failed, asked > 3, one.caddyPid()]).toEqual([[], true, pid]);
  });

  it('says that the authority does not find the host here, while others are served', async () => {
    await pebble.pointTo('elsewhere.example.com', AUTHORITY);
    give({ ingress: [...ROUTES, http({ host: 'elsewhere.example.com', tls: 'auto' })] });
    const { problem } = await one.reports('elsewhere.example.com', 'failed');
    expect(problem).toContain('urn:ietf:params:acme:error:connection');
    expect(await curl('https://shop.example.com/', one)).toBe('b GET / https\n');
    give({ ingress: ROUTES });
  });

  it('tells that the authority has had enough, and leaves it alone for a while', async () => {
    await pebble.refuse(1, 'limited.example.com');
    give({ ingress: [...ROUTES, http({ host: 'limited.example.com', tls: 'auto' })] });
    const { problem } = await one.reports('limited.example.com', 'failed');
    expect(problem).toContain('urn:ietf:params:acme:error:rateLimited');
    expect(problem).toContain('too many certificates already issued');
    expect(await curl('https://shop.example.com/', one)).toBe('b GET / https\n');
    expect(await pebble.refused()).toBe(1);
    if (LONG_TIER) await one.reports('limited.example.com', 'serving', 120_000);
    give({ ingress: ROUTES });
  });

  it('waits for a port that is in use, for a Caddy that lives and for room on the disk, and says so', async () => {
    const three = new IngressNode(lan, 'three', 2, shared);
    const taken = listening(three, 80);
    try {
      await eventually(
        () => three.run(['ss', '-Hltn']),
        (text) => text.includes(':80'),
      );
      await three.startAgent();
      three.take({ ...map, ingressNodes: ['three'], ingress: [PLAIN] });
      expect((await three.reports('plain.example.com', 'failed')).problem).toContain('tcp port 80 is in use');
      taken.kill('SIGKILL');
      await three.reports('plain.example.com', 'serving');
      // Killed again and again it is started less and less often, which is told.
      const ended: string[] = [];
      while (ended.length < 3 && ended.at(-1)?.includes('ends again and again') !== true) {
        process.kill(three.caddyPid(), 'SIGKILL');
        ended.push((await three.reports('plain.example.com', 'failed')).problem ?? '');
        await three.reports('plain.example.com', 'serving');
      }
      expect(ended.at(-1)).toContain('ends again and again');
      // No room for certificates: neither Caddy nor its log can say so.
      const storage = join(three.dataDir, 'ingress', 'certificates', directoryId(pebble.directory));
      execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=4k', 'none', storage]);
      try {
        const late = http({ host: 'late.example.com', tls: 'auto' });
        three.take({ ...map, ingressNodes: ['three'], ingress: [PLAIN, late] });
        expect((await three.reports('late.example.com', 'failed')).problem).toContain('is full');
      } finally {
        execFileSync('umount', ['-l', storage]);
      }
    } finally {
      taken.kill('SIGKILL');
      await three.remove();
    }
  });
});

/** The certificate that a client is shown. */
async function presented(host: string, node = one): Promise<string> {
  const shown = await outside(
    'bash',
    '-c',
    `openssl s_client -connect ${node.address}:443 -servername ${host} </dev/null 2>/dev/null | openssl x509`,
  );
  return shown.startsWith('-----BEGIN') ? shown : '';
}

/** Of its base64, so that it is found in any file. */
function keyLines(certificate: string): string {
  return certificate.split('\n')[2] ?? '';
}

/**
 * Caddy ends the connections of the configuration before with GOAWAY. One that was opened at that moment is told so before its request is looked at: browsers
 * send it again on another, curl ends with this status.
 */
const NOT_LOOKED_AT = 'failed: 16';

/** Connections one after another, until the end. */
class Requests {
  #ended = false;
  readonly #running: Promise<void>;
  asked = 0;
  readonly failed: string[] = [];

  constructor(url: string, node: IngressNode, ...flags: readonly string[]) {
    this.#running = (async () => {
      while (!this.#ended) {
        let answer = await curl(url, node, ...flags);
        if (answer.includes(NOT_LOOKED_AT)) answer = await curl(url, node, ...flags);
        this.asked += 1;
        if (!answer.includes(' GET / https')) this.failed.push(answer);
      }
    })();
  }

  async end(): Promise<{ readonly asked: number; readonly failed: readonly string[] }> {
    this.#ended = true;
    await this.#running;
    return this;
  }
}

/** What the tests before asked for has reached Caddy: the count is the same for a second. */
async function settled(count: () => number): Promise<void> {
  let [last, since] = [count(), Date.now()];
  await eventually(
    () => {
      if (count() !== last) [last, since] = [count(), Date.now()];
      return Date.now() - since;
    },
    (unchangedMs) => unchangedMs > 1000,
  );
}

/** Files of the agent that hold the text. */
async function inFiles({ dataDir }: IngressNode, text: string): Promise<string> {
  return await new Promise((resolve) =>
    execFile('grep', ['-rlF', '--', text, dataDir], (_error, found) => resolve(found)),
  );
}

function listening(node: IngressNode, port: number): ChildProcess {
  const program = `require('node:net').createServer().listen(${port})`;
  return spawn('/usr/bin/nsenter', [
    `--net=/run/netns/${node.namespace}`,
    '--',
    process.execPath,
    '-e',
    program,
  ]);
}

/** A WebSocket of a client beside the nodes. */
class OpenSocket {
  readonly #child: ChildProcess;
  #said = '';

  constructor({ address }: IngressNode) {
    const program = `const { WebSocket } = require('ws');
      const socket = new WebSocket('ws://${address}/', { headers: { host: 'plain.example.com' } });
      socket.on('message', (data) => process.stdout.write(String(data)));
      socket.on('open', () => process.stdin.on('data', (data) => socket.send(String(data).trim())));
      socket.on('close', () => process.exit(3));`;
    const [command, args] = lan.outside([process.execPath, '-e', program]);
    this.#child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    this.#child.stdout?.on('data', (chunk: Buffer) => (this.#said += chunk.toString()));
  }

  async echo(text: string): Promise<string> {
    this.#said = '';
    this.#child.stdin?.write(`${text}\n`);
    const said = await eventually(
      `an echo of ${text}`,
      () => this.#said,
      (heard) => heard.includes('\n'),
      10_000,
    );
    return said.trim();
  }

  close(): void {
    this.#child.kill('SIGKILL');
  }
}

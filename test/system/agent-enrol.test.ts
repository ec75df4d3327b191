import { Pins } from '../../src/agent/session/pins.ts';
import { execFileSync } from 'node:child_process';
import { createHash, generateKeyPairSync, X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Enrolled, enrol } from '../../src/agent/session/enrol.ts';
import { ensurePackages } from '../support/harness/packages.ts';

let folder: string;

interface Certificate {
  readonly cert: string;
  readonly key: string;
}

function openssl(...args: readonly string[]): void {
  execFileSync('/usr/bin/openssl', args, { cwd: folder, stdio: 'pipe' });
}

function issuer(name: string): Certificate {
  const subject = ['-subj', '/CN=Berth test issuer', '-days', '2', '-nodes'];
  openssl('req', '-x509', '-newkey', 'ed25519', '-keyout', `${name}.key`, '-out', `${name}.crt`, ...subject);
  return read(name);
}

/** Of a host that answers at 127.0.0.1, with an issuer by file name. */
function issued(name: string, by: string, host = 'IP:127.0.0.1'): Certificate {
  writeFileSync(join(folder, 'ext'), `subjectAltName=${host}\n`);
  openssl(
    'req',
    '-newkey',
    'ed25519',
    '-keyout',
    `${name}.key`,
    '-out',
    `${name}.csr`,
    '-subj',
    '/CN=leaf',
    '-nodes',
  );
  const signing = [
    '-CA',
    `${by}.crt`,
    '-CAkey',
    `${by}.key`,
    '-CAcreateserial',
    '-extfile',
    'ext',
    '-days',
    '2',
  ];
  openssl('x509', '-req', '-in', `${name}.csr`, '-out', `${name}.crt`, ...signing);
  return read(name);
}

function read(name: string): Certificate {
  const file = (ending: string): string => readFileSync(join(folder, `${name}.${ending}`), 'utf8');
  return { cert: file('crt'), key: file('key') };
}

function pin({ cert }: Certificate): string {
  return `sha256:${createHash('sha256').update(new X509Certificate(cert).raw).digest('hex')}`;
}

let ca: Certificate;
let otherCa: Certificate;
let leaf: Certificate;
let otherLeaf: Certificate;
let elsewhere: Certificate;

beforeAll(() => {
  ensurePackages(['openssl']);
  folder = mkdtempSync(join(tmpdir(), 'berth-certs-'));
  ca = issuer('ca');
  otherCa = issuer('other-ca');
  leaf = issued('leaf', 'ca');
  otherLeaf = issued('other-leaf', 'other-ca');
  elsewhere = issued('elsewhere', 'ca', 'DNS:elsewhere.test');
});

afterAll(() => rmSync(folder, { recursive: true }));

interface Attempt {
  readonly outcome: Enrolled;
  readonly seen: readonly (string | undefined)[];
}

async function attempt(
  shown: { readonly cert: string; readonly key: string },
  caDigest: string | undefined,
  answers: readonly { readonly status: number; readonly body: object; readonly retryAfter?: string }[] = [
    { status: 201, body: { nodeToken: 'berth_node_x' } },
  ],
): Promise<Attempt> {
  const seen: (string | undefined)[] = [];
  const server: Server = createServer(shown, (request, response) => {
    const answer = answers[Math.min(seen.length, answers.length - 1)];
    seen.push(request.headers.authorization);
    const retry = answer?.retryAfter === undefined ? {} : { 'Retry-After': answer.retryAfter };
    response.writeHead(answer?.status ?? 500, retry).end(JSON.stringify(answer?.body));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const outcome = await enrol({
    servers: [`https://127.0.0.1:${port}`],
    pins: new Pins(caDigest),
    joinToken: 'berth_join_x',
    nodeName: 'n1',
    key: generateKeyPairSync('ed25519').privateKey,
    facts: {
      labels: {},
      capacity: { cpu: 1, memoryBytes: 1 },
      platform: 'linux/amd64',
      engine: { kind: 'docker', version: '1' },
      agentVersion: '1',
    },
  });
  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
  return { outcome, seen };
}

describe('the certificate pin', () => {
  it('accepts the certificate itself, and its issuer', async () => {
    expect((await attempt(leaf, pin(leaf))).outcome.ok).toBe(true);
    const chain = { ...leaf, cert: leaf.cert + ca.cert };
    expect((await attempt(chain, pin(ca))).outcome.ok).toBe(true);
    expect((await attempt(elsewhere, pin(elsewhere))).outcome.ok).toBe(true);
  });

  it.each<readonly [string, () => Certificate, () => string]>([
    ['another certificate', () => otherLeaf, () => pin(leaf)],
    [
      'the pinned issuer shown beside a foreign certificate',
      () => ({ ...otherLeaf, cert: otherLeaf.cert + ca.cert }),
      () => pin(ca),
    ],
    [
      'a chain of another issuer of the same name',
      () => ({ ...otherLeaf, cert: otherLeaf.cert + otherCa.cert }),
      () => pin(ca),
    ],
    [
      'another host of the pinned issuer',
      () => ({ ...elsewhere, cert: elsewhere.cert + ca.cert }),
      () => pin(ca),
    ],
  ])('sends nothing to %s', async (_name, shown, digest) => {
    const { outcome, seen } = await attempt(shown(), digest());
    expect(outcome.ok).toBe(false);
    expect(seen).toEqual([]);
  });

  it('without a pin takes only what the system trusts', async () => {
    const { outcome, seen } = await attempt(leaf, undefined);
    expect(outcome).toMatchObject({ ok: false });
    expect(seen).toEqual([]);
  }, 20_000);
});

describe('registration', () => {
  it('waits as long as it is told, and tries again', async () => {
    const busy = { status: 429, body: { code: 'rate_limited' }, retryAfter: '0' };
    const { outcome, seen } = await attempt(leaf, pin(leaf), [
      busy,
      busy,
      { status: 201, body: { nodeToken: 't' } },
    ]);
    expect(outcome).toMatchObject({ ok: true, identity: { nodeToken: 't', nodeName: 'n1' } });
    expect(seen).toHaveLength(3);
  });

  it('gives up at once when it is refused', async () => {
    const refused = {
      status: 409,
      body: { code: 'node_owned_by_another_tenant', why: 'taken', expected: 'x' },
    };
    const { outcome, seen } = await attempt(leaf, pin(leaf), [refused]);
    expect(outcome).toMatchObject({
      ok: false,
      problem: expect.stringContaining('node_owned_by_another_tenant') as string,
    });
    expect(seen).toHaveLength(1);
  });
});

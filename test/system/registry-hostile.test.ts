import { networkInterfaces } from 'node:os';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type ImageReference, parseImageReference } from '../../src/core/model/image-reference.ts';
import type { TenantId } from '../../src/core/model/ids.ts';
import { SecretValue } from '../../src/core/model/secret-value.ts';
import {
  createImageCheck,
  type ImageCheck,
  type ImageCheckOptions,
} from '../../src/server/registry/check.ts';
import { createDialer, type Dialer, type DialerOptions } from '../../src/server/registry/dialer.ts';
import {
  type Decoy,
  FAKE_DIGEST,
  type FakeRegistry,
  startDecoy,
  startFakeRegistry,
} from '../support/harness/fake-registry.ts';

const SECRET = 'sesame-41d8cd98f00b';
const CREDENTIALS = { username: 'ci', password: new SecretValue(SECRET) };
const SECRET_FORMS = [SECRET, Buffer.from(`ci:${SECRET}`).toString('base64')];

let registry: FakeRegistry;
let other: FakeRegistry;
let decoy: Decoy;
const dialers: Dialer[] = [];

beforeAll(async () => {
  decoy = await startDecoy();
});

beforeEach(async () => {
  [registry, other] = await Promise.all([startFakeRegistry(), startFakeRegistry()]);
  decoy.connections = 0;
  decoy.bytes = 0;
});

afterEach(async () => {
  for (const dialer of dialers.splice(0)) dialer.close();
  await Promise.all([registry.stop(), other.stop()]);
});

afterAll(() => decoy.stop());

function imageCheck(
  dialing: Partial<DialerOptions> = {},
  options: Partial<ImageCheckOptions> = {},
): ImageCheck {
  const dialer = createDialer({ allowPrivate: [registry.host], ...dialing });
  dialers.push(dialer);
  return createImageCheck({
    dialer,
    credentials: async () => CREDENTIALS,
    unreachableAfterMs: 0,
    ...options,
  });
}

function reference(text: string): ImageReference {
  const parsed = parseImageReference(text);
  if (!parsed.ok) throw new Error(`${text}: ${parsed.problem}`);
  return parsed.reference;
}

const ask = (check: ImageCheck, text: string, platforms: readonly string[] = []) =>
  check.check({ tenantId: 'a' as TenantId, reference: reference(text), platforms });

const askFake = (check: ImageCheck, behaviour: string, platforms: readonly string[] = []) =>
  ask(check, `${registry.host}/${behaviour}/x:1`, platforms);

function expectNoSecret(fake: FakeRegistry): void {
  for (const form of SECRET_FORMS) expect(fake.received()).not.toContain(form);
}

const UNREACHABLE = (host: string) => ({
  kind: 'unreachable',
  why: `the registry ${host} gave no usable answer in time; whether it holds the image is not known`,
});

describe('image hosts that lead inside', () => {
  const literals = [
    '127.0.0.1 127.1 127.0.1 127.255.255.254 0.0.0.0 0 0.0 00.0.0.0 0x7f.1 0x7f000001 2130706433',
    '017700000001 0177.0.0.1 0177.1 127.0.0.0x1 0x7f.0x0.0x0.0x1 0300.0250.1.1 3232235777 0xa9fea9fe',
    '2852039166 10.0.0.1 10.1 172.16.0.1 172.31.255.255 192.168.0.1 100.64.0.1 100.127.255.255',
    '169.254.169.254 169.254.1 100.100.100.200 168.63.129.16 192.0.0.192 198.18.0.1 224.0.0.1 239.1.1.1',
    '255.255.255.255 240.0.0.1 192.0.2.1 [::1] [::] [0:0:0:0:0:0:0:1] [::ffff:7f00:1] [::ffff:0:7f00:1]',
    '[::7f00:1] [64:ff9b::7f00:1] [64:ff9b:1::7f00:1] [64:ff9b::a00:1] [64:ff9b::a9fe:a9fe]',
    '[2002:7f00:1::] [2002:a00:1::1] [2002:c0a8:101::] [::ffff:a9fe:a9fe] [fe80::1] [febf::1] [fec0::1]',
    '[fc00::1] [fd00:ec2::254] [fd12:3456::1] [ff02::1] [2001::1] [2001:db8::1] [100::1]',
    '[2001:470::5efe:7f00:1] [::ffff:a00:1] [4000::1]',
  ].flatMap((line) => line.split(' '));

  it.each(literals)('%s is not dialled', async (host) => {
    const check = imageCheck({ allowPrivate: [] });
    expect(await ask(check, `${host}:${decoy.port}/x/y:1`)).toEqual(UNREACHABLE(`${host}:${decoy.port}`));
    // Most of these lead nowhere on this machine, so the decoy alone would not tell blocked from lost.
    const url = dialers[0]?.registryUrl(`${host}:${decoy.port}`) ?? new URL('about:blank');
    expect(await dialers[0]?.request(url, { key: 'a', timeoutMs: 500 })).toEqual({
      ok: false,
      failure: 'blocked',
    });
    expect(decoy).toMatchObject({ connections: 0, bytes: 0 });
  });

  const answers: readonly (readonly [string, readonly string[]])[] = [
    ['loopback', ['127.0.0.1']],
    ['loopback v6', ['::1']],
    ['mapped', ['::ffff:127.0.0.1']],
    ['zoned link-local', ['fe80::1%lo']],
    ['unspecified', ['0.0.0.0']],
    ['metadata', ['169.254.169.254']],
    ['one of several', ['93.184.216.34', '127.0.0.1']],
    ['v6 behind a public v4', ['93.184.216.34', '::1']],
    ['no address at all', ['not-an-address']],
    ['empty', []],
  ];
  it.each(answers)('a name whose answer is %s is not dialled', async (_, addresses) => {
    const check = imageCheck({ allowPrivate: [], resolver: async () => addresses });
    for (const host of ['rebind.example', 'xn--bcher-kva.example', 'localhost', 'metadata.google.internal']) {
      expect(await ask(check, `${host}:${decoy.port}/x/y:1`)).toEqual(UNREACHABLE(`${host}:${decoy.port}`));
    }
    expect(decoy).toMatchObject({ connections: 0, bytes: 0 });
  });

  it("the machine's own addresses are not dialled, whatever their range", async () => {
    const own = Object.values(networkInterfaces()).flatMap((entries) => entries ?? []);
    for (const { address, family } of own.filter((entry) => !entry.address.startsWith('fe80'))) {
      const host = `${family === 'IPv6' ? `[${address}]` : address}:${decoy.port}`;
      expect(await ask(imageCheck({ allowPrivate: [] }), `${host}/x/y:1`)).toEqual(UNREACHABLE(host));
    }
    const check = imageCheck({
      allowPrivate: [],
      resolver: async () => ['8.8.8.8'],
      ownAddresses: () => ['8.8.8.8'],
    });
    const start = performance.now();
    expect((await ask(check, `self.example:${decoy.port}/x/y:1`)).kind).toBe('unreachable');
    expect(performance.now() - start).toBeLessThan(1000);
    expect(decoy).toMatchObject({ connections: 0, bytes: 0 });
  });

  it('one answer that is not permitted spoils the others', async () => {
    const lists = {
      allowPrivate: [`http://mixed.example:${decoy.port}`],
      resolver: async () => ['127.0.0.1', '169.254.169.254'],
    };
    expect((await ask(imageCheck(lists), `mixed.example:${decoy.port}/x/y:1`)).kind).toBe('unreachable');
    expect(decoy).toMatchObject({ connections: 0, bytes: 0 });
  });

  it('a name is resolved once per connection, and a new answer is checked anew', async () => {
    const name = `flip.example:${registry.port}`;
    const resolved = [['127.0.0.1'], ['169.254.169.254']];
    const lists = { allowPrivate: [`http://${name}`], resolver: async () => resolved.shift() ?? [] };
    expect((await ask(imageCheck(lists), `${name}/ok/x:1`)).kind).toBe('found');
    expect(resolved).toHaveLength(1);
    const start = performance.now();
    expect(await ask(imageCheck(lists), `${name}/ok/x:1`)).toEqual(UNREACHABLE(name));
    expect(resolved).toHaveLength(0);
    expect(performance.now() - start).toBeLessThan(1000);
    expect(registry.seen).toHaveLength(1);
  });

  it.each([22, 2375, 2376, 2379, 2380, 6443, 8200, 5432])(
    'port %i stays closed on a host that is listed without a port',
    async (port) => {
      let asked = 0;
      const resolver = async () => {
        asked += 1;
        return ['127.0.0.1'];
      };
      const check = imageCheck({ allowPrivate: ['http://inside.example'], resolver });
      expect((await ask(check, `inside.example:${port}/x/y:1`)).kind).toBe('unreachable');
      expect(asked).toBe(0);
      // Any other port is asked like one of a stranger: never at a private address.
      expect((await ask(check, `inside.example:${decoy.port}/x/y:1`)).kind).toBe('unreachable');
      expect(decoy).toMatchObject({ connections: 0, bytes: 0 });
      const before = asked;
      await ask(check, 'inside.example/x/y:1');
      expect(asked).toBe(before + 1);
    },
  );

  it('a listed name opens private addresses, but not metadata', async () => {
    const inside = imageCheck({
      allowPrivate: [`http://inside.example:${registry.port}`],
      resolver: async () => ['127.0.0.1'],
    });
    expect((await ask(inside, `inside.example:${registry.port}/ok/x:1`)).kind).toBe('found');
    const metadata = imageCheck({
      allowPrivate: ['http://inside.example'],
      resolver: async () => ['169.254.169.254'],
    });
    const start = performance.now();
    expect((await ask(metadata, 'inside.example/ok/x:1')).kind).toBe('unreachable');
    expect(performance.now() - start).toBeLessThan(1000);
  });

  it('blocked, closed and unresolved answer with one text after one time', async () => {
    const closedPort = other.port;
    await other.stop();
    other = await startFakeRegistry();
    const lists = { allowPrivate: [`127.0.0.1:${closedPort}`, registry.host], resolver: async () => [] };
    const check = imageCheck(lists, { unreachableAfterMs: 500 });
    const cases = [
      `127.0.0.1:${closedPort}/x/y:1`,
      `127.0.0.1:${decoy.port}/x/y:1`,
      'nowhere.example/x/y:1',
      `${registry.host}/garbage/y:1`,
    ];
    const times = await Promise.all(
      cases.map(async (text) => {
        const start = performance.now();
        const outcome = await ask(check, text);
        expect(outcome).toEqual(UNREACHABLE(reference(text).registry));
        return performance.now() - start;
      }),
    );
    for (const time of times) expect(time).toBeGreaterThanOrEqual(495);
    expect(Math.max(...times) - Math.min(...times)).toBeLessThan(100);
  });
});

describe('answers that lead elsewhere', () => {
  const inward = (port: number) => [
    `http://127.0.0.1:${port}/`,
    `https://127.0.0.1:${port}/`,
    `http://localhost:${port}/`,
    `http://2130706433:${port}/`,
    `http://0x7f.1:${port}/`,
    `http://[::1]:${port}/`,
    `http://[::ffff:127.0.0.1]:${port}/`,
    `//127.0.0.1:${port}/`,
    `http://%EF%BC%91%EF%BC%92%EF%BC%97.0.0.1:${port}/`,
    `http://user:pw@127.0.0.1:${port}/`,
    'http://169.254.169.254/latest/meta-data/',
    'file:///etc/passwd',
    'gopher://127.0.0.1:70/',
    'ftp://127.0.0.1/',
    'javascript:1',
    'http://',
    '',
  ];

  it('redirects inward are not followed, although localhost is listed', async () => {
    const check = imageCheck({ allowPrivate: [registry.host, 'localhost', '127.0.0.1'] });
    for (const location of inward(decoy.port)) {
      registry.location = location;
      expect(await askFake(check, 'redirect'), location).toEqual(UNREACHABLE(registry.host));
    }
    expect(decoy).toMatchObject({ connections: 0, bytes: 0 });
    expect(registry.seen.length).toBeGreaterThan(10);
  });

  it('realms inward are not asked, although localhost is listed', async () => {
    const check = imageCheck({ allowPrivate: [registry.host, 'localhost', '127.0.0.1'] });
    for (const realm of inward(decoy.port)) {
      registry.realm = realm;
      expect((await askFake(check, 'bearer')).kind, realm).toBe('unreachable');
    }
    expect(decoy).toMatchObject({ connections: 0, bytes: 0 });
    expectNoSecret(registry);
  });

  it('follows two redirects to a listed host and port, without the credentials', async () => {
    registry.location = `http://${other.host}/v2/redirect/x/manifests/1`;
    other.location = `http://${other.host}/v2/ok/x/manifests/1`;
    const check = imageCheck({ allowPrivate: [registry.host, other.host] });
    expect(await askFake(check, 'redirect')).toEqual({ kind: 'found', digest: FAKE_DIGEST });
    other.location = `http://${other.host}/v2/redirect/x/manifests/1`;
    expect((await ask(check, `${registry.host}/redirect/x:2`)).kind).toBe('unreachable');
    expect((await askFake(check, 'loop')).kind).toBe('unreachable');
    expect(registry.seen.filter(({ url }) => url.includes('loop'))).toHaveLength(3);
  });

  it('a challenge after a redirect gets no credentials', async () => {
    registry.location = `http://${other.host}/v2/basic/x/manifests/1`;
    const check = imageCheck({ allowPrivate: [registry.host, other.host] });
    expect((await askFake(check, 'redirect')).kind).toBe('unreachable');
    expect(other.seen).toHaveLength(1);
    expectNoSecret(other);
    expectNoSecret(registry);
  });

  it('credentials that a registry was given do not follow its redirect', async () => {
    registry.location = `http://${other.host}/v2/ok/x/manifests/1`;
    const check = imageCheck({ allowPrivate: [registry.host, other.host] });
    expect((await askFake(check, 'basicredirect')).kind).toBe('found');
    expect(registry.seen.at(-1)?.authorization).toBe(`Basic ${SECRET_FORMS[1]}`);
    expect(other.seen.map(({ authorization }) => authorization)).toEqual([undefined]);
    expectNoSecret(other);
  });

  it('a realm on another host is not asked, unless it is accepted for this registry', async () => {
    registry.realm = `http://${other.host}/token`;
    registry.token = other.token;
    const lists = { allowPrivate: [registry.host, other.host] };
    expect(await askFake(imageCheck(lists), 'bearer')).toMatchObject({
      kind: 'unreachable',
      why: expect.stringContaining('token service on a host that is not accepted'),
    });
    expect(other.seen).toHaveLength(0);
    expectNoSecret(registry);
    const accepting = imageCheck(lists, { authHosts: { [registry.host]: [other.host] } });
    expect((await askFake(accepting, 'bearer')).kind).toBe('found');
    expect(other.seen[0]?.authorization).toBe(`Basic ${SECRET_FORMS[1]}`);
  });

  it('foreign layer URLs and digests that are paths are never read', async () => {
    const check = imageCheck();
    expect((await askFake(check, 'foreign', ['linux/amd64'])).kind).toBe('unreachable');
    expect((await askFake(check, 'baddigest')).kind).toBe('found');
    expect(registry.seen.every(({ url }) => !url.includes('..'))).toBe(true);
  });
});

describe('tokens and credentials', () => {
  it('asks the token service for a pull of this repository, whatever scope the challenge names', async () => {
    expect(await askFake(imageCheck(), 'bearer')).toEqual({ kind: 'found', digest: FAKE_DIGEST });
    const token = registry.seen.find(({ url }) => url.startsWith('/token'));
    const query = new URL(token?.url ?? '', 'http://x').searchParams;
    expect(query.getAll('scope')).toEqual(['repository:bearer/x:pull']);
    expect(query.get('service')).toBe('fake');
    expect(registry.seen.at(-1)?.authorization).toBe('Bearer token-1');
  });

  it('sends the password only after a challenge', async () => {
    await askFake(imageCheck(), 'ok');
    expectNoSecret(registry);
    expect((await askFake(imageCheck(), 'basic')).kind).toBe('found');
    expect(registry.seen.map(({ authorization }) => authorization !== undefined)).toEqual([
      false,
      false,
      true,
    ]);
  });

  it('forbidden without a challenge is not called a refusal of stored credentials, which it never got', async () => {
    const outcome = await askFake(imageCheck(), 'forbidden');
    expect(outcome).toMatchObject({
      kind: 'unreachable',
      why: expect.stringContaining('refuses access without asking for credentials'),
    });
    expectNoSecret(registry);
  });

  it.each(['oddauth', 'forbidden'])('%s ends as unreachable', async (behaviour) => {
    expect((await askFake(imageCheck(), behaviour)).kind).toBe('unreachable');
    expectNoSecret(registry);
  });

  it('a token that would break the header is not used', async () => {
    registry.realm = `http://${registry.host}/badtoken`;
    expect((await askFake(imageCheck(), 'bearer')).kind).toBe('unreachable');
    expect(registry.received()).not.toContain('x-injected');
  });

  it('a token service does not redirect', async () => {
    registry.realm = `http://${registry.host}/redirect`;
    registry.location = `http://${registry.host}/token`;
    expect((await askFake(imageCheck(), 'bearer')).kind).toBe('unreachable');
    expect(registry.seen.some(({ url }) => url.startsWith('/token'))).toBe(false);
  });
});

describe('registries that misbehave (F-24)', () => {
  it.each(['hang', 'drip', 'dripheaders'])('%s: answers at the deadline', async (behaviour) => {
    const start = performance.now();
    expect(await askFake(imageCheck({}, { unreachableAfterMs: 500 }), behaviour, ['linux/amd64'])).toEqual(
      UNREACHABLE(registry.host),
    );
    const took = performance.now() - start;
    expect(took).toBeGreaterThan(2900);
    expect(took).toBeLessThan(3500);
  });

  it.each(['s500', 's503', 's429', 'reset', 'garbage', 'bigheaders', 'html', 'otherdigest'])(
    '%s: unreachable',
    async (behaviour) => {
      expect((await ask(imageCheck(), `${registry.host}/${behaviour}/x@${FAKE_DIGEST}`)).kind).toBe(
        'unreachable',
      );
    },
  );

  it('a manifest of 10 MB is not read to its end', async () => {
    expect(await askFake(imageCheck(), 'huge', ['linux/amd64'])).toEqual(UNREACHABLE(registry.host));
    const url = new URL(`http://${registry.host}/v2/huge/x/manifests/1`);
    const result = await dialers[0]?.request(url, { key: 'a', timeoutMs: 2000 });
    expect(result).toEqual({ ok: false, failure: 'oversize' });
  });

  it.each(['missing', 'norepo', 'plain404'])('%s: missing', async (behaviour) => {
    expect((await askFake(imageCheck(), behaviour)).kind).toBe('missing');
  });

  it('a 404 from what is no registry confirms nothing', async () => {
    registry.baseStatus = 404;
    expect(await askFake(imageCheck(), 'plain404')).toEqual(UNREACHABLE(registry.host));
    expect((await askFake(imageCheck(), 'missing')).kind).toBe('missing');
  });

  it.each(['nodigest', 'untyped', 'nohead'])('%s: found by reading the manifest', async (behaviour) => {
    expect(await askFake(imageCheck(), behaviour)).toEqual({ kind: 'found', digest: FAKE_DIGEST });
  });
});

describe('sharing', () => {
  it('identical checks at one time share one flight, tenants do not share', async () => {
    const check = imageCheck();
    const request = { reference: reference(`${registry.host}/ok/x:1`), platforms: [] };
    await Promise.all(
      Array.from({ length: 20 }, async () => check.check({ ...request, tenantId: 'a' as TenantId })),
    );
    expect(registry.seen).toHaveLength(1);
    await check.check({ ...request, tenantId: 'b' as TenantId });
    expect(registry.seen).toHaveLength(2);
  });

  it.each([
    ['a digest for 60 s', `x@${FAKE_DIGEST}`, 60_000],
    ['a tag for 1 s', 'x:1', 1000],
  ])('keeps what was found of %s, and nothing else', async (_what, name, keptMs) => {
    let now = 0;
    const check = imageCheck({}, { clock: () => now });
    for (const at of [0, 1, keptMs - 1]) {
      now = at;
      await ask(check, `${registry.host}/ok/${name}`);
    }
    expect(registry.seen).toHaveLength(1);
    now = keptMs;
    await ask(check, `${registry.host}/ok/${name}`);
    expect(registry.seen).toHaveLength(2);
    registry.seen.length = 0;
    for (const behaviour of ['s500', 's500', 's429', 's429']) await askFake(check, behaviour);
    expect(registry.seen).toHaveLength(4);
  });

  it('asks again what a tag is, but does not wait for a registry that was silent a moment ago', async () => {
    let now = 0;
    const check = imageCheck({}, { clock: () => now });
    const again = (name: string) =>
      check.check({
        tenantId: 'a' as TenantId,
        reference: reference(`${registry.host}/${name}:1`),
        platforms: [],
        again: true,
      });
    for (const _ of [1, 2]) expect((await again('ok/x')).kind).toBe('found');
    expect(registry.seen).toHaveLength(2);
    for (const _ of [1, 2]) expect((await again('s500/x')).kind).toBe('unreachable');
    expect((await again('ok/x')).kind).toBe('unreachable');
    expect(registry.seen).toHaveLength(3);
    now = 10_000;
    expect((await again('ok/x')).kind).toBe('found');
    // One that answers is not silent any more, whoever asked.
    await again('s500/x');
    await check.check({
      tenantId: 'a' as TenantId,
      reference: reference(`${registry.host}/ok/y:1`),
      platforms: [],
    });
    expect((await again('ok/x')).kind).toBe('found');
  });

  it('one tenant has at most four requests under way and holds up no other', async () => {
    const check = imageCheck({}, { timeoutMs: 600 });
    const slow = Array.from({ length: 12 }, async (_, index) =>
      ask(check, `${registry.host}/hang/x:${index}`),
    );
    const found = await check.check({
      tenantId: 'b' as TenantId,
      reference: reference(`${registry.host}/ok/x:1`),
      platforms: [],
    });
    expect(found.kind).toBe('found');
    await expect.poll(() => registry.seen.filter(({ url }) => url.includes('hang')).length).toBe(4);
    expect((await Promise.all(slow)).every(({ kind }) => kind === 'unreachable')).toBe(true);
  });
});

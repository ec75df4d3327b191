import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type ImageReference, parseImageReference } from '../../src/core/model/image-reference.ts';
import type { TenantId } from '../../src/core/model/ids.ts';
import { SecretValue } from '../../src/core/model/secret-value.ts';
import { createImageCheck } from '../../src/server/registry/check.ts';
import { createDialer, type Dialer, type DialerOptions } from '../../src/server/registry/dialer.ts';
import type { ImageOutcome } from '../../src/server/registry/outcome.ts';
import { selfSigned, type TestCertificate } from '../support/harness/certificates.ts';
import { FAKE_DIGEST, type FakeRegistry, startFakeRegistry } from '../support/harness/fake-registry.ts';

const CREDENTIALS = { username: 'ci', password: new SecretValue('sesame-9a0364b9e99b') };
const BASIC = `Basic ${Buffer.from(`ci:${CREDENTIALS.password.reveal()}`).toString('base64')}`;

let certificate: TestCertificate;
let registry: FakeRegistry;
let tokens: FakeRegistry;
let plain: FakeRegistry;
const dialers: Dialer[] = [];

beforeAll(async () => {
  certificate = selfSigned(['DNS:registry.example.net', 'DNS:auth.example.net', 'IP:127.0.0.1']);
  registry = await startFakeRegistry({ tls: certificate });
  tokens = await startFakeRegistry({ tls: certificate });
  plain = await startFakeRegistry();
});

afterEach(() => {
  for (const dialer of dialers.splice(0)) dialer.close();
  for (const fake of [registry, tokens, plain]) fake.seen.length = 0;
});

afterAll(() => Promise.all([registry.stop(), tokens.stop(), plain.stop()]));

/** Every name leads to loopback, so that names, certificates and ports are what the test is about. */
async function ask(text: string, options: Partial<DialerOptions> = {}): Promise<ImageOutcome> {
  const dialer = createDialer({
    allowPrivate: [`registry.example.net:${registry.port}`, `auth.example.net:${tokens.port}`],
    ca: [certificate.cert],
    resolver: async () => ['127.0.0.1'],
    ...options,
  });
  dialers.push(dialer);
  const check = createImageCheck({ dialer, credentials: async () => CREDENTIALS, unreachableAfterMs: 0 });
  return check.check({ tenantId: 'a' as TenantId, reference: reference(text), platforms: [] });
}

function reference(text: string): ImageReference {
  const parsed = parseImageReference(text);
  if (!parsed.ok) throw new Error(`${text}: ${parsed.problem}`);
  return parsed.reference;
}

describe('a registry over TLS', () => {
  const found = { kind: 'found', digest: FAKE_DIGEST };

  it('is asked by its name, and by its address', async () => {
    expect(await ask(`registry.example.net:${registry.port}/ok/x:1`)).toEqual(found);
    expect(await ask(`${registry.host}/ok/x:1`, { allowPrivate: [`https://${registry.host}`] })).toEqual(
      found,
    );
  });

  it('is not asked if its certificate is not trusted or for another name', async () => {
    expect((await ask(`registry.example.net:${registry.port}/ok/x:1`, { ca: [] })).kind).toBe('unreachable');
    const stranger = { allowPrivate: [`other.example.net:${registry.port}`] };
    expect((await ask(`other.example.net:${registry.port}/ok/x:1`, stranger)).kind).toBe('unreachable');
    expect(registry.seen).toHaveLength(0);
  });

  it('is not asked in plain HTTP, and one that speaks only plain HTTP hears no request', async () => {
    const lists = { allowPrivate: [`registry.example.net:${plain.port}`] };
    expect((await ask(`registry.example.net:${plain.port}/ok/x:1`, lists)).kind).toBe('unreachable');
    expect(plain.seen).toHaveLength(0);
  });

  it('may name a token service of the same owner, which gets the credentials', async () => {
    registry.realm = `https://auth.example.net:${tokens.port}/token`;
    expect(await ask(`registry.example.net:${registry.port}/bearer/x:1`)).toEqual(found);
    expect(tokens.seen.map(({ authorization }) => authorization)).toEqual([BASIC]);
    expect(registry.seen.map(({ authorization }) => authorization)).toEqual([undefined, 'Bearer token-1']);
  });

  it('may not name one in plain HTTP', async () => {
    registry.realm = `http://registry.example.net:${plain.port}/token`;
    const lists = {
      allowPrivate: [`registry.example.net:${registry.port}`, `http://registry.example.net:${plain.port}`],
    };
    expect((await ask(`registry.example.net:${registry.port}/bearer/x:1`, lists)).kind).toBe('unreachable');
    expect(plain.seen).toHaveLength(0);
  });
});

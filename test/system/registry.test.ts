import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ImageReference, parseImageReference } from '../../src/core/model/image-reference.ts';
import type { TenantId } from '../../src/core/model/ids.ts';
import { SecretValue } from '../../src/core/model/secret-value.ts';
import { createImageCheck, type ImageCheck } from '../../src/server/registry/check.ts';
import {
  CredentialStoreUnavailableError,
  type RegistryCredentials,
} from '../../src/server/registry/credentials.ts';
import { createDialer, type Dialer } from '../../src/server/registry/dialer.ts';
import {
  deleteManifest,
  type PushedImage,
  pushImage,
  type Registry,
  startRegistry,
} from '../support/harness/registry.ts';

const SECRET = 'sesame-7f3a91';
const TENANT = 'tenant-a' as TenantId;

let open: Registry;
let closed: Registry;
let dialer: Dialer;
let single: PushedImage;
let index: PushedImage;
let runnable: PushedImage;

beforeAll(async () => {
  [open, closed] = await Promise.all([
    startRegistry(),
    startRegistry({ auth: { username: 'ci', password: SECRET } }),
  ]);
  dialer = createDialer({ allowPrivate: [open.host, closed.host] });
  single = await pushImage(open, 'shop/web:1.4.2', { busybox: false });
  index = await pushImage(open, 'shop/multi:1', {
    busybox: false,
    platforms: ['linux/amd64', 'linux/arm64/v8'],
  });
  runnable = await pushImage(closed, 'private/app:2');
});

afterAll(async () => {
  dialer.close();
  await Promise.all([open.stop(), closed.stop()]);
});

function imageCheck(credentials?: RegistryCredentials | Error): ImageCheck {
  return createImageCheck({
    dialer,
    credentials: async () => {
      if (credentials instanceof Error) throw credentials;
      return credentials;
    },
  });
}

function reference(text: string): ImageReference {
  const parsed = parseImageReference(text);
  if (!parsed.ok) throw new Error(`${text}: ${parsed.problem}`);
  return parsed.reference;
}

const ask = (check: ImageCheck, text: string, platforms: readonly string[] = []) =>
  check.check({ tenantId: TENANT, reference: reference(text), platforms });

describe('a registry without authentication', () => {
  it('finds a tag', async () => {
    expect(await ask(imageCheck(), single.reference)).toEqual({ kind: 'found', digest: single.digest });
  });

  it('finds a digest, alone and with a tag', async () => {
    const found = { kind: 'found', digest: single.digest };
    expect(await ask(imageCheck(), `${open.host}/shop/web@${single.digest}`)).toEqual(found);
    expect(await ask(imageCheck(), `${single.reference}@${single.digest}`)).toEqual(found);
  });

  it.each([
    ['tag', () => `${open.host}/shop/web:9.9.9`],
    ['repository', () => `${open.host}/shop/absent:1`],
    ['digest', () => `${open.host}/shop/web@sha256:${'0'.repeat(64)}`],
  ])('misses an absent %s', async (_, text) => {
    expect(await ask(imageCheck(), text())).toMatchObject({
      kind: 'missing',
      why: expect.stringContaining(text()),
    });
  });

  it('sees an image the moment it is pushed, after having missed it', async () => {
    const check = imageCheck();
    expect((await ask(check, `${open.host}/shop/late:1`)).kind).toBe('missing');
    await pushImage(open, 'shop/late:1', { busybox: false });
    expect((await ask(check, `${open.host}/shop/late:1`)).kind).toBe('found');
  });

  it('keeps what it found for a while', async () => {
    const check = imageCheck();
    const gone = await pushImage(open, 'shop/gone:1', { busybox: false });
    expect((await ask(check, gone.reference)).kind).toBe('found');
    await deleteManifest(open, 'shop/gone', gone.digest);
    expect((await ask(check, gone.reference)).kind).toBe('found');
    expect((await ask(imageCheck(), gone.reference)).kind).toBe('missing');
  });
});

describe('an index', () => {
  it('is found for the platforms it has, with what it offers', async () => {
    const offered = { kind: 'found', digest: index.digest, platforms: ['linux/amd64', 'linux/arm64/v8'] };
    expect(await ask(imageCheck(), index.reference, ['linux/amd64'])).toEqual(offered);
    expect(await ask(imageCheck(), index.reference, ['linux/amd64', 'linux/arm64'])).toEqual(offered);
  });

  it('is found without a question when no platform is asked for', async () => {
    expect(await ask(imageCheck(), index.reference)).toEqual({ kind: 'found', digest: index.digest });
  });

  it('is missing for a platform it lacks, and the platform is named', async () => {
    const outcome = await ask(imageCheck(), index.reference, ['linux/riscv64']);
    expect(outcome).toMatchObject({ kind: 'missing', why: expect.stringMatching(/linux\/riscv64$/) });
    expect((await ask(imageCheck(), index.reference, ['linux/arm64/v7'])).kind).toBe('missing');
  });

  it('is found when it has an image for some of the platforms: the scheduler picks the node', async () => {
    expect((await ask(imageCheck(), index.reference, ['linux/amd64', 'linux/riscv64'])).kind).toBe('found');
    const none = await ask(imageCheck(), index.reference, ['linux/ppc64le', 'linux/riscv64']);
    expect(none.kind).toBe('missing');
  });

  it('is missing when the image it lists was deleted', async () => {
    const broken = await pushImage(open, 'shop/broken:1', {
      busybox: false,
      platforms: ['linux/amd64', 'linux/s390x'],
    });
    await deleteManifest(open, 'shop/broken', broken.children['linux/s390x'] ?? '');
    expect((await ask(imageCheck(), broken.reference, ['linux/amd64'])).kind).toBe('found');
    expect((await ask(imageCheck(), broken.reference, ['linux/s390x'])).kind).toBe('missing');
  });

  it('does not hold a single image to a platform', async () => {
    expect((await ask(imageCheck(), single.reference, ['linux/riscv64'])).kind).toBe('found');
  });
});

describe('a registry with basic authentication', () => {
  const right = { username: 'ci', password: new SecretValue(SECRET) };

  it('is asked with the stored credentials', async () => {
    expect(await ask(imageCheck(right), runnable.reference)).toEqual({
      kind: 'found',
      digest: runnable.digest,
    });
    expect((await ask(imageCheck(right), `${closed.host}/private/app:3`)).kind).toBe('missing');
  });

  it.each([
    ['wrong', { username: 'ci', password: new SecretValue('another') }, 'refuses the credentials'],
    ['no', undefined, 'asks for credentials'],
  ])('cannot be asked with %s credentials', async (_, credentials, text) => {
    const outcome = await ask(imageCheck(credentials), runnable.reference);
    expect(outcome).toMatchObject({ kind: 'unreachable', why: expect.stringContaining(text) });
    expect(JSON.stringify(outcome)).not.toContain(credentials?.password.reveal() ?? SECRET);
  });

  it('cannot be judged while the credential store is away', async () => {
    const away = new CredentialStoreUnavailableError('sealed');
    expect((await ask(imageCheck(away), runnable.reference)).kind).toBe('credential_store_unavailable');
    expect((await ask(imageCheck(away), `${open.host}/shop/web:9.9.9`)).kind).toBe(
      'credential_store_unavailable',
    );
    expect((await ask(imageCheck(away), single.reference)).kind).toBe('found');
  });

  it('lets a fault of the credential source through', async () => {
    await expect(ask(imageCheck(new TypeError('bug')), runnable.reference)).rejects.toThrow('bug');
  });
});

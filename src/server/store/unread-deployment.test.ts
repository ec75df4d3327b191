import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { TenantId } from '../../core/model/ids.ts';
import { tenantKey } from './keys.ts';
import { createMemoryKv } from './memory.ts';
import { encodeRecord } from './records.ts';
import { hashIn, hashInText, referenceFrom, UnreadDeployment } from './unread-deployment.ts';
import { UnreadRecord } from './unread-record.ts';
import { StoreView } from './view.ts';

const T1 = 't1' as TenantId;
const HASH = 'a'.repeat(64);
const OTHER = 'b'.repeat(64);
const TIMES = { createdAt: '2026-01-01T00:00:00.000Z', updatedAt: '2026-01-01T00:00:00.000Z' };
const NEWEST = { change: 'created', at: '2026-01-01T00:00:00.000Z', by: 'me "[]' };
const SEEN = [{ image: 'web:1', digest: 'sha256:1', version: 1 }];

function record(spec: object, more: object = {}) {
  return {
    id: 'dep_1',
    tenantId: T1,
    spec,
    specHash: HASH,
    imageDigest: 'sha256:1',
    seenImages: SEEN,
    version: 1,
    ...TIMES,
    ...more,
  };
}

/** As it is found in a text by itself, and among others in one piece of memory. */
function hashOf(text: string): string | undefined {
  const at = hashInText(text);
  const [before, bytes] = [Buffer.byteLength('{"ü":1}'), Buffer.byteLength(text)];
  const piece = Buffer.from(`{"ü":1}${text}{}`);
  const isReferring = referenceFrom(piece, before) < before + bytes;
  expect(isReferring ? undefined : hashIn(piece, before, before + bytes)).toBe(at);
  return at === undefined ? undefined : Buffer.from(text).toString('utf8', at, at + HASH.length);
}

describe('the hash in the text of a deployment', () => {
  it('is found where it stands for its rows', () => {
    expect(hashOf(encodeRecord(record({ name: 'web' }, { newest: { ...NEWEST, by: 'me' } })))).toBe(HASH);
  });

  it('is found behind texts that are not ASCII, and before a long list of images', () => {
    const seenImages = Array.from({ length: 20 }, (_, i) => ({ ...SEEN[0], image: `grün:${i}` }));
    const one = record({ name: 'größe' }, { seenImages, newest: { ...NEWEST, by: 'é' } });
    expect(hashOf(encodeRecord(one))).toBe(HASH);
  });

  it.each([
    ['stands for no rows', record({ name: 'web' })],
    ['has orders', record({ name: 'web' }, { orders: [], newest: NEWEST })],
    [
      'names a credential',
      record({ secrets: [{ vault_path: 'kv/a' }] }, { newest: { ...NEWEST, by: 'me' } }),
    ],
  ])('is not taken from one that %s', (_, one) => {
    expect(hashOf(encodeRecord(one))).toBeUndefined();
  });

  it('is never another one, whatever the spec and the rest of the record say', () => {
    const nested = record({ name: 'web' }, { newest: { ...NEWEST, by: 'me' }, specHash: OTHER });
    const value = fc.oneof(
      fc.jsonValue(),
      fc.constantFrom<unknown>(nested, encodeRecord(nested), { inner: {}, specHash: OTHER }),
    );
    const members = fc.dictionary(fc.constantFrom('specHash', 'newest', 'version', 'labels', 'z'), value);
    fc.assert(
      fc.property(members, members, fc.boolean(), (spec, more, isPlain) => {
        const whole = { ...record(spec), ...(isPlain ? {} : more), specHash: HASH, newest: NEWEST };
        const found = hashOf(encodeRecord(whole));
        expect([undefined, HASH]).toContain(found);
      }),
      { numRuns: 300 },
    );
  });
});

it('a start leaves deployments, statuses and rollouts unread, and gives what they say to who asks', async () => {
  const kv = createMemoryKv();
  const deployment = record({ name: 'web', image: 'größe:1' }, { newest: { ...NEWEST, by: 'me' } });
  const status = { phase: 'Running', message: '"ü"', desired: 1, placed: 1, running: 1, healthy: 1 };
  await kv.commit({
    puts: [
      { key: tenantKey(T1, 'deployments', 'web'), value: encodeRecord(deployment) },
      { key: tenantKey(T1, 'deployment-status', 'web'), value: encodeRecord(status) },
    ],
  });
  const view = await StoreView.open(kv, { onProblem: () => undefined });
  const [stored] = view.tenant(T1, 'deployments').list();
  expect(stored).toBeInstanceOf(UnreadDeployment);
  expect(view.tenant(T1, 'deployments').find('dep_1')).toBe(stored);
  expect(view.tenant(T1, 'deployments').find('dep_2')).toBeUndefined();
  expect(stored instanceof UnreadDeployment && stored.text).toBe(encodeRecord(deployment));
  const unread = view.tenant(T1, 'deployment-status').get('web');
  expect(unread instanceof UnreadRecord && unread.text).toBe(encodeRecord(status));
  expect(view.tenant(T1, 'specs').get(`web/${HASH}`)?.record).toEqual({
    ...deployment.spec,
    imageDigest: 'sha256:1',
  });
  expect(stored?.record).toEqual(deployment);
  expect(stored?.record).toBe(view.tenant(T1, 'deployments').find('dep_1')?.record);
  expect(unread?.record).toEqual(status);
  expect(unread instanceof UnreadRecord && unread.text).toBeUndefined();
  view.close();
  await kv.close();
});

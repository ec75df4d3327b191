import { randomBytes } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { type EtcdOptions, openEtcdKv } from '../../src/server/store/etcd/open.ts';
import type { Kv } from '../../src/server/store/kv.ts';
import { makeCertificate } from '../support/harness/authority.ts';
import { type Etcd, type EtcdTestOptions, startEtcd } from '../support/harness/etcd.ts';
import { linesOf, recordWatch } from '../support/kv-history.ts';

const PATIENT = { timeout: 20_000, interval: 100 };
/** Of calls that are to be answered: the usual two seconds are short on a busy machine. What is to fail fails after the usual ones. */
const ANSWERED_MS = 10_000;

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

async function etcdWith(options: EtcdTestOptions): Promise<Etcd> {
  const etcd = await startEtcd(options);
  cleanups.push(() => etcd.stop());
  return etcd;
}

async function open(options: EtcdOptions): Promise<Kv> {
  const kv = await openEtcdKv(options);
  cleanups.push(() => kv.close());
  return kv;
}

/** etcd's HTTP gateway, for what the adapter has no business doing: users, roles, switching authentication on. */
async function administer(
  etcd: Etcd,
  path: string,
  body: object,
  token?: string,
): Promise<Record<string, unknown>> {
  const answer = await fetch(`${etcd.endpoints[0]}/v3/auth/${path}`, {
    method: 'POST',
    body: JSON.stringify(body),
    ...(token === undefined ? {} : { headers: { authorization: token } }),
    signal: AbortSignal.timeout(5_000),
  });
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${path}: ${text}`);
  return JSON.parse(text) as Record<string, unknown>;
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');

async function switchOnAuthentication(etcd: Etcd, password: string): Promise<void> {
  await administer(etcd, 'user/add', { name: 'root', password });
  await administer(etcd, 'role/add', { name: 'root' });
  await administer(etcd, 'user/grant', { user: 'root', role: 'root' });
  await administer(etcd, 'user/add', { name: 'berth', password });
  await administer(etcd, 'role/add', { name: 'berth' });
  await administer(etcd, 'role/grant', {
    name: 'berth',
    perm: { permType: 'READWRITE', key: base64('/berth/'), range_end: base64('/berth0') },
  });
  await administer(etcd, 'user/grant', { user: 'berth', role: 'berth' });
  await administer(etcd, 'enable', {});
}

describe('etcd with authentication', () => {
  it('works as a user that may touch its prefix only, over expired tokens and a restart', async () => {
    const etcd = await etcdWith({ args: ['--auth-token-ttl=1'] });
    const password = randomBytes(12).toString('hex');
    // Opened before the cluster asks for credentials: both are used from then on.
    const kv = await open({
      endpoints: etcd.endpoints,
      auth: { user: 'berth', password },
      timeoutMs: ANSWERED_MS,
    });
    const watched = recordWatch(kv, '', await kv.head());
    expect((await kv.commit({ puts: [{ key: 'a', value: '1' }] })).ok).toBe(true);
    await switchOnAuthentication(etcd, password);
    expect((await kv.commit({ puts: [{ key: 'a', value: '2' }] })).ok).toBe(true);
    // Simple tokens live for their ttl after the last use; the check runs every second.
    await sleep(3_000);
    expect((await kv.commit({ puts: [{ key: 'a', value: '3' }] })).ok).toBe(true);
    expect((await kv.get('a'))?.value).toBe('3');
    expect((await kv.range('')).entries).toHaveLength(1);
    const lease = await kv.grantLease(5_000);
    expect(await kv.keepAlive(lease)).toBe(true);
    const second = recordWatch(kv, '', await kv.head());
    await etcd.members[0]?.restart();
    await vi.waitFor(
      async () => expect((await kv.commit({ puts: [{ key: 'a', value: '4' }] })).ok).toBe(true),
      PATIENT,
    );
    await vi.waitFor(
      () => expect(linesOf(second.batches).map((line) => line.slice(-1))).toEqual(['4']),
      PATIENT,
    );
    await vi.waitFor(() => expect(linesOf(watched.batches)).toHaveLength(4), PATIENT);
  });

  it('says so when the credentials are wrong or missing, echoes no password, and recovers', async () => {
    const etcd = await etcdWith({});
    const password = randomBytes(12).toString('hex');
    const wrong = randomBytes(12).toString('hex');
    await switchOnAuthentication(etcd, password);
    const kv = await open({ endpoints: etcd.endpoints, auth: { user: 'berth', password: wrong } });
    const status = await kv.status();
    expect(status.connected).toBe(false);
    expect(status.problem).toMatch(/refuses the credentials/);
    expect(status.problem).not.toContain(wrong);
    await expect(kv.commit({ puts: [{ key: 'a', value: '' }] })).rejects.toMatchObject({
      certainlyNotApplied: true,
    });
    const bare = await open({ endpoints: etcd.endpoints });
    expect((await bare.status()).problem).toMatch(/asks for credentials/);
    const other = await open({
      endpoints: etcd.endpoints,
      prefix: '/other/',
      auth: { user: 'berth', password },
    });
    expect((await other.status()).problem).toMatch(/permission denied/);
    const { token } = await administer(etcd, 'authenticate', { name: 'root', password });
    await administer(etcd, 'user/changepw', { name: 'berth', password: wrong }, String(token));
    await vi.waitFor(async () => expect((await kv.status()).connected).toBe(true), PATIENT);
    expect((await kv.commit({ puts: [{ key: 'a', value: '' }] })).ok).toBe(true);
  });
});

describe('etcd over TLS', () => {
  it('trusts its own authority only and shows a client certificate', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'berth-etcd-tls-'));
    cleanups.push(() => rm(folder, { recursive: true, force: true }));
    const certificate = await makeCertificate(folder);
    const etcd = await etcdWith({ tls: certificate });
    const { ca, cert, key } = certificate;
    const kv = await open({ endpoints: etcd.endpoints, tls: { ca, cert, key }, timeoutMs: ANSWERED_MS });
    const watched = recordWatch(kv, '', await kv.head());
    expect((await kv.commit({ puts: [{ key: 'a', value: '1' }] })).ok).toBe(true);
    await vi.waitFor(() => expect(watched.batches).toHaveLength(1), PATIENT);
    const nameless = await open({ endpoints: etcd.endpoints, tls: { ca } });
    expect((await nameless.status()).problem).toMatch(/asks for a certificate of its clients/);
    const distrusting = await open({ endpoints: etcd.endpoints, tls: { cert, key } });
    const status = await distrusting.status();
    expect(status.connected).toBe(false);
    expect(status.problem).toMatch(/certificate/);
    const misnamed = await open({
      endpoints: etcd.endpoints,
      tls: { ca, cert, key, serverName: 'elsewhere.example' },
    });
    expect((await misnamed.status()).problem).toMatch(/altnames|elsewhere/i);
  });
});

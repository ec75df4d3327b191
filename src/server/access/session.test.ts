import { beforeEach, describe, expect, it } from 'vitest';
import type { TenantId, TokenId } from '../../core/model/ids.ts';
import type { SessionRecord } from '../../core/model/session.ts';
import type { TokenRecord } from '../../core/model/tenant.ts';
import { createMemoryKv } from '../store/memory.ts';
import { Store } from '../store/store.ts';
import { Transaction } from '../store/transaction.ts';
import { StoreView } from '../store/view.ts';
import { type AccessDependencies, ProvenTokens } from './authenticate.ts';
import {
  csrfRejection,
  csrfToken,
  findSession,
  newSessionId,
  sessionCookie,
  sessionIdOf,
  sessionKey,
  type SessionSettings,
  touchSession,
} from './session.ts';

const KEY = Buffer.alloc(32, 7);
const SHOP = '00000000-0000-4000-8000-000000000001' as TenantId;
const MINUTE = 60_000;
const SETTINGS: SessionSettings = { idleMs: 30 * MINUTE, lifetimeMs: 720 * MINUTE, secure: false };
const START = Date.parse('2026-01-01T00:00:00Z');

let now = START;
let access: AccessDependencies;
let id: string;

async function putToken(parts: Partial<TokenRecord> = {}): Promise<void> {
  const record: TokenRecord = {
    id: 'tok1' as TokenId,
    kind: 'pat',
    tenantId: SHOP,
    role: 'deployer',
    name: 'tok1',
    hash: '',
    createdAt: '',
    createdBy: 'test',
    ...parts,
  };
  await access.store.commit(new Transaction(SHOP).putGlobal('tokens', 'tok1', record));
}

const find = () => findSession(access, SETTINGS, id);
const at = (minutes: number) => {
  now = START + minutes * MINUTE;
};

beforeEach(async () => {
  now = START;
  const kv = createMemoryKv();
  const view = await StoreView.open(kv, { onProblem: () => undefined });
  access = {
    store: new Store(kv, view),
    tokenKey: KEY,
    clock: { now: () => new Date(now), monotonicMs: () => 0 },
    proven: new ProvenTokens(),
  };
  id = newSessionId();
  const time = new Date(START).toISOString();
  const record: SessionRecord = {
    tokenId: 'tok1' as TokenId,
    tenantId: SHOP,
    createdAt: time,
    lastUsedAt: time,
    expiresAt: new Date(START + SETTINGS.lifetimeMs).toISOString(),
  };
  await putToken();
  await access.store.commit(new Transaction(SHOP).putGlobal('sessions', sessionKey(KEY, id), record));
});

async function use(): Promise<void> {
  const session = find();
  if (session === undefined) throw new Error('the session has ended');
  const before = session.stored.modRevision;
  touchSession(access, SETTINGS, session);
  for (let turn = 0; turn < 50 && find()?.stored.modRevision === before; turn += 1) await Promise.resolve();
}

describe('a session', () => {
  it('is the principal of its token', () =>
    expect(find()?.principal).toEqual({ tokenId: 'tok1', kind: 'pat', role: 'deployer', tenantId: SHOP }));

  it('ends when it is not used', () => {
    at(29);
    expect(find()).toBeDefined();
    at(30);
    expect(find()).toBeUndefined();
  });

  it('lasts while it is used, and not beyond its lifetime', async () => {
    for (let minute = 20; minute < 720; minute += 20) {
      at(minute);
      await use();
    }
    at(719);
    expect(find()).toBeDefined();
    at(720);
    expect(find()).toBeUndefined();
  });

  it('writes a use down only now and then', async () => {
    const before = find()?.stored.modRevision;
    at(4);
    await use();
    expect(find()?.stored.modRevision).toBe(before);
    at(6);
    await use();
    expect(find()?.stored.modRevision).not.toBe(before);
  });

  it('ends with its token', async () => {
    await putToken({ revokedAt: new Date(now).toISOString() });
    expect(find()).toBeUndefined();
    await putToken({ expiresAt: new Date(now).toISOString() });
    expect(find()).toBeUndefined();
  });

  it('is not found by another id', () =>
    expect(findSession(access, SETTINGS, newSessionId())).toBeUndefined());
});

describe('the cookie', () => {
  const secure = { ...SETTINGS, secure: true };
  it('is read back among others', () => {
    expect(sessionIdOf(SETTINGS, `a=1; ${sessionCookie(SETTINGS, id).split(';', 1)[0] ?? ''}; b=2`)).toBe(id);
    expect(sessionIdOf(secure, sessionCookie(secure, id).split(';', 1)[0])).toBe(id);
  });
  it('may name a cell', () => {
    const ofCell = newSessionId('eu1');
    expect(sessionIdOf(SETTINGS, `berth_session=${ofCell}`)).toBe(ofCell);
    expect(sessionIdOf(SETTINGS, `berth_session=${ofCell}.eu2`)).toBeUndefined();
  });
  it.each([
    ['absent', undefined],
    ['of another name', 'xberth_session=abc'],
    ['of another form', 'berth_session=abc'],
    ['empty', 'berth_session='],
  ])('%s is none', (_title, header) => expect(sessionIdOf(SETTINGS, header)).toBeUndefined());
  it('given twice is none', () =>
    expect(sessionIdOf(SETTINGS, `berth_session=${id}; berth_session=${newSessionId()}`)).toBeUndefined());
  it('for TLS is not taken without', () =>
    expect(sessionIdOf(SETTINGS, `__Host-berth_session=${id}`)).toBeUndefined());
});

describe('a write of a session', () => {
  const check = (headers: Readonly<Record<string, string>>) => {
    const session = find();
    return session && csrfRejection(KEY, session, headers);
  };
  it('needs the token of this very session', () => {
    expect(check({ 'x-csrf-token': csrfToken(KEY, id) })).toBeUndefined();
    expect(check({})).toMatchObject({ code: 'csrf_token_invalid', received: '(absent)' });
    expect(check({ 'x-csrf-token': csrfToken(KEY, newSessionId()) })).toMatchObject({
      code: 'csrf_token_invalid',
      received: '(redacted, string, 43 bytes)',
    });
  });
  it.each(['cross-site', 'same-site'])('is refused from a %s page', (site) =>
    expect(check({ 'x-csrf-token': csrfToken(KEY, id), 'sec-fetch-site': site })?.code).toBe(
      'csrf_token_invalid',
    ),
  );
});

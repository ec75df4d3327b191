import { beforeEach, describe, expect, it } from 'vitest';
import type { TenantId, TokenId } from '../../core/model/ids.ts';
import type { Role, TokenRecord } from '../../core/model/tenant.ts';
import { isRejection } from '../../core/rejections/reject.ts';
import { createMemoryKv } from '../store/memory.ts';
import { Store } from '../store/store.ts';
import { Transaction } from '../store/transaction.ts';
import { StoreView } from '../store/view.ts';
import {
  type AccessDependencies,
  authenticate,
  BOOTSTRAP_TOKEN_ID,
  findTenant,
  platformTenantId,
  ProvenTokens,
  tenantActedFor,
} from './authenticate.ts';
import { hashSecret, mintToken } from './token.ts';

const KEY = Buffer.alloc(32, 7);
const SHOP = '00000000-0000-4000-8000-000000000001' as TenantId;
const OTHER = '00000000-0000-4000-8000-000000000002' as TenantId;

let now = Date.parse('2026-01-01T00:00:00Z');
let access: AccessDependencies;

async function addTenant(id: TenantId, slug: string) {
  await access.store.commit(
    new Transaction(id)
      .putGlobal('tenants', id, { id, slug, name: slug, createdAt: '' })
      .putGlobal('tenant-slugs', slug, { tenantId: id }),
  );
}

async function addToken(id: string, secret: string, parts: Partial<TokenRecord> = {}) {
  const record: TokenRecord = {
    id: id as TokenId,
    kind: 'pat',
    tenantId: SHOP,
    role: 'deployer',
    name: id,
    hash: hashSecret(KEY, secret),
    createdAt: '',
    createdBy: 'test',
    ...parts,
  };
  await access.store.commit(new Transaction(SHOP).putGlobal('tokens', id, record));
}

async function issue(id: string, parts: Partial<TokenRecord> = {}): Promise<string> {
  const { token, secret } = mintToken('pat', id);
  await addToken(id, secret, parts);
  return token;
}

const bearer = (token: string) => authenticate(access, `Bearer ${token}`);

beforeEach(async () => {
  const kv = createMemoryKv();
  const view = await StoreView.open(kv, { onProblem: () => undefined });
  access = {
    store: new Store(kv, view),
    tokenKey: KEY,
    clock: { now: () => new Date(now), monotonicMs: () => 0 },
    proven: new ProvenTokens(),
  };
  now = Date.parse('2026-01-01T00:00:00Z');
  await addTenant(SHOP, 'shop');
  await addTenant(OTHER, 'other');
});

describe('a credential', () => {
  it('names its principal', async () => {
    const token = await issue('tok1');
    const principal = { tokenId: 'tok1', kind: 'pat', role: 'deployer', tenantId: SHOP };
    expect(bearer(token)).toEqual(principal);
    expect(authenticate(access, `bearer   ${token}`)).toEqual(principal);
    expect(bearer(token)).toEqual(principal);
  });

  it.each([undefined, '', 'Bearer', 'Bearer ', 'Basic abc', 'Bearer a b', 'Bearer\tx'])(
    '%j is none',
    (header) => {
      expect(authenticate(access, header)).toMatchObject({
        code: 'unauthenticated',
        field: 'Authorization',
        received: header === undefined ? '(absent)' : `(redacted, string, ${header.length} bytes)`,
      });
    },
  );

  it('that is unknown, mistyped, foreign, revoked or expired gets one answer, and no part of it back', async () => {
    const good = await issue('tok1');
    const tokens = [
      mintToken('pat', 'tok9').token,
      mintToken('pat', 'tok1').token,
      `${good.slice(0, -1)}${good.endsWith('0') ? '1' : '0'}`,
      'any text at all'.replaceAll(' ', '-'),
      'constructor',
      await issue('tok2', { revokedAt: '2025-12-31T00:00:00Z' }),
      await issue('tok3', { expiresAt: '2026-01-01T00:00:00Z' }),
    ];
    const first = bearer(mintToken('pat', 'tok8').token);
    for (const token of tokens) {
      const received = `(redacted, string, ${`Bearer ${token}`.length} bytes)`;
      expect(bearer(token)).toEqual({ ...first, code: 'unauthenticated', received });
    }
  });

  it('expires at its time, also when it was proven before', async () => {
    const token = await issue('tok1', { expiresAt: '2026-01-01T01:00:00Z' });
    now = Date.parse('2026-01-01T00:59:59.999Z');
    expect(isRejection(bearer(token))).toBe(false);
    now += 1;
    expect(isRejection(bearer(token))).toBe(true);
  });

  it('that was revoked or replaced is refused at once, although it was proven before', async () => {
    const first = mintToken('pat', 'tok1');
    await addToken('tok1', first.secret);
    expect(isRejection(bearer(first.token))).toBe(false);
    await addToken('tok1', first.secret, { revokedAt: '2026-01-01T00:00:00Z' });
    expect(isRejection(bearer(first.token))).toBe(true);
    const second = mintToken('pat', 'tok1');
    await addToken('tok1', second.secret);
    expect(isRejection(bearer(first.token))).toBe(true);
    expect(isRejection(bearer(second.token))).toBe(false);
  });

  it('of the bootstrap may be any text, one that looks like a token included', async () => {
    for (const text of [
      'x'.repeat(32),
      mintToken('pat', 'tokelsewhere').token,
      mintToken('pat', 'bootstrap').token,
    ]) {
      await addToken(BOOTSTRAP_TOKEN_ID, text, { role: 'platform-admin' });
      expect(bearer(text), text).toMatchObject({ tokenId: 'bootstrap' });
      expect(isRejection(bearer(`${text}x`))).toBe(true);
    }
  });
});

describe('proven tokens', () => {
  it('are bound to a record as it is and bounded in number', () => {
    const proven = new ProvenTokens();
    const principal = { tokenId: 'tok1', kind: 'pat', role: 'viewer', tenantId: 't1' as TenantId } as const;
    const stored = { id: 'tok1', record: {} as TokenRecord, modRevision: 1, createRevision: 1 };
    proven.add('a', principal, stored);
    expect(proven.find('a')).toEqual({ principal, stored });
    expect(proven.find('b')).toBeUndefined();
    for (let index = 0; index < 10_000; index += 1) proven.add(`t${index}`, principal, stored);
    expect(proven.find('a')).toBeUndefined();
    expect(proven.find('t9999')).toBeDefined();
  });
});

describe('the tenant acted for', () => {
  const principal = (role: Role, tenantId = SHOP) => ({ tokenId: 't', kind: 'pat', role, tenantId }) as const;
  const actFor = (role: Role, value?: string, tenantId?: TenantId) => {
    const assertion = value === undefined ? undefined : { field: 'X-Tenant-ID', value };
    const answer = tenantActedFor(access.store, principal(role, tenantId), assertion);
    return isRejection(answer) ? answer.code : answer.slug;
  };

  it.each(['tenant-admin', 'deployer', 'secret-writer', 'viewer', 'node'] as const)(
    'of a %s is its own, and an assertion must agree',
    (role) => {
      expect(actFor(role)).toBe('shop');
      expect(actFor(role, SHOP)).toBe('shop');
      expect(actFor(role, 'shop')).toBe('shop');
      for (const foreign of [OTHER, 'other', 'nobody', '', '../shop', 'SHOP', 'constructor', '%73hop'])
        expect(actFor(role, foreign), foreign).toBe('tenant_forbidden');
    },
  );

  it('of a platform administrator is the one named, else its own', () => {
    expect(actFor('platform-admin')).toBe('shop');
    expect(actFor('platform-admin', 'other')).toBe('other');
    expect(actFor('platform-admin', OTHER)).toBe('other');
    expect(actFor('platform-admin', 'nobody')).toBe('tenant_not_found');
  });

  it('a foreign and a missing tenant are one answer', () => {
    const answers = [OTHER, '00000000-0000-4000-8000-00000000000f'].map((value) =>
      tenantActedFor(access.store, principal('viewer'), { field: 'X-Tenant-ID', value }),
    );
    expect(answers.map((answer) => isRejection(answer) && { ...answer, received: '' })[0]).toEqual(
      answers.map((answer) => isRejection(answer) && { ...answer, received: '' })[1],
    );
  });

  it('that was deleted is no tenant any more', async () => {
    const gone = '00000000-0000-4000-8000-00000000000e' as TenantId;
    expect(actFor('viewer', undefined, gone)).toBe('unauthenticated');
    expect(tenantActedFor(access.store, principal('viewer', gone), undefined)).toMatchObject({
      received: principal('viewer').tokenId,
    });
    expect(actFor('viewer', SHOP, gone)).toBe('tenant_forbidden');
  });

  it('is found by id or slug', () => {
    expect(findTenant(access.store, 'other')?.id).toBe(OTHER);
    expect(findTenant(access.store, 'OTHER')).toBeUndefined();
    expect(findTenant(access.store, 'a/b c%')).toBeUndefined();
    expect(platformTenantId(access.store)).toBeUndefined();
  });
});

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import pino from 'pino';
import { afterAll, beforeAll, expect } from 'vitest';
import { systemClock } from '../../src/server/clock.ts';
import type { ControllerDeps } from '../../src/server/reconcile/controller.ts';
import { systemTimers } from '../../src/server/reconcile/index.ts';
import { Janitor } from '../../src/server/reconcile/housekeeping/janitor.ts';
import { AuditFiles } from '../../src/server/journal/audit-files.ts';
import { attack } from '../support/attack.ts';
import type { Json } from '../support/harness/api-client.ts';
import { eventually } from '../support/eventually.ts';
import {
  type ControlPlane,
  startControlPlane,
  type TestTenant,
} from '../support/harness/server-under-test.ts';

let plane: ControlPlane;
let shop: TestTenant;

beforeAll(async () => {
  plane = await startControlPlane();
  shop = await plane.tenant('shop');
});
afterAll(() => plane.close());

function refusals(): readonly Json[] {
  try {
    const text = readFileSync(join(plane.dataDir, 'audit', 'refusals.jsonl'), 'utf8');
    return text
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => JSON.parse(line) as Json);
  } catch {
    return [];
  }
}

attack('anybody', 'guessing tokens, and what a token may not do, unseen', async () => {
  const guess = 'berth_pat_guessed-by-somebody-0123456789';
  await plane.api.get('/api/v1/deployments', { token: guess });
  await plane.api.post('/api/v1/tenants', { slug: 'mine', name: 'Mine' }, { token: shop.tokens.viewer });
  await plane.api.get('/api/v1/deployments', { token: shop.tokens.viewer, tenant: 'platform' });
  const lines = await eventually(
    async () => refusals(),
    (found) => found.length >= 3,
  );
  const viewer = plane.store.listGlobal('tokens').find(({ record }) => {
    return record.tenantId === shop.id && record.role === 'viewer';
  })?.id;
  expect(lines.slice(0, 3)).toEqual([
    expect.objectContaining({ code: 'unauthenticated', path: '/api/v1/deployments', source: '127.0.0.1' }),
    expect.objectContaining({ code: 'role_forbidden', path: '/api/v1/tenants', tokenId: viewer }),
    expect.objectContaining({ code: 'tenant_forbidden', method: 'GET', tokenId: viewer }),
  ]);
  expect(JSON.stringify(lines)).not.toContain('guessed-by-somebody');
});

attack('holder of a stolen token', 'changes that do not tell where they came from', async () => {
  const made = await plane.api.call('POST', '/api/v1/tokens', {
    token: shop.tokens['tenant-admin'],
    body: { name: 'x', role: 'viewer' },
    headers: { 'x-forwarded-for': '203.0.113.7' },
  });
  expect(made.status).toBe(201);
  const audit = await plane.api.get('/api/v1/audit', { token: shop.tokens['tenant-admin'] });
  expect(audit.list.at(-1)).toMatchObject({
    action: 'token.created',
    source: '127.0.0.1',
    forwardedFor: '203.0.113.7',
  });
});

attack('viewer', 'an audit that grows until the disk is full', async () => {
  const tenant = plane.store.forTenant(shop.id);
  const lines = Array.from({ length: 250 }, (_, at) => ({
    id: `aud_0000${String(at).padStart(8, '0')}`,
    at: new Date(Date.UTC(2020, 0, 1, 0, at)).toISOString(),
    actor: 'tok1',
    role: 'viewer',
    tenantId: shop.id,
    action: 'session.opened',
    subject: { kind: 'Token', name: 'tok1' } as const,
    result: 'accepted' as const,
    requestId: `req${at}`,
  }));
  for (const half of [lines.slice(0, 125), lines.slice(125)]) {
    const transaction = tenant.transaction();
    for (const line of half) transaction.putCold('audit', line.id, line);
    await tenant.commit(transaction);
  }
  const stored = async () => (await tenant.rangeCold('audit')).entries.map(({ record }) => record);
  const recent = (await stored()).filter(({ at }) => !at.startsWith('2020'));
  expect(recent).not.toEqual([]);
  const folder = join(plane.dataDir, 'audit-export');
  const files = new AuditFiles(folder, pino({ level: 'silent' }));
  const sweep = async (write: AuditFiles['export']): Promise<Janitor> => {
    const deps = { store: plane.store, clock: systemClock, timers: systemTimers, owns: () => true };
    const janitor = new Janitor(deps as unknown as ControllerDeps, undefined, {
      keepDays: 365,
      export: write,
    });
    janitor.start();
    try {
      await janitor.sweep();
    } finally {
      await janitor.stop();
    }
    return janitor;
  };

  await expect(sweep(async () => Promise.reject(new Error('no space')))).rejects.toThrow('no space');
  expect(await stored()).toHaveLength(250 + recent.length);
  const janitor = await sweep((tenantId, records) => files.export(tenantId, records));
  expect(await stored()).toEqual(recent);
  const exported = readFileSync(join(folder, shop.id, '2020-01.jsonl'), 'utf8')
    .trimEnd()
    .split('\n');
  expect(exported.map((line) => JSON.parse(line) as unknown)).toEqual(lines);
  const { records, bytes } = janitor.auditSize();
  expect([records >= recent.length, records < 250, bytes > 0]).toEqual([true, true, true]);
});

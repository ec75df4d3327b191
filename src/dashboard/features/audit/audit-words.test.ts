import { expect, it } from 'vitest';
import { actorName, type AuditLine, doneText, fits, pageOf } from './audit-words.ts';

const LINE: AuditLine = {
  id: '1',
  at: '2026-11-17T09:00:00.000Z',
  actor: 'tok1',
  role: 'deployer',
  tenantId: 't',
  action: 'deployment.create',
  subject: { kind: 'Deployment', name: 'web' },
  result: 'accepted',
  requestId: 'r',
};
const NAMES = new Map([['tok1', 'ci']]);

it('says who by name, where one is known', () => {
  expect(actorName(LINE, NAMES)).toBe('ci');
  expect(actorName({ ...LINE, actor: 'system' }, NAMES)).toBe('Berth itself');
  expect(actorName({ ...LINE, actor: 'tok9', role: 'platform-admin', actorTenantId: 'p' }, NAMES)).toBe(
    'platform-admin of the platform',
  );
  expect(actorName({ ...LINE, actor: 'tok9' }, NAMES)).toBe('tok9');
  expect(actorName({ ...LINE, actor: 'join01m' }, NAMES)).toBe('a join token');
});

it('says what, and where that is', () => {
  expect(doneText({ ...LINE, details: { version: 2 } })).toBe('deployment.create (version 2)');
  expect([pageOf(LINE), pageOf({ ...LINE, subject: { kind: 'Token', name: 'x' } })]).toEqual([
    '/deployments/web',
    undefined,
  ]);
});

it('is filtered by who, what and when', () => {
  const now = Date.parse('2026-11-17T10:30:00.000Z');
  const all = { actor: '', kind: '', hours: undefined };
  expect(fits(all, LINE, now)).toBe(true);
  expect(fits({ ...all, actor: 'tok2' }, LINE, now)).toBe(false);
  expect(fits({ ...all, kind: 'Node' }, LINE, now)).toBe(false);
  expect([fits({ ...all, hours: 1 }, LINE, now), fits({ ...all, hours: 24 }, LINE, now)]).toEqual([
    false,
    true,
  ]);
});

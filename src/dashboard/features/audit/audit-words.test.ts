import { expect, it } from 'vitest';
import { type AuditLine, doneText, fits, pageOf, sinceTime } from './audit-words.ts';

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

it('says what, and where that is', () => {
  expect(doneText({ ...LINE, details: { version: 2 } })).toBe('deployment.create (version 2)');
  expect(doneText({ ...LINE, details: { set: { cpu: '1' }, keys: ['a', 'b'] } })).toBe(
    'deployment.create (set {"cpu":"1"}, keys a,b)',
  );
  expect([pageOf(LINE), pageOf({ ...LINE, subject: { kind: 'Token', name: 'x' } })]).toEqual([
    '/deployments/web',
    undefined,
  ]);
});

it('is filtered by who, what and when', () => {
  const now = Date.parse('2026-11-17T10:30:00.000Z');
  expect([sinceTime(undefined, now), sinceTime(1, now)]).toEqual([undefined, '2026-11-17T09:30:00.000Z']);
  const all = { actor: '', kind: '', hours: undefined };
  expect(fits(all, LINE, now)).toBe(true);
  expect(fits({ ...all, actor: 'tok2' }, LINE, now)).toBe(false);
  expect(fits({ ...all, kind: 'Node' }, LINE, now)).toBe(false);
  expect([fits({ ...all, hours: 1 }, LINE, now), fits({ ...all, hours: 24 }, LINE, now)]).toEqual([
    false,
    true,
  ]);
});

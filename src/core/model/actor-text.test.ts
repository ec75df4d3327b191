import { expect, it } from 'vitest';
import { actorText } from './actor-text.ts';

const LINE = { actor: 'tok1', role: 'deployer', tenantId: 't' };
const NAMES = new Map([['tok1', 'ci']]);

it('says who by name, where one is known', () => {
  expect(actorText(LINE, NAMES)).toBe('ci');
  expect(actorText({ ...LINE, actor: 'system' }, NAMES)).toBe('Berth itself');
  expect(actorText({ ...LINE, actor: 'tok9', role: 'platform-admin', actorTenantId: 'p' }, NAMES)).toBe(
    'platform-admin of the platform',
  );
  expect(actorText({ ...LINE, actor: 'tok9' }, NAMES)).toBe('tok9');
  expect(actorText({ ...LINE, actor: 'join01m' }, NAMES)).toBe('a join token');
});

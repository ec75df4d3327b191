import { describe, expect, it } from 'vitest';
import { capabilitiesRule, userRule } from './confinement.ts';
import { limits } from '../../../test/support/samples/deployment.ts';

describe('user', () => {
  const refuse = (user: string) => userRule({ draft: { user }, limits });

  it.each(['0', '1000', '1000:1000', '4294967294', 'www-data', 'postgres:postgres', '_apt', '1000:staff'])(
    'accepts %s',
    (user) => expect(refuse(user)).toBeUndefined(),
  );

  it.each([
    '',
    ' ',
    '-1',
    '1.5',
    '4294967295',
    ':',
    '1000:',
    ':1000',
    '1:2:3',
    'a b',
    '../x',
    'a\n',
    'é',
    'a'.repeat(33),
  ])('refuses %j', (user) => expect(refuse(user)).toMatchObject({ code: 'user_invalid', field: 'user' }));
});

describe('capabilities.drop', () => {
  const refuse = (...drop: readonly string[]) =>
    capabilitiesRule({ draft: { capabilities: { drop } }, limits });

  it.each([[[]], [['ALL']], [['CHOWN', 'CAP_NET_RAW', 'setuid']], [['CAP_BPF']]])('accepts %j', (drop) =>
    expect(refuse(...drop)).toBeUndefined(),
  );

  it.each([
    [['']],
    [['CAP_']],
    [['CAP_CAP_CHOWN']],
    [['EVERYTHING']],
    [['constructor']],
    [['x'.repeat(100_000)]],
  ])('refuses %j', (drop) =>
    expect(refuse(...drop)).toMatchObject({ code: 'capability_unknown', field: 'capabilities.drop[0]' }),
  );

  it('names the one that was probably meant, and the one that is there twice', () => {
    expect(refuse('CHOWN', 'NET_ROW')?.why).toContain('did you mean NET_RAW?');
    expect(refuse('CHOWN', 'cap_chown')).toMatchObject({ field: 'capabilities.drop[1]' });
  });
});

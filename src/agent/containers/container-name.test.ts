import { describe, expect, it } from 'vitest';
import { shortId } from '../../core/model/instance-name.ts';
import { chooseName } from './container-name.ts';

const ID = 'ins_01jd2fs8xkq4v9c7tmb3eznhpw';

describe('the name of a container', () => {
  it.each<readonly [string, readonly (readonly [string, string])[], string]>([
    ['free', [], 'web'],
    ['held by this instance', [['web', ID]], 'web'],
    ['held by another instance', [['web', 'ins_other']], 'web-b3eznhpw'],
    ['held by a stranger', [['web', '']], 'web-b3eznhpw'],
    ['another name is held', [['web2', '']], 'web'],
  ])('%s', (_case, taken, name) => {
    expect(chooseName('web', ID, new Map(taken))).toBe(name);
  });

  it('has the short id where the engine would not take a name of one letter', () => {
    expect(chooseName('w', ID, new Map())).toBe('w-b3eznhpw');
  });

  it('takes the short id from the random end', () => {
    expect(shortId(ID)).toBe('b3eznhpw');
    expect(shortId('ins_A-1')).toBe('insa1');
  });
});

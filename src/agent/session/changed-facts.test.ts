import { expect, it } from 'vitest';
import { ChangedFacts } from './changed-facts.ts';

it('is told of a problem that came, and that it is gone', () => {
  const changed = new ChangedFacts();
  changed.begin({});
  expect(changed.of({})).toBeUndefined();
  expect(changed.of({ problems: ['full'] })).toEqual({ problems: ['full'] });
  expect(changed.of({})).toEqual({});
  expect(changed.of({})).toEqual({});
  changed.begin({});
  expect(changed.of({})).toBeUndefined();
});

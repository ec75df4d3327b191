import { describe, expect, it } from 'vitest';
import { comesBack, draftOf, listOrNothing, numberOrText, updateBody, valueAt, withValue } from './draft.ts';

describe('a draft', () => {
  it('takes values at any depth and gives them back', () => {
    const draft = withValue({ name: 'web' }, 'placement.residency.country', 'DE');
    expect(draft).toEqual({ name: 'web', placement: { residency: { country: 'DE' } } });
    expect(valueAt(draft, 'placement.residency.country')).toBe('DE');
    expect(valueAt(draft, 'placement.constructor')).toBeUndefined();
  });
  it('loses what is emptied, and what became empty with it', () =>
    expect(withValue({ a: { b: { c: 1 } }, d: 2 }, 'a.b.c', '')).toEqual({ d: 2 }));
  it('keeps the place of a field', () =>
    expect(Object.keys(withValue({ a: 1, b: 2, c: 3 }, 'b', 9))).toEqual(['a', 'b', 'c']));
  it('does not change the one before', () => {
    const before = { a: { b: 1 } };
    withValue(before, 'a.b', 2);
    expect(before).toEqual({ a: { b: 1 } });
  });
  it.each([
    ['3', 3],
    ['0.5', 0.5],
    ['', undefined],
    ['many', 'many'],
  ])('%j is entered as %j', (text, value) => expect(numberOrText(text)).toBe(value));
  it('reads lists', () => expect(listOrNothing('a, b,,', ',')).toEqual(['a', 'b']));
  it.each([
    [['sh', '-c', 'date'], true],
    [[], true],
    [['sh', '-c', 'cd /data\ntar c .'], false],
    [['echo', ''], false],
    [['printf', ' %s'], false],
  ])('knows whether %j can be shown one a line', (entries, isSame) =>
    expect(comesBack(entries, '\n')).toBe(isSame),
  );
});

describe('an update', () => {
  it('says what is to be gone', () =>
    expect(
      updateBody({ name: 'web', labels: { a: '1' }, secrets: [{ name: 'A' }] }, { name: 'web', replicas: 2 }),
    ).toEqual({ name: 'web', replicas: 2, labels: null, secrets: [] }));
  it('starts from what was stored, without what the server owns', () =>
    expect(draftOf({ name: 'web', id: 'dep_1', status: {}, secretsVersion: 3, secrets: [] })).toEqual({
      name: 'web',
    }));
});

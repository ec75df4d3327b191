import { expect, it } from 'vitest';
import { negotiated, releasesApart } from './releases.ts';

it.each([
  ['0.1.0', '0.1.0', 0],
  ['0.1.0', '0.1.7', 0],
  ['0.1.0', '0.2.0', 1],
  ['0.2.0-rc.1', '0.1.0', 1],
  ['0.1.0', '0.3.0', 2],
  ['0.9.2', '1.0.0', 1],
  ['1.0.0', '0.9.2', 1],
  ['0.9.2', '1.1.0', 2],
  ['1.4.0', '3.0.0', 2],
  ['test', '0.3.0', 0],
  ['0.3.0', '', 0],
])('%s and %s are %i apart', (one, other, apart) => {
  expect(releasesApart(one, other)).toBe(apart);
  expect(releasesApart(other, one)).toBe(apart);
});

it.each([
  [1, 1, 1, 1, 1],
  [1, 2, 1, 1, 1],
  [1, 2, 2, 3, 2],
  [2, 3, 1, 2, 2],
  [1, 3, 1, 3, 3],
  [1, 1, 2, 2, undefined],
  [3, 4, 1, 2, undefined],
])('who speaks %i to %i and %i to %i agree on %s', (oldest, newest, otherOldest, otherNewest, agreed) => {
  const [one, other] = [
    { oldest, newest },
    { oldest: otherOldest, newest: otherNewest },
  ];
  expect(negotiated(one, other)).toBe(agreed);
  expect(negotiated(other, one)).toBe(agreed);
});

import { expect, it } from 'vitest';
import { sparkline } from './sparkline.ts';

it('draws from zero to the highest, and a dot where nothing is known', () => {
  expect(sparkline([0, 1, null, 2, 4])).toBe('▁▃·▅█');
  expect(sparkline([null, 0, 0])).toBe('·▁▁');
  expect(sparkline([])).toBe('');
});

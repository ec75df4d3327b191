import { expect, it } from 'vitest';
import { Repairs } from './repairs.ts';

it('tells what was set right, for a while', () => {
  const repairs = new Repairs();
  expect(repairs.problem(0)).toBeUndefined();
  repairs.note('the interface', 1_000);
  expect(repairs.problem(61_000)).toMatch(
    /^the interface of the tenant's network had been removed .*nftables/,
  );
  expect(repairs.problem(601_000)).toBeUndefined();
});

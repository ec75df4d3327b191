import { expect, it } from 'vitest';
import { LabelIndex } from './label-index.ts';

it('answers the carriers of the rarest label and forgets labels that went', () => {
  const index = new LabelIndex();
  index.replace(0, undefined, { disk: 'ssd', zone: 'a' });
  index.replace(1, undefined, { disk: 'ssd' });
  expect(index.rarest({})).toBeUndefined();
  expect([...(index.rarest({ disk: 'ssd' }) ?? [])]).toEqual([0, 1]);
  expect([...(index.rarest({ disk: 'ssd', zone: 'a' }) ?? [])]).toEqual([0]);
  expect(index.rarest({ disk: 'ssd', gpu: 'a100' })?.size).toBe(0);
  index.replace(0, { disk: 'ssd', zone: 'a' }, { zone: 'b' });
  index.replace(1, { disk: 'ssd' }, undefined);
  expect(index.rarest({ disk: 'ssd' })?.size).toBe(0);
  expect(index.rarest({ zone: 'a' })?.size).toBe(0);
  expect([...(index.rarest({ zone: 'b' }) ?? [])]).toEqual([0]);
});

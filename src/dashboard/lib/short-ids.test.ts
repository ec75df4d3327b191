import { expect, it } from 'vitest';
import { shortIds } from './short-ids.ts';

it('shortens ids of records, and nothing that only resembles one', () => {
  expect(shortIds('instance ins_01m7mqh4dx6qn8w2v103ykvtvv of api on berlin-1 is gone')).toBe(
    'instance 03ykvtvv of api on berlin-1 is gone',
  );
  expect(shortIds('bak_01m7mqh74n6gjypv7200a2kzdc created: pg as of version 1')).toBe(
    '00a2kzdc created: pg as of version 1',
  );
  const others = 'image_pull_failed of ins_short, berth_pat_01m7mqh74n6gjypv7200a2kzdcx';
  expect(shortIds(others)).toBe(others);
});

import { expect, it } from 'vitest';
import { standingOf } from './instance-standing.ts';

it('says of an instance what was seen while its node answers, and that nothing is known otherwise', () => {
  expect(standingOf({ state: 'running', health: 'healthy' })).toEqual({
    state: 'running',
    health: 'healthy',
  });
  expect(standingOf({ state: 'running', health: 'healthy', nodeStatus: 'failed' })).toEqual({
    state: 'unknown (node failed)',
  });
  expect(standingOf({ state: 'running', nodeStatus: 'lost' })).toEqual({ state: 'unknown (node lost)' });
});

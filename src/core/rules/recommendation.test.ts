import { expect, it } from 'vitest';
import type { Recommendation } from '../model/recommendation.ts';
import { isRejection } from '../rejections/reject.ts';
import { appliedChange } from './recommendation.ts';

const GROW: Recommendation = {
  id: 'rec_1',
  applicable: true,
  type: 'capacity',
  priority: 'high',
  volume_id: 'vol_1',
  parameters: { action: 'resize', target_size_bytes: 2_147_483_648 },
  reason: '',
};
const COPY: Recommendation = { ...GROW, parameters: { action: 'set_replicas', target_replicas: 1 } };

function refused(recommendation: Recommendation, parameters: unknown) {
  const read = appliedChange(recommendation, parameters);
  if (!isRejection(read)) throw new Error(JSON.stringify(read));
  return read;
}

it.each([0, 1.5, 1e300, '1'])('says what is wrong with %j copies, and up to what it is taken', (target) => {
  const { expected, why } = refused(COPY, { target_replicas: target });
  expect(expected).toBe('an integer from 1 to 9007199254740991');
  expect(why).toContain(typeof target === 'number' ? 'outside the range' : 'without a unit');
});

it('shows a parameter of the other action as it was sent, and what is in none of its own redacted', () => {
  expect(refused(GROW, { target_replicas: 1 }).received).toBe('1');
  expect(refused(GROW, { target_size: 'hunter2' }).received).toBe('(redacted, string, 7 bytes)');
});

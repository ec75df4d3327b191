import { expect, it } from 'vitest';
import { canaryDraftRejection } from './canary.ts';

it.each([
  [0, 'at least one instance'],
  [101, 'maxReplicasPerDeployment'],
])('says why a canary has not %d instances', (replicas, why) => {
  const rejection = canaryDraftRejection({ image: 'nginx:1.27', replicas }, 100);
  expect(rejection).toMatchObject({ field: 'replicas', expected: 'an integer from 1 to 100' });
  expect(rejection?.why).toContain(why);
});

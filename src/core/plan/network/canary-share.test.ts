import { describe, expect, it } from 'vitest';
import { canaryShares } from './canary-share.ts';

const [stable, canary] = [{ isCanary: false }, { isCanary: true }];

describe('connections to a deployment and its canary', () => {
  it('are divided by its weight, whatever the number of instances', () => {
    for (const weight of [0, 1, 10, 50, 99, 100]) {
      const all = [stable, canary, stable, stable, canary];
      const shares = canaryShares(all, weight) ?? [];
      const total = shares.reduce((sum, share) => sum + share, 0);
      const ofCanary = (shares[1] ?? 0) + (shares[4] ?? 0);
      expect((100 * ofCanary) / total).toBe(weight);
      expect([shares[2], shares[3], shares[4]]).toEqual([shares[0], shares[0], shares[1]]);
    }
  });

  it('are divided evenly without one, and among one kind', () => {
    expect(canaryShares([stable, canary], undefined)).toBeUndefined();
    expect(canaryShares([stable, stable], 10)).toBeUndefined();
    expect(canaryShares([canary], 0)).toBeUndefined();
  });
});

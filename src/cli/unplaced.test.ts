import { describe, expect, it } from 'vitest';
import { isLasting, isUnplaced } from './unplaced.ts';

const node = (...filters: readonly string[]) => ({ reasons: filters.map((filter) => ({ filter })) });
const record = (phase: string, placed: number, ...hashes: readonly string[]) => ({
  specHash: 'new',
  status: { phase, placed, desired: 2, instances: hashes.map((specHash) => ({ specHash })) },
});

describe('a deployment that no node takes', () => {
  it('is one with fewer places than instances, and no earlier version that makes room', () => {
    expect(isUnplaced(record('Pending', 0))).toBe(true);
    expect(isUnplaced(record('Degraded', 1, 'new'))).toBe(true);
    expect(isUnplaced(record('Degraded', 1, 'new', 'old'))).toBe(false);
    expect(isUnplaced(record('Progressing', 1, 'new'))).toBe(false);
    expect(isUnplaced(record('Degraded', 2, 'new', 'new'))).toBe(false);
  });

  it('is not worth waiting for when each node has a reason that does not pass, or there is none', () => {
    expect(isLasting([])).toBe(true);
    expect(isLasting([node('host-port'), node('capacity', 'session')])).toBe(true);
    expect(isLasting([node('host-port'), node('session')])).toBe(false);
    expect(isLasting([node('volume')])).toBe(false);
    expect(isLasting([node()])).toBe(false);
  });
});

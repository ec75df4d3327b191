import { availableParallelism } from 'node:os';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StolenTime } from './stolen-time.ts';

let taken = 0;
let stolen: StolenTime;
let beganMs = 0;

/** What is said at `until` of something that waited since `from`, when the machine had lost so much of all its processors since it began. */
function during(from: number, until: number, lost: number): boolean {
  taken = lost * availableParallelism();
  return stolen.since(beganMs + from, beganMs + until);
}

beforeEach(() => {
  taken = 0;
  stolen = new StolenTime(() => taken);
  beganMs = performance.now();
  stolen.end();
});
afterEach(() => stolen.end());

describe('time that the host gave to other machines', () => {
  it('is during what waited meanwhile, and for seconds later, and not before or long after', () => {
    expect(during(500, 1000, 0)).toBe(false);
    expect(during(1500, 1900, 0)).toBe(false);
    expect(during(1900, 2100, 300)).toBe(true);
    expect(during(4500, 5000, 300)).toBe(true);
    expect(during(6200, 6900, 300)).toBe(false);
  });

  it('is not what hardly takes anything', () => {
    expect(during(500, 1000, 0)).toBe(false);
    expect(during(1500, 2000, 40)).toBe(false);
  });

  it('is of the whole while something waits', () => {
    expect(during(500, 1000, 0)).toBe(false);
    expect(during(2000, 9000, 4000)).toBe(true);
  });
});

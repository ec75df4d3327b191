import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { Isolation } from './isolation.ts';

const LOOK_MS = 1000;
const membership = { certain: true, isRejoining: false };
let sentAway = 0;
let isolation: Isolation;

beforeEach(() => {
  vi.useFakeTimers();
  Object.assign(membership, { certain: true, isRejoining: false });
  sentAway = 0;
  isolation = new Isolation({
    membership,
    othersReach: async () => true,
    onIsolated: () => {
      sentAway += 1;
    },
  });
});

afterEach(() => {
  isolation.close();
  vi.useRealTimers();
});

const looks = (count: number) => vi.advanceTimersByTimeAsync(count * LOOK_MS);

it('sends agents away once when the store is out of reach for two looks', async () => {
  await looks(3);
  membership.certain = false;
  await looks(1);
  expect(sentAway).toBe(0);
  await looks(5);
  expect(sentAway).toBe(1);
  membership.certain = true;
  await looks(1);
  membership.certain = false;
  await looks(2);
  expect(sentAway).toBe(2);
});

it('keeps them when the first look after a pause finds the lease over, and the second one does not', async () => {
  membership.certain = false;
  await looks(1);
  membership.certain = true;
  await looks(1);
  membership.certain = false;
  await looks(1);
  expect(sentAway).toBe(0);
});

it('keeps them while the process joins again, and not when that fails', async () => {
  Object.assign(membership, { certain: false, isRejoining: true });
  await looks(5);
  expect(sentAway).toBe(0);
  membership.isRejoining = false;
  await looks(2);
  expect(sentAway).toBe(1);
});

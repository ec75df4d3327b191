import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, expect, it } from 'vitest';
import { LoopStalls } from './loop-stalls.ts';

const stalls = new LoopStalls(1000);
afterEach(() => stalls.close());

it('knows how long the event loop stood still, and when that ended', async () => {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600);
  // Before its timer had a turn, and after.
  expect(stalls.within(1000)).toBeGreaterThanOrEqual(599);
  await delay(20);
  expect(stalls.within(1000)).toBeGreaterThanOrEqual(599);
  expect(stalls.within(1)).toBe(0);
  stalls.close();
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 600);
  expect(stalls.within(300)).toBe(0);
});

import { expect, it } from 'vitest';
import { RunningTime } from './clock.ts';

function clockAt(ms: number) {
  const clock = { ms };
  return { clock, time: new RunningTime(() => clock.ms) };
}

it('running time goes on with the clock while somebody looks at it', () => {
  const { clock, time } = clockAt(500);
  for (; clock.ms < 60_000; clock.ms += 1500) expect(time.ms).toBe(clock.ms);
  clock.ms = 60_000;
  expect(time.ms).toBe(60_000);
});

it('running time stands still while the process is suspended', () => {
  const { clock, time } = clockAt(0);
  clock.ms = 1000;
  expect(time.ms).toBe(1000);
  clock.ms = 3_600_000;
  // As much as between two looks passes in each pause.
  expect(time.ms).toBe(2000);
  clock.ms += 900;
  expect(time.ms).toBe(2900);
});

it('running time is not stopped by a thread that is held up again and again', () => {
  const { clock, time } = clockAt(0);
  for (let pause = 0; pause < 10; pause += 1) {
    clock.ms += 2500;
    expect(time.ms).toBe((pause + 1) * 1000);
  }
});

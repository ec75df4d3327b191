import { setTimeout as pause } from 'node:timers/promises';
import { MessageChannel } from 'node:worker_threads';
import { expect, it } from 'vitest';
import { RunningTime, RunningTimeout } from './clock.ts';

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

it('a timeout comes after answers that arrived before it was over', async () => {
  let isOver = false;
  const timeout = new RunningTimeout(() => (isOver = true), 30);
  const { port1, port2 } = new MessageChannel();
  port2.once('message', () => {
    timeout.clear();
    port2.close();
  });
  port1.postMessage('there, and taken when this thread goes on');
  for (const end = performance.now() + 100; performance.now() < end; );
  await pause(100);
  expect(isOver).toBe(false);
});

it('a timeout comes when nothing does', async () => {
  const begun = performance.now();
  await new Promise<void>((resolve) => void new RunningTimeout(resolve, 30));
  expect(performance.now() - begun).toBeGreaterThanOrEqual(28);
});

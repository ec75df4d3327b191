import { Counter, Histogram, Registry } from 'prom-client';
import { expect, it } from 'vitest';
import { talliedCounter, talliedHistogram } from './tallied.ts';

const BUCKETS = [0.1, 1, 10];
const described = { name: 'seconds', help: 'Time.', labelNames: ['route'] } as const;

it('what is tallied is shown as the library shows its own', async () => {
  const [own, tallied] = [new Registry(), new Registry()];
  const histogram = new Histogram({ ...described, buckets: BUCKETS, registers: [own] });
  const observe = talliedHistogram({ ...described, registry: tallied }, BUCKETS);
  const counted = { ...described, name: 'requests' };
  const counter = new Counter({ ...counted, registers: [own] });
  const count = talliedCounter({ ...counted, registry: tallied });
  for (const route of ['a', 'b']) {
    const [seen, told] = [observe({ route }), count({ route })];
    for (const value of [0, 0.05, 0.1, 0.5, 1, 9, 10, 11, 1000]) {
      histogram.observe({ route }, value);
      seen(value);
      counter.inc({ route });
      told();
    }
  }
  expect(await tallied.metrics()).toBe(await own.metrics());
});

import { afterAll, describe, expect, it } from 'vitest';
import { inTier } from '../fault-tier.ts';
import { describeRun, runSequence, shrink } from './run.ts';

/**
 * Random sequences over the API, held to what Berth promises. PROMISE_SEED repeats one sequence, PROMISE_SEEDS sets their number,
 * PROMISE_FIRST where they begin.
 */
const ONE = process.env['PROMISE_SEED'];
const SEEDS = Number(process.env['PROMISE_SEEDS'] ?? inTier({ usual: 80, long: 20_000 }));
const FIRST = Number(process.env['PROMISE_FIRST'] ?? 1);
/** Also in every run: here the rarest of the planted mistakes is looked for. All others are among the first. */
const RARE = { from: 2000, count: 20 };
/** Of one block. */
const TIMEOUT_MS = 900_000;
const BLOCK = 20;

function seedsOf(part: number, of: number): readonly number[] {
  if (ONE !== undefined) return part === 0 ? [Number(ONE)] : [];
  const asked = Array.from({ length: SEEDS }, (_, at) => FIRST + at);
  const rare = Array.from({ length: RARE.count }, (_, at) => RARE.from + at);
  const seeds = process.env['PROMISE_SEEDS'] === undefined ? new Set([...asked, ...rare]) : new Set(asked);
  return [...seeds].filter((seed) => seed % of === part);
}

/** One of several files with a share of the sequences each, so that they run side by side. */
export function promiseTests({ part, of }: { readonly part: number; readonly of: number }): void {
  const seeds = seedsOf(part, of);
  const blocks = Array.from({ length: Math.ceil(seeds.length / BLOCK) }, (_, at) =>
    seeds.slice(at * BLOCK, (at + 1) * BLOCK),
  );
  const total = { steps: 0, deliveries: 0, judged: new Map<string, number>() };
  describe.skipIf(seeds.length === 0)('what is promised', () => {
    afterAll(() => {
      const counts = [...total.judged].map(([law, count]) => `${law} ${count}`).sort();
      console.log(`${total.steps} steps, ${total.deliveries} deliveries; judged: ${counts.join(', ')}`);
    });
    it.each(blocks.map((block) => ({ first: block[0], last: block.at(-1), block })))(
      'holds in the sequences from $first to $last',
      { timeout: TIMEOUT_MS },
      async ({ block }) => {
        for (const seed of block) {
          const run = await runSequence(seed);
          total.steps += run.steps;
          total.deliveries += run.deliveries;
          for (const [law, count] of run.judged) total.judged.set(law, (total.judged.get(law) ?? 0) + count);
          if (run.broken !== undefined) expect.fail(describeRun(await shrink(run)));
        }
      },
    );
  });
}

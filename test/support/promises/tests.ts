import { describe, expect, it } from 'vitest';
import { inTier } from '../fault-tier.ts';
import { describeRun, type Run, runSequence, shrink } from './run.ts';

/**
 * Random sequences over the API, held to what Berth promises. PROMISE_SEED repeats one sequence, PROMISE_SEEDS sets their number,
 * PROMISE_FIRST where they begin.
 */
const ONE = process.env['PROMISE_SEED'];
const SEEDS = Number(process.env['PROMISE_SEEDS'] ?? inTier({ usual: 2000, long: 20_000 }));
const FIRST = Number(process.env['PROMISE_FIRST'] ?? 1);
const TIMEOUT_MS = inTier({ usual: 900_000, long: 7_200_000 });

function seedsOf(part: number, of: number): readonly number[] {
  if (ONE !== undefined) return part === 0 ? [Number(ONE)] : [];
  return Array.from({ length: SEEDS }, (_, at) => FIRST + at).filter((seed) => seed % of === part);
}

/** One of several files with a share of the sequences each, so that they run side by side. */
export function promiseTests({ part, of }: { readonly part: number; readonly of: number }): void {
  const seeds = seedsOf(part, of);
  describe.skipIf(seeds.length === 0)('what is promised', () => {
    it(`holds in ${seeds.length} sequences`, { timeout: TIMEOUT_MS }, async () => {
      const judged = new Map<string, number>();
      const failed: Run[] = [];
      let steps = 0;
      let deliveries = 0;
      const started = performance.now();
      for (const seed of seeds) {
        const run = await runSequence(seed);
        steps += run.steps;
        deliveries += run.deliveries;
        for (const [law, count] of run.judged) judged.set(law, (judged.get(law) ?? 0) + count);
        if (run.broken === undefined) continue;
        failed.push(run);
        if (failed.length === 3) break;
      }
      const spent = ((performance.now() - started) / 1000).toFixed(1);
      const counts = [...judged].map(([law, count]) => `${law} ${count}`).sort();
      console.log(
        `${seeds.length} sequences, ${steps} steps, ${deliveries} deliveries in ${spent} s; judged: ${counts.join(', ')}`,
      );
      const shrunk = [];
      for (const run of failed) shrunk.push(describeRun(await shrink(run)));
      expect(shrunk.join('\n')).toBe('');
    });
  });
}

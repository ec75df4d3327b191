import { describe, expect, it } from 'vitest';
import { inTier } from '../support/fault-tier.ts';
import { describeRun, type Run, simulate } from '../support/simulation/run.ts';

/**
 * S-01, S-04: control plane, agents, engines and store on one virtual clock, with faults by seed and laws that are judged at
 * every change. SIM_SEED repeats one seed, SIM_SEEDS sets their number, SIM_FIRST where they begin.
 */
const ONE = process.env['SIM_SEED'];
const SEEDS = Number(process.env['SIM_SEEDS'] ?? inTier({ usual: 60, long: 5000 }));
const FIRST = Number(process.env['SIM_FIRST'] ?? 1);
const TIMEOUT_MS = inTier({ usual: 240_000, long: 3_600_000 });
const LAWS = [
  'brake',
  'capacity',
  'count',
  'health',
  'kept spec',
  'liveness',
  'monotone',
  'one container',
  'one place',
  'orders',
  'placement',
  'quota',
  'rollout',
  'verdict',
];

describe('a simulated installation', () => {
  it(`keeps its laws under faults in ${ONE ?? SEEDS} seeds`, { timeout: TIMEOUT_MS }, async () => {
    const seeds = ONE === undefined ? Array.from({ length: SEEDS }, (_, at) => FIRST + at) : [Number(ONE)];
    const judged = new Map<string, number>();
    const failed: Run[] = [];
    let virtualMs = 0;
    const started = performance.now();
    for (const seed of seeds) {
      const run = await simulate(seed);
      virtualMs += run.virtualMs;
      for (const [law, count] of run.judged) judged.set(law, (judged.get(law) ?? 0) + count);
      if (run.broken !== undefined) failed.push(run);
    }
    const spent = ((performance.now() - started) / 1000).toFixed(1);
    const counts = [...judged].map(([law, count]) => `${law} ${count}`).sort();
    console.log(
      `${seeds.length} seeds from ${seeds[0]}, ${(virtualMs / 3_600_000).toFixed(1)} simulated hours in ${spent} s; ` +
        `${failed.length} failed; judged: ${counts.join(', ')}`,
    );
    expect(failed.slice(0, 3).map(describeRun).join('\n')).toBe('');
    // A law that had nothing to judge proves nothing.
    if (seeds.length >= 100) expect([...judged.keys()].sort()).toEqual(LAWS);
  });

  it('runs alike twice from one seed', { timeout: TIMEOUT_MS }, async () => {
    for (const seed of [1, 2, 3, 4, 5]) {
      const first = await simulate(seed);
      expect((await simulate(seed)).trace).toBe(first.trace);
    }
  });
});

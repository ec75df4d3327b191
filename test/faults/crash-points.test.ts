import { describe, expect, it } from 'vitest';
import { crashEverywhere } from '../support/simulation/crash-run.ts';
import { RECONCILE_PATHS } from '../support/simulation/reconcile-paths.ts';

/**
 * F-03: each path runs once without a fault, and its commits and engine calls are counted; then once for each of them with a death
 * just before and just after it: of the control plane at a commit, of the agent at a call. All of them, in every run.
 */
describe('a crash before and after every commit and engine call', () => {
  it.each(RECONCILE_PATHS)('$name', { timeout: 240_000 }, async (path) => {
    const { name, points, crashes, slowestMs, freeMs, failures } = await crashEverywhere(path);
    console.log(
      `${name}: ${points} points, ${crashes} crashes, ${points - failures.length} converged, ${failures.length} lost; ` +
        `${(freeMs / 1000).toFixed(1)} s without a crash, at most ${(slowestMs / 1000).toFixed(1)} s more with one`,
    );
    expect(failures.slice(0, 5).join('\n')).toBe('');
    expect(crashes).toBe(points);
    expect(points).toBeGreaterThan(0);
  });
});

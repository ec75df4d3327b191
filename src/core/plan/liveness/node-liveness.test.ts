import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { NodeName } from '../../model/ids.ts';
import {
  beat,
  firstPulse,
  forgiveSilence,
  type JudgedNode,
  judgeNodes,
  livenessTimings,
  LIVENESS_TIMINGS as TIMINGS,
  type NodePulse,
  noteFailure,
} from './node-liveness.ts';

const NOW = 1_000_000;
const LONG_AGO = 0;

function node(
  name: string,
  silenceMs: number,
  altered: Partial<JudgedNode> = {},
  pulse: Partial<NodePulse> = {},
): JudgedNode {
  return {
    name: name as NodeName,
    pulse: { ...firstPulse(LONG_AGO), heard: true, lastBeatMs: NOW - silenceMs, ...pulse },
    status: 'ready',
    lost: false,
    controlPlane: false,
    ...altered,
  };
}

function judge(nodes: readonly JudgedNode[], startedMs = LONG_AGO) {
  return judgeNodes({ nodes, nowMs: NOW, startedMs, brake: false, timings: TIMINGS });
}

/** Enough healthy company that the brake does not come on. */
const COMPANY = ['x', 'y', 'z'].map((name) => node(name, 0));

describe('node liveness', () => {
  it.each<readonly [string, JudgedNode, string, boolean]>([
    ['beats', node('a', 4_000), 'ready', false],
    ['just below the limit', node('a', 14_999), 'ready', false],
    ['silent', node('a', 15_000), 'failed', false],
    ['silent for a minute', node('a', 60_000, { status: 'failed' }), 'failed', true],
    ['returns', node('a', 0, { status: 'failed', lost: true }), 'ready', false],
    ['the machine of the control plane', node('a', 500_000, { controlPlane: true }), 'ready', false],
    [
      'failed and not heard of since the start',
      node('a', 5_000, { status: 'failed' }, { heard: false }),
      'failed',
      false,
    ],
    [
      'flaps, not steady yet',
      node(
        'a',
        1_000,
        { status: 'failed' },
        { failures: [NOW - 60_000, NOW - 20_000], steadySinceMs: NOW - 8_000 },
      ),
      'failed',
      false,
    ],
    [
      'flapped, steady again',
      node(
        'a',
        1_000,
        { status: 'failed' },
        { failures: [NOW - 60_000, NOW - 20_000], steadySinceMs: NOW - 17_000 },
      ),
      'ready',
      false,
    ],
    [
      'failed twice, long apart',
      node(
        'a',
        1_000,
        { status: 'failed' },
        { failures: [NOW - 700_000, NOW - 20_000], steadySinceMs: NOW - 2_000 },
      ),
      'ready',
      false,
    ],
  ])('%s', (_what, judged, status, lost) => {
    expect(judge([judged, ...COMPANY]).nodes[0]).toMatchObject({ name: 'a', status, lost });
  });

  it('fails no node within the grace after a start', () => {
    const silent = [node('a', 29_000, {}, { heard: false }), ...COMPANY];
    expect(judge(silent, NOW - 29_000).nodes[0]?.status).toBe('ready');
    expect(judge(silent, NOW - 30_000).nodes[0]?.status).toBe('failed');
  });

  it('says nothing of a node that never reported', () => {
    const { status: _none, ...unknown } = node('a', 0, {}, { heard: false });
    expect(judge([unknown]).nodes).toEqual([]);
  });

  it('tells a node without a session for longer than a redial from a connected one', () => {
    expect(judge([node('a', 0, {}, { closedMs: NOW - 4_999 })]).nodes[0]?.connected).toBe(true);
    expect(judge([node('a', 0, {}, { closedMs: NOW - 5_000 })]).nodes[0]?.connected).toBe(false);
  });

  it.each<readonly [number, number, boolean]>([
    [2, 1, false],
    [3, 1, false],
    [3, 2, true],
    [20, 11, false],
    [20, 12, true],
    [1, 1, true],
  ])('of %i nodes %i silent: brake %s', (all, silent, brake) => {
    const nodes = Array.from({ length: all }, (_, at) => node(`n${at}`, at < silent ? 90_000 : 0));
    const verdicts = judge(nodes);
    expect(verdicts.brake).toBe(brake);
    expect(verdicts.nodes.some((one) => one.lost)).toBe(!brake);
  });

  it('does not hold losses of the past against those of today', () => {
    const old = ['o1', 'o2', 'o3', 'o4'].map((name) => node(name, 900_000, { status: 'failed', lost: true }));
    expect(judge([...old, node('a', 90_000), node('b', 0)]).brake).toBe(false);
    expect(judge([...old, node('a', 90_000), node('b', 90_000)])).toMatchObject({
      brake: true,
      failing: ['a', 'b'],
    });
    expect(
      judge([...old, node('a', 90_000), node('b', 90_000)]).nodes.filter((one) => one.lost),
    ).toHaveLength(4);
  });

  it('forgives silence of the time in which the process did not run', () => {
    const alive = forgiveSilence(
      { ...firstPulse(0), heard: true, lastBeatMs: NOW - 93_000 },
      NOW,
      90_000,
      TIMINGS.failAfterMs,
    );
    expect(alive.lastBeatMs).toBe(NOW);
    const dead = forgiveSilence(
      { ...firstPulse(0), heard: true, lastBeatMs: NOW - 120_000 },
      NOW,
      90_000,
      TIMINGS.failAfterMs,
    );
    expect(NOW - dead.lastBeatMs).toBe(30_000);
  });

  it('counts beats as steady only without a gap', () => {
    const first = beat(firstPulse(0), 1_000, TIMINGS);
    const second = beat(first, 6_000, TIMINGS);
    expect(second.steadySinceMs).toBe(1_000);
    expect(beat(second, 21_000, TIMINGS).steadySinceMs).toBe(21_000);
    expect(noteFailure(noteFailure(noteFailure(first, 1), 2), 3).failures).toEqual([2, 3]);
  });

  it('replaces nothing of a node that was heard of within a minute, nor while the brake holds', () => {
    const judged = fc.record({
      silenceMs: fc.integer({ min: 0, max: 200_000 }),
      status: fc.constantFrom('ready' as const, 'failed' as const),
      controlPlane: fc.boolean(),
    });
    fc.assert(
      fc.property(fc.array(judged, { minLength: 1, maxLength: 8 }), (samples) => {
        const nodes = samples.map(({ silenceMs, ...sample }, at) => node(`n${at}`, silenceMs, sample));
        const { nodes: verdicts, brake } = judge(nodes);
        for (const [at, verdict] of verdicts.entries()) {
          const sample = samples[at];
          if (brake) expect(verdict.lost).toBe(false);
          if ((sample?.silenceMs ?? 0) < TIMINGS.replaceAfterMs) expect(verdict.lost).toBe(false);
          if (sample?.controlPlane) expect(verdict.status).toBe('ready');
        }
      }),
      { numRuns: 1000 },
    );
  });

  it('keeps the proportions of the spans that nobody sets', () => {
    expect(livenessTimings({ failAfterMs: 15_000, replaceAfterMs: 60_000, startGraceMs: 30_000 })).toEqual(
      TIMINGS,
    );
    const quick = livenessTimings({ failAfterMs: 1_500, replaceAfterMs: 3_000, startGraceMs: 2_000 });
    expect(quick).toMatchObject({ lateAfterMs: 500, redialMs: 500, steadyMs: 1_500, brakeShare: 0.55 });
  });
});

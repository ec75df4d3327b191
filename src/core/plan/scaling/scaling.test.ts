import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { decideScaling, type ScalingDecision, type ScalingInput, type ScalingMemory } from './scaling.ts';

const POLICY = { floor: 1, ceiling: 10, targetPercent: 50, cooldownMs: 60_000, intervalMs: 15_000 } as const;

/** A deployment whose number follows the decisions, looked at every 15 s. */
class Course {
  replicas: number;
  memory: ScalingMemory | undefined;
  nowMs = 0;
  readonly changes: { readonly atMs: number; readonly from: number; readonly to: number }[] = [];
  readonly input: Partial<ScalingInput>;

  constructor(replicas: number, input: Partial<ScalingInput> = {}) {
    this.replicas = replicas;
    this.input = input;
  }

  look(
    loads: (replicas: number) => readonly (number | undefined)[],
    more: Partial<ScalingInput> = {},
  ): ScalingDecision {
    const decision = decideScaling({
      ...POLICY,
      ...this.input,
      replicas: this.replicas,
      specHash: 'a',
      loads: loads(this.replicas),
      ...(this.memory && { memory: this.memory }),
      nowMs: this.nowMs,
      ...more,
    });
    this.memory = decision.memory;
    if (decision.to !== undefined) {
      this.changes.push({ atMs: this.nowMs, from: this.replicas, to: decision.to });
      this.replicas = decision.to;
    }
    this.nowMs += POLICY.intervalMs;
    return decision;
  }

  looks(count: number, ...args: Parameters<Course['look']>): void {
    for (let look = 0; look < count; look += 1) this.look(...args);
  }
}

const each = (percent: number | undefined) => (replicas: number) =>
  Array.from({ length: replicas }, () => percent);
/** So many per cent of one instance's share, spread evenly. */
const work = (total: number) => (replicas: number) =>
  Array.from({ length: replicas }, () => total / replicas);

describe('a scaling policy', () => {
  it.each([
    ['at the target', 2, 50, 'the load is near the target'],
    ['idle at the least', 1, 2, 'the load asks for fewer; 1 is the least'],
    ['busy at the most', 10, 99, 'the load asks for more; 10 is the most'],
  ])('says why the number stays: %s', (_what, replicas, percent, message) => {
    const course = new Course(replicas);
    course.looks(6, each(percent));
    expect(course.look(each(percent)).message).toBe(message);
  });

  it('goes up to what the load asks for, after a cooldown and more than one reading', () => {
    const course = new Course(2);
    course.looks(4, each(100));
    expect(course.changes).toEqual([]);
    const { cause, percent, to } = course.look(each(100));
    expect({ cause, percent, to }).toEqual({ cause: 'load', percent: 100, to: 4 });
  });

  it('goes down only after a whole cooldown of low load', () => {
    const course = new Course(4);
    course.looks(20, each(50));
    course.looks(4, each(10));
    expect(course.changes).toEqual([]);
    course.look(each(10));
    // To the most that any reading of the cooldown asked for; the first one was not far below the target yet.
    expect(course.replicas).toBe(3);
    course.looks(5, each(10));
    expect(course.replicas).toBe(1);
  });

  it('stays within the tolerance of the target', () => {
    for (const percent of [45, 46, 54, 55]) {
      const course = new Course(10, { ceiling: 20 });
      course.looks(40, each(percent));
      expect(course.changes, String(percent)).toEqual([]);
    }
    const course = new Course(10, { ceiling: 20 });
    course.looks(40, work(560));
    expect(course.replicas).toBe(12);
  });

  it('lets one peak alone pass', () => {
    const course = new Course(2);
    course.looks(10, each(40));
    course.look(each(65));
    course.looks(10, each(40));
    expect(course.changes).toEqual([]);
  });

  it('moves into its bounds without any measurement, and leaves a stopped deployment stopped', () => {
    expect(new Course(1, { floor: 3 }).look(each(undefined))).toMatchObject({ to: 3, cause: 'bounds' });
    expect(new Course(9, { ceiling: 5 }).look(each(undefined))).toMatchObject({ to: 5, cause: 'bounds' });
    expect(new Course(0, { floor: 3 }).look(() => [])).toMatchObject({
      paused: true,
      memory: { replicas: 0 },
    });
  });

  it('does nothing while something else is under way', () => {
    const course = new Course(2, { floor: 3, hold: 'a canary runs' });
    course.looks(20, each(100));
    expect(course.changes).toEqual([]);
    expect(course.look(each(100))).toMatchObject({ paused: true, message: 'a canary runs' });
  });

  it('counts an instance without a measurement as idle when going up, and never goes down with one', () => {
    const up = new Course(2);
    up.looks(10, (n) => [150, ...Array.from({ length: n - 1 }, () => undefined)]);
    expect(up.changes[0]).toMatchObject({ from: 2, to: 3 });
    const down = new Course(4);
    down.looks(100, (n) => [0, ...Array.from({ length: n - 2 }, () => 0), undefined]);
    expect(down.changes).toEqual([]);
    expect(down.look((n) => [...Array.from({ length: n - 1 }, () => 0), undefined]).message).toContain(
      '1 of 4 instances have no recent measurement',
    );
  });

  it('starts a cooldown when somebody else changes the number', () => {
    const course = new Course(2);
    course.looks(10, each(50));
    course.replicas = 4;
    course.looks(4, each(100));
    expect(course.changes).toEqual([]);
    course.look(each(100));
    expect(course.replicas).toBe(8);
  });

  it('does not carry the load of one spec on to another', () => {
    const course = new Course(2, { cooldownMs: 0 });
    course.looks(1, each(100));
    expect(course.look(each(0), { specHash: 'b' })).toMatchObject({ percent: 0 });
  });

  it('holds its laws in every history', () => {
    const moment = fc.record({
      load: fc.option(fc.double({ min: 0, max: 400, noNaN: true }), { nil: undefined }),
      missing: fc.integer({ min: 0, max: 2 }),
      hold: fc.boolean(),
    });
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 12 }),
        fc.integer({ min: 1, max: 5 }),
        fc.integer({ min: 0, max: 8 }),
        fc.array(moment, { maxLength: 60 }),
        (start, floor, span, moments) => {
          const ceiling = floor + span;
          const course = new Course(start, { floor, ceiling });
          let lastMissingMs = Number.NEGATIVE_INFINITY;
          for (const { load, missing, hold } of moments) {
            const before = course.replicas;
            const atMs = course.nowMs;
            const previous = course.changes.at(-1)?.atMs ?? Number.NEGATIVE_INFINITY;
            const loads = (n: number) =>
              Array.from({ length: n }, (_, i) => (i < missing ? undefined : load));
            if (load === undefined || missing > 0) lastMissingMs = atMs;
            const decision = course.look(loads, hold ? { hold: 'held' } : {});
            if (decision.to === undefined) continue;
            expect(hold).toBe(false);
            expect(course.replicas).toBeGreaterThanOrEqual(floor);
            expect(course.replicas).toBeLessThanOrEqual(ceiling);
            expect(course.replicas).not.toBe(before);
            if (decision.cause === 'bounds') continue;
            expect(atMs - previous).toBeGreaterThanOrEqual(POLICY.cooldownMs);
            if (course.replicas < before) expect(atMs - lastMissingMs).toBeGreaterThan(POLICY.cooldownMs);
          }
        },
      ),
      { numRuns: 3000 },
    );
  });

  it('comes to rest under a steady load, with enough instances and not one too many beyond the tolerance', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 10 }),
        fc.double({ min: 0, max: 600, noNaN: true }),
        (start, total) => {
          const course = new Course(start);
          course.looks(150, work(total));
          const settled = course.changes.length;
          course.looks(50, work(total));
          expect(course.changes.length).toBe(settled);
          const percent = total / course.replicas;
          if (course.replicas < POLICY.ceiling) expect(percent).toBeLessThanOrEqual(55 + 1e-6);
          if (course.replicas > POLICY.floor) {
            const fewer = total / (course.replicas - 1);
            expect(percent >= 45 - 1e-6 || fewer > 50 - 1e-6).toBe(true);
          }
        },
      ),
      { numRuns: 1000 },
    );
  });
});

import { describe, expect, it } from 'vitest';
import { ClockSkew } from './clock-skew.ts';

const SERVER_MS = Date.parse('2030-01-01T00:00:00Z');
const DAY_MS = 86_400_000;

/** One or the other, never both. */
function told(skew: ClockSkew, nowMs: number, monotonicMs: number): string | undefined {
  const [fault, problem] = [skew.fault(nowMs, monotonicMs), skew.problem(nowMs, monotonicMs)];
  expect([fault, problem]).toContain(undefined);
  return fault ?? problem;
}

describe('a clock that differs from that of the control plane', () => {
  it.each<[string, number, RegExp | undefined]>([
    ['by seconds, as long as messages may take, is told to nobody', 40_000, undefined],
    ['by minutes', 4 * 60_000, /more than a minute ahead of the control plane's.*chrony/],
    ['by hours', -3 * 3_600_000, /more than an hour behind/],
    ['by years, as after an empty battery', -20 * 365 * DAY_MS, /more than a year behind/],
    ['by decades', 30 * 365 * DAY_MS, /more than a year ahead of/],
  ])('%s', (_what, skewMs, problem) => {
    const skew = new ClockSkew();
    skew.learn(SERVER_MS, 1_000);
    const later = 500_000;
    const said = told(skew, SERVER_MS + later + skewMs, 1_000 + later);
    if (problem === undefined) expect(said).toBeUndefined();
    else expect(said).toMatch(problem);
  });

  it('is not known of a control plane that does not say its time', () => {
    const skew = new ClockSkew();
    skew.learn(undefined, 0);
    expect(told(skew, 0, 0)).toBeUndefined();
  });

  it('jumps while a session lasts, and is set right', () => {
    const skew = new ClockSkew();
    skew.learn(SERVER_MS, 0);
    expect(told(skew, SERVER_MS + 10_000, 10_000)).toBeUndefined();
    expect(told(skew, SERVER_MS + 20_000 - DAY_MS, 20_000)).toMatch(/more than a day behind/);
    expect(told(skew, SERVER_MS + 30_000, 30_000)).toBeUndefined();
  });

  it('keeps work away from five minutes on, until it is less than one', () => {
    const skew = new ClockSkew();
    skew.learn(SERVER_MS, 0);
    const isFault = (minutes: number): boolean => skew.fault(SERVER_MS + minutes * 60_000, 0) !== undefined;
    expect([4.9, 5, 4.9, 1.1, 0.9, 4.9, -5, -1].map(isFault)).toEqual([
      false,
      true,
      true,
      true,
      false,
      false,
      true,
      true,
    ]);
  });

  it('is no more than what the way cannot explain', () => {
    const skew = new ClockSkew();
    // Ten minutes between hello and welcome: the other clock was read at some moment of them.
    skew.learn(SERVER_MS, 600_000, 600_000);
    const at = (minutes: number) => skew.fault(SERVER_MS + minutes * 60_000, 600_000);
    // It was read five minutes ago, give or take five.
    expect(at(5)).toBeUndefined();
    expect(at(14)).toBeUndefined();
    expect(at(15)).toMatch(/ahead/);
    expect(at(-5)).toMatch(/behind/);
  });
});

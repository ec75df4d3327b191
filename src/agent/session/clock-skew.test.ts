import { describe, expect, it } from 'vitest';
import { ClockSkew } from './clock-skew.ts';

const SERVER_MS = Date.parse('2030-01-01T00:00:00Z');
const DAY_MS = 86_400_000;

describe('a clock that differs from that of the control plane', () => {
  it.each<[string, number, RegExp | undefined]>([
    ['by seconds, as long as messages may take, is told to nobody', 40_000, undefined],
    ['by minutes', 5 * 60_000, /more than a minute ahead of the control plane's.*chrony/],
    ['by hours', -3 * 3_600_000, /more than an hour behind/],
    ['by years, as after an empty battery', -20 * 365 * DAY_MS, /more than a year behind/],
    ['by decades', 30 * 365 * DAY_MS, /more than a year ahead of/],
  ])('%s', (_what, skewMs, problem) => {
    const skew = new ClockSkew();
    skew.learn(SERVER_MS, 1_000);
    const later = 500_000;
    const said = skew.problem(SERVER_MS + later + skewMs, 1_000 + later);
    if (problem === undefined) expect(said).toBeUndefined();
    else expect(said).toMatch(problem);
  });

  it('is not known of a control plane that does not say its time', () => {
    const skew = new ClockSkew();
    skew.learn(undefined, 0);
    expect(skew.problem(0, 0)).toBeUndefined();
  });

  it('jumps while a session lasts, and is set right', () => {
    const skew = new ClockSkew();
    skew.learn(SERVER_MS, 0);
    expect(skew.problem(SERVER_MS + 10_000, 10_000)).toBeUndefined();
    expect(skew.problem(SERVER_MS + 20_000 - DAY_MS, 20_000)).toMatch(/more than a day behind/);
    expect(skew.problem(SERVER_MS + 30_000, 30_000)).toBeUndefined();
  });
});

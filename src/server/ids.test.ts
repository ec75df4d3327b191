import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createIds } from './ids.ts';

function idsAt(times: readonly number[]) {
  let index = 0;
  return createIds({
    now: () => new Date(times[Math.min(index++, times.length - 1)] ?? 0),
    monotonicMs: () => 0,
  });
}

describe('ids', () => {
  it('are strictly increasing, whatever the clock does', () => {
    const time = fc.integer({ min: 1, max: 2 ** 50 - 1 });
    fc.assert(
      fc.property(fc.array(time, { minLength: 2 }), (times) => {
        const ids = idsAt(times);
        const made = times.map(() => ids.next('event'));
        for (const [index, id] of made.entries())
          if (index > 0) expect(id > (made[index - 1] ?? '')).toBe(true);
      }),
    );
  });

  it('are strictly increasing, thousands in one millisecond, and of one length', () => {
    const ids = idsAt([1000]);
    const made = Array.from({ length: 3000 }, () => ids.next('event'));
    expect(made.toSorted()).toEqual(made);
    expect(new Set(made).size).toBe(3000);
    expect(new Set(made.map((id) => id.length))).toEqual(new Set(['evt_'.length + 26]));
  });

  it('end in the name of the cell, those of tokens alone', () => {
    const ids = createIds({ now: () => new Date(1000), monotonicMs: () => 0 }, 'eu1');
    for (const kind of ['token', 'join'] as const)
      expect(ids.next(kind)).toMatch(new RegExp(`^${kind === 'token' ? 'tok' : 'join'}_[0-9a-z]{26}eu1$`));
    expect(ids.next('deployment')).toMatch(/^dep_[0-9a-z]{26}$/);
  });

  it('sort by time, also between processes', () => {
    expect(idsAt([1000]).next('deployment') < idsAt([1001]).next('deployment')).toBe(true);
  });

  it('follow one that is there already, also if the clock was set back while nothing ran', () => {
    const time = fc.integer({ min: 1, max: 2 ** 50 - 2 });
    fc.assert(
      fc.property(time, time, (before, now) => {
        const earlier = idsAt([before]).next('event');
        const [one, other] = [idsAt([now]), idsAt([now])];
        for (const ids of [one, other]) ids.follow(earlier);
        const made = [one.next('event'), one.next('event'), other.next('event')];
        expect(made.every((id) => id > earlier)).toBe(true);
        expect(new Set(made).size).toBe(3);
        expect(idsAt([now]).next('event') > idsAt([now]).lowest('event')).toBe(true);
      }),
    );
  });

  it('carry their kind and have one form', () => {
    const ids = idsAt([Date.parse('2026-01-01')]);
    expect(ids.next('deployment')).toMatch(/^dep_[0-9a-hjkmnp-tv-z]{26}$/);
    expect(ids.next('volume')).toMatch(/^vol_[a-z0-9]{1,64}$/);
    expect(ids.tenant()).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  });

  it('of two processes at one moment differ', () => {
    const made = Array.from({ length: 500 }, () => idsAt([1000]).next('token'));
    expect(new Set(made).size).toBe(500);
  });

  it('of requests are unique and plain', () => {
    const ids = idsAt([0]);
    const made = Array.from({ length: 1000 }, () => ids.request());
    expect(new Set(made).size).toBe(1000);
    for (const id of made) expect(id).toMatch(/^[A-Za-z0-9._-]{1,64}$/);
  });
});

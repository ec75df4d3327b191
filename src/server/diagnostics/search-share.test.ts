import { describe, expect, it } from 'vitest';
import { SearchShare } from './search-share.ts';

const LINE = 4096;
const here = new AbortController().signal;

/** A clock that goes on only by what is waited for. */
function share() {
  let nowMs = 0;
  const clock = {
    nowMs: () => nowMs,
    wait: async (ms: number, signal: AbortSignal) => {
      await Promise.resolve();
      if (!signal.aborted) nowMs += ms;
    },
  };
  return { searches: new SearchShare(clock), passedMs: () => nowMs };
}

describe('the share of searching', () => {
  it('is one for all who read', async () => {
    const { searches, passedMs } = share();
    const readers = Array.from({ length: 100 }, (_none, reader) => `tenant-${reader % 3}`);
    await Promise.all(
      Array.from({ length: 5 }, () => readers.map((tenant) => searches.take(tenant, LINE, here))).flat(),
    );
    // 500 lines of 4 KiB at 256 KiB/s, the first 64 KiB at once.
    expect(passedMs()).toBeGreaterThan(7500);
    expect(passedMs()).toBeLessThan(8500);
  });

  it('lets a tenant in whose lines came after many of another', async () => {
    const { searches } = share();
    const order: string[] = [];
    const asked = [...Array.from({ length: 200 }, () => 'shop'), 'bank'].map(async (tenant) => {
      await searches.take(tenant, LINE, here);
      order.push(tenant);
    });
    await Promise.all(asked);
    expect(order.indexOf('bank')).toBeLessThan(5);
  });

  it('is not used by who left', async () => {
    const { searches, passedMs } = share();
    const leaving = new AbortController();
    const asked = Array.from({ length: 200 }, () => searches.take('shop', LINE, leaving.signal));
    leaving.abort();
    await Promise.all([...asked, searches.take('shop', LINE, here)]);
    expect(passedMs()).toBe(0);
  });
});

import { describe, expect, it } from 'vitest';
import type { KvChangeBatch } from './kv.ts';
import { createWatchers } from './watchers.ts';

const batch = (revision: number): KvChangeBatch => ({
  revision,
  changes: [{ key: `k${revision}`, revision }],
});
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('watchers', () => {
  it('reads history in slices, then takes live batches, without repeating what came both ways', async () => {
    let head = 600;
    const watchers = createWatchers((_prefix, after, max) => {
      const upTo = Math.min(head, after + max);
      const batches = Array.from({ length: upTo - after }, (_, i) => batch(after + 1 + i));
      return { compacted: false, batches, upTo, more: upTo < head };
    });
    const seen: number[] = [];
    watchers.watch('', 0, {
      onBatch: ({ revision }) => seen.push(revision),
      onLost: (reason) => expect.unreachable(reason),
    });
    expect(seen).toEqual([]);
    await turn();
    head = 602;
    watchers.publish(batch(601));
    watchers.publish(batch(602));
    while (seen.length < 602) await turn();
    watchers.publish(batch(602));
    watchers.publish(batch(603));
    expect(seen).toEqual(Array.from({ length: 603 }, (_, i) => i + 1));
  });

  it('keeps the order for everyone when a handler publishes', async () => {
    const watchers = createWatchers((_prefix, after) => ({
      compacted: false,
      batches: [],
      upTo: after,
      more: false,
    }));
    const [first, second]: [number[], number[]] = [[], []];
    const onLost = (reason: string): void => expect.unreachable(reason);
    watchers.watch('', 0, {
      onBatch({ revision }) {
        first.push(revision);
        if (revision < 3) watchers.publish(batch(revision + 1));
      },
      onLost,
    });
    watchers.watch('', 0, { onBatch: ({ revision }) => second.push(revision), onLost });
    await turn();
    watchers.publish(batch(1));
    expect(first).toEqual([1, 2, 3]);
    expect(second).toEqual([1, 2, 3]);
  });

  it('loses the watcher that fails and serves the others', async () => {
    const watchers = createWatchers((_prefix, after) => ({
      compacted: false,
      batches: [],
      upTo: after,
      more: false,
    }));
    const [seen, lost]: [number[], string[]] = [[], []];
    watchers.watch('', 0, {
      onBatch() {
        throw new Error('planted');
      },
      onLost: (reason) => lost.push(reason),
    });
    watchers.watch('', 0, {
      onBatch: ({ revision }) => seen.push(revision),
      onLost: (reason) => expect.unreachable(reason),
    });
    await turn();
    watchers.publish(batch(1));
    watchers.publish(batch(2));
    expect(seen).toEqual([1, 2]);
    expect(lost).toHaveLength(1);
    expect(lost[0]).toContain('planted');
  });
});

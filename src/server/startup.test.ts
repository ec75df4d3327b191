import { describe, expect, it } from 'vitest';
import { MemoryBrake } from './memory-brake.ts';
import { requireHeap } from './startup.ts';
import { createMemoryKv } from './store/memory.ts';

const MIB = 2 ** 20;

/** A heap of 100 MiB unless told, and texts that come to so much of it once they are read. */
function starting(texts: number, decoded: number, limit = 100 * MIB) {
  const heap = { used: 10 * MIB, collected: (): void => undefined };
  const brake = new MemoryBrake(
    {
      usedBytes: () => heap.used,
      limitBytes: () => limit,
      onCollected: (listener) => void (heap.collected = listener),
      collect: () => heap.collected(),
    },
    0.8,
  );
  const view = {
    textBytes: texts,
    keeps: true,
    readTexts: async () => {
      heap.used += decoded;
      view.textBytes = 0;
    },
    keepTexts: (keeps: boolean) => void (view.keeps = keeps),
  };
  brake.follow(view);
  return { view, page: () => requireHeap(createMemoryKv(), brake, view, 5 * MIB) };
}

describe('a start', () => {
  it.each([
    ['keeps texts while they certainly fit', 4.9, true],
    ['reads what comes at once beyond that', 5.1, false],
  ])('%s', async (_, mebibytes, keeps) => {
    const { view, page } = starting(mebibytes * MIB, 0);
    await page();
    expect(view).toMatchObject({ keeps, textBytes: mebibytes * MIB });
  });

  it('goes on when its texts are less than is counted for them', async () => {
    const { view, page } = starting(11 * MIB, 40 * MIB);
    await page();
    expect(view.textBytes).toBe(0);
  });

  it('ends with what it would need when they are not', async () => {
    const { page } = starting(11 * MIB, 85 * MIB);
    await expect(page()).rejects.toThrow(
      /the heap of 100 MiB was full after 5 MiB of them\. Start it with NODE_OPTIONS=/,
    );
  });

  it('leaves a small heap room for what controllers add', async () => {
    await expect(starting(11 * MIB, 42 * MIB, 60 * MIB).page()).rejects.toThrow(
      /the heap of 60 MiB was full/,
    );
    await starting(11 * MIB, 39 * MIB, 60 * MIB).page();
  });
});

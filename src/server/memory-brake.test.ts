import { execFileSync } from 'node:child_process';
import { describe, expect, it } from 'vitest';
import { type Heap, MemoryBrake, processHeap, youngBytes } from './memory-brake.ts';

class TestHeap implements Heap {
  used = 0;
  collections = 0;
  #listener = (): void => undefined;
  usedBytes = () => this.used;
  limitBytes = () => 1000;
  onCollected = (listener: () => void) => void (this.#listener = listener);
  collect = () => void (this.collections += 1);
  collected(live: number): void {
    this.used = live;
    this.#listener();
  }
}

describe('the brake', () => {
  it('counts what lives, not the garbage', () => {
    const heap = new TestHeap();
    const brake = new MemoryBrake(heap, 0.8);
    heap.collected(300);
    heap.used = 900;
    expect([brake.share, brake.pressure()]).toEqual([0.3, 'none']);
  });

  it('adds what was written since by estimate, never beyond what is used', () => {
    const heap = new TestHeap();
    const brake = new MemoryBrake(heap, 0.8);
    heap.collected(300);
    heap.used = 720;
    brake.added(52);
    expect([brake.share, brake.pressure()]).toEqual([0.716, 'tight']);
    brake.added(52);
    expect(brake.share).toBe(0.72);
    brake.added(-1000);
    expect(brake.share).toBe(0.72);
  });

  it('lets go later than it takes hold', () => {
    const heap = new TestHeap();
    const brake = new MemoryBrake(heap, 0.8);
    const at = (live: number) => {
      heap.collected(live);
      return brake.pressure();
    };
    expect([690, 710, 660, 640, 660, 800, 760, 740, 660, 640].map(at)).toEqual([
      'none',
      'tight',
      'tight',
      'none',
      'none',
      'full',
      'full',
      'tight',
      'tight',
      'none',
    ]);
  });

  it('asks for a collection under pressure, now and then', () => {
    const heap = new TestHeap();
    let now = 0;
    const brake = new MemoryBrake(heap, 0.8, () => now);
    heap.collected(100);
    brake.pressure();
    heap.collected(900);
    for (; now < 25_000; now += 1000) brake.pressure();
    expect(heap.collections).toBe(3);
  });

  it('counts what is held as text as read, and has it read before there is little room', () => {
    const heap = new TestHeap();
    const brake = new MemoryBrake(heap, 0.8);
    let read = 0;
    const texts = { textBytes: 12, readTexts: async () => void (read += 1) };
    brake.follow(texts);
    heap.used = 300;
    brake.added(0);
    expect(read).toBe(0);
    // Nobody knows yet what of it lives.
    heap.used = 500;
    brake.added(0);
    expect(read).toBe(1);
    heap.collected(300);
    brake.added(0);
    expect([brake.share, read]).toEqual([0.396, 1]);
    // Written since: by estimate, and once.
    heap.used = 350;
    texts.textBytes = 13;
    brake.added(1);
    expect([brake.share, read]).toEqual([0.404, 1]);
    // Read, and not collected since.
    texts.textBytes = 0;
    heap.used = 404;
    expect(brake.share).toBe(0.404);
    texts.textBytes = 2;
    heap.collected(484);
    brake.added(0);
    expect([brake.share, read]).toEqual([0.5, 2]);
    texts.textBytes = 1;
    heap.collected(700);
    expect([brake.pressure(), read]).toEqual(['tight', 2]);
    texts.textBytes = 13;
    heap.collected(700);
    expect([brake.pressure(), read]).toEqual(['full', 3]);
  });

  it('reads texts before it collects under pressure', async () => {
    const heap = new TestHeap();
    const brake = new MemoryBrake(heap, 0.8);
    const reading = Promise.withResolvers<void>();
    const texts = { textBytes: 50, readTexts: () => reading.promise };
    brake.follow(texts);
    heap.collected(500);
    expect([brake.pressure(), heap.collections]).toEqual(['full', 0]);
    texts.textBytes = 0;
    reading.resolve();
    await reading.promise;
    expect(heap.collections).toBe(1);
    heap.collected(550);
    expect(brake.pressure()).toBe('none');
  });

  it('knows what lives when the heap was collected for it', async () => {
    const heap = new TestHeap();
    const brake = new MemoryBrake(heap, 0.8);
    heap.used = 900;
    const measured = brake.measured();
    expect([heap.collections, brake.share]).toEqual([1, 0.9]);
    heap.collected(100);
    await measured;
    expect(brake.share).toBe(0.1);
  });

  it.each([
    [[]],
    [['--max-semi-space-size=16']],
    [['--max_semi_space_size=20']],
    [['--max-semi-space-size=1']],
  ])('knows what of the limit is for new objects: %j', (flags) => {
    const limit = Number(
      execFileSync(process.execPath, [
        '--max-old-space-size=80',
        ...flags,
        '-p',
        'v8.getHeapStatistics().heap_size_limit',
      ]),
    );
    expect(limit - youngBytes(flags)).toBe(80 * 2 ** 20);
  });

  it('is told by the heap of this process when it was collected', async () => {
    const heap = processHeap();
    const collected = new Promise<void>((resolve) => heap.onCollected(resolve));
    heap.collect();
    await collected;
    expect(heap.usedBytes()).toBeLessThan(heap.limitBytes());
    heap.close();
  });
});

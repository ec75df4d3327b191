import { describe, expect, it } from 'vitest';
import { KeyedQueue, type QueueOptions } from './queue.ts';
import { FakeTime } from '../../../test/support/simulation/controllers.ts';

function queue(work: QueueOptions['work'], options: Partial<QueueOptions> = {}) {
  const time = new FakeTime();
  const faults: string[] = [];
  const made = new KeyedQueue({ work, onFault: (key) => faults.push(key), timers: time, ...options }, () =>
    time.monotonicMs(),
  );
  return { queue: made, time, faults };
}

/** Work that ends when it is told to. */
function gate() {
  const open: (() => void)[] = [];
  return { wait: () => new Promise<void>((resolve) => open.push(resolve)), open };
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

describe('keyed queue', () => {
  it('looks once at a key that was added often', async () => {
    const seen: string[] = [];
    const { queue: q } = queue(async (key) => void seen.push(key));
    for (let n = 0; n < 100; n += 1) q.add(n % 2 === 0 ? 'a' : 'b');
    await q.idle();
    expect(seen).toEqual(['a', 'b']);
  });

  it('never works on a key twice at the same time, and looks again when it was added meanwhile', async () => {
    const door = gate();
    let running = 0;
    let most = 0;
    let looks = 0;
    const { queue: q } = queue(async () => {
      looks += 1;
      running += 1;
      most = Math.max(most, running);
      await door.wait();
      running -= 1;
    });
    q.add('a');
    await turn();
    q.add('a');
    q.add('a');
    await turn();
    expect(looks).toBe(1);
    door.open[0]?.();
    await turn();
    await turn();
    expect(looks).toBe(2);
    door.open[1]?.();
    await q.idle();
    expect(most).toBe(1);
  });

  it('begins nothing while as much is under way as may be, and goes on when some of it has ended', async () => {
    const door = gate();
    const begun: string[] = [];
    let isFull = false;
    const { queue: q } = queue(
      async (key) => {
        begun.push(key);
        isFull = begun.length % 2 === 0;
        await door.wait();
        isFull = false;
      },
      { isFull: () => isFull },
    );
    for (const key of ['a', 'b', 'c', 'd', 'e']) q.add(key);
    await turn();
    expect(begun).toEqual(['a', 'b']);
    door.open[0]?.();
    await turn();
    await turn();
    expect(begun).toEqual(['a', 'b', 'c', 'd']);
    for (let at = 1; at < 5; at += 1) {
      door.open[at]?.();
      await turn();
      await turn();
    }
    await q.idle();
    expect(begun).toEqual(['a', 'b', 'c', 'd', 'e']);
    // With nothing under way nobody would call it again.
    isFull = true;
    q.add('f');
    await turn();
    expect(begun.at(-1)).toBe('f');
    door.open[5]?.();
    await q.idle();
  });

  it('works on few heavy keys at once, and on light ones meanwhile', async () => {
    const door = gate();
    const begun: string[] = [];
    const { queue: q } = queue(
      async (key) => {
        begun.push(key);
        if (key.startsWith('heavy')) await door.wait();
      },
      { isHeavy: (key) => key.startsWith('heavy') },
    );
    for (const key of ['heavy-1', 'heavy-2', 'heavy-3', 'light', 'heavy-3', 'heavy-4']) q.add(key);
    await turn();
    expect(begun).toEqual(['heavy-1', 'heavy-2', 'light']);
    for (let at = 0; at < 4; at += 1) {
      door.open[at]?.();
      await turn();
      await turn();
    }
    await q.idle();
    expect(begun).toEqual(['heavy-1', 'heavy-2', 'light', 'heavy-3', 'heavy-4']);
  });

  it('begins a large key for every 16 others, and all of them when no other waits', async () => {
    const begun: string[] = [];
    const { queue: q } = queue(async (key) => void begun.push(key), {
      isLarge: (key) => {
        if (key === 't/torn') throw new Error('not readable');
        return key.startsWith('t/large');
      },
    });
    for (let n = 0; n < 200; n += 1) q.add(`t/large-${n}`);
    for (let n = 0; n < 129; n += 1) q.add(`t/small-${n}`);
    q.add('t/torn');
    // Again while they wait: once is enough.
    for (let n = 0; n < 200; n += 1) q.add(`t/large-${n}`);
    await turn();
    q.add('t/large-7');
    await q.idle();
    const larges = begun.flatMap((key, at) => (key.startsWith('t/large') ? at : []));
    expect(larges.slice(0, 3)).toEqual([16, 33, 50]);
    expect(begun.indexOf('t/torn')).toBe(137);
    expect(begun).toHaveLength(330);
    expect(new Set(begun).size).toBe(330);
  });

  it('works on few large keys at once that have become heavy while they waited', async () => {
    const door = gate();
    let running = 0;
    let isHeavy = false;
    const { queue: q } = queue(
      async (key) => {
        if (key === 't/first') return door.wait();
        running += 1;
        await door.wait();
      },
      { isLarge: (key) => key !== 't/first', isHeavy: (key) => isHeavy && key !== 't/first', concurrency: 1 },
    );
    q.add('t/first');
    for (let n = 0; n < 9; n += 1) q.add(`t/large-${n}`);
    await turn();
    isHeavy = true;
    for (let n = 0; n < 9; n += 1) q.add(`t/large-${n}`);
    door.open[0]?.();
    await turn();
    await turn();
    expect(running).toBe(1);
    for (let at = 1; at <= 9; at += 1) {
      door.open[at]?.();
      await turn();
      await turn();
    }
    await q.idle();
    expect(running).toBe(9);
  });

  it('sorts large keys out for no longer than a turn', async () => {
    const begun: string[] = [];
    let sorted = 0;
    const made = queue(async (key) => void begun.push(key), {
      isLarge: (key) => {
        made.time.suspend(8);
        sorted += 1;
        return key !== 't/small';
      },
    });
    for (let n = 0; n < 9; n += 1) made.queue.add(`t/large-${n}`);
    made.queue.add('t/small');
    await turn();
    expect([sorted, begun]).toEqual([3, ['t/large-0']]);
    await made.queue.idle();
    expect(begun).toHaveLength(10);
  });

  it('ends a turn after 20 ms, so that requests come in between', async () => {
    const begun: string[] = [];
    const made = queue(async (key) => {
      begun.push(key);
      await made.time.advance(8, async () => undefined);
    });
    for (let n = 0; n < 9; n += 1) made.queue.add(`t/${n}`);
    await turn();
    expect(begun).toHaveLength(3);
    await made.queue.idle();
    expect(begun).toHaveLength(9);
  });

  it('works on a bounded number of keys at once', async () => {
    const door = gate();
    const { queue: q } = queue(door.wait, { concurrency: 3 });
    for (let n = 0; n < 10; n += 1) q.add(`k${n}`);
    await turn();
    expect(door.open).toHaveLength(3);
    expect(q.depth).toBe(10);
    for (let n = 0; n < 10; n += 1) {
      door.open[n]?.();
      await turn();
      await turn();
    }
    await q.idle();
    expect(door.open).toHaveLength(10);
  });

  it('backs off per key after faults and starts afresh after a success', async () => {
    const at: number[] = [];
    const broken = { is: true };
    const made = queue(async () => {
      at.push(made.time.monotonicMs());
      if (broken.is) throw new Error('no');
    });
    made.queue.add('a');
    await made.queue.idle();
    await made.time.advance(700, () => made.queue.idle().then(turn).then(turn));
    expect(at.map((ms) => ms - (at[0] ?? 0))).toEqual([0, 50, 150, 350]);
    expect(made.faults).toHaveLength(4);
    broken.is = false;
    await made.time.advance(60_000, () => made.queue.idle().then(turn).then(turn));
    expect(at).toHaveLength(5);
  });

  it('takes the earlier of two delays, and forgets the delay when the key is added', async () => {
    const at: number[] = [];
    const made = queue(async () => void at.push(made.time.monotonicMs()));
    const settle = () => turn().then(turn);
    made.queue.addAfter('a', 500);
    made.queue.addAfter('a', 100);
    made.queue.addAfter('a', 300);
    await made.time.advance(1000, settle);
    expect(at).toEqual([1100]);
    made.queue.addAfter('a', 500);
    made.queue.add('a');
    await made.time.advance(1000, settle);
    expect(at).toHaveLength(2);
  });

  it('has one timer for long waits that end together, and each key can do without it', async () => {
    const at: string[] = [];
    const made = queue(async (key) => void at.push(`${key} ${made.time.monotonicMs()}`));
    let timers = 0;
    const { after } = made.time;
    made.time.after = (ms, task) => {
      timers += 1;
      return after.call(made.time, ms, task);
    };
    const settle = () => turn().then(turn);
    for (const key of ['a', 'b', 'c', 'd']) made.queue.addAfter(key, 60_000 + key.charCodeAt(0) / 100);
    expect(timers).toBe(1);
    made.queue.addAfter('a', 90_000);
    made.queue.addAfter('b', 100);
    made.queue.add('c');
    await settle();
    await made.time.advance(59_000, settle);
    expect(at).toEqual(['c 1000', 'b 1100']);
    await made.time.advance(1100, settle);
    // Up to 50 ms late, and never early.
    expect(at.slice(2)).toEqual(['a 61050', 'd 61050']);
    made.queue.addAfter('e', 60_000);
    made.queue.add('e');
    await settle();
    made.queue.addAfter('e', 60_000);
    await made.time.advance(120_000, settle);
    expect(at.slice(4).map((seen) => seen.split(' ')[0])).toEqual(['e', 'e']);
  });

  it('ends after what is under way, and takes nothing more', async () => {
    const door = gate();
    const { queue: q } = queue(door.wait, { concurrency: 1 });
    q.add('a');
    q.add('b');
    await turn();
    let stopped = false;
    const stopping = q.stop().then(() => {
      stopped = true;
    });
    q.add('c');
    await turn();
    expect(stopped).toBe(false);
    door.open[0]?.();
    await stopping;
    await turn();
    expect(door.open).toHaveLength(1);
  });
});

import { describe, expect, it } from 'vitest';
import { createGate } from './gate.ts';

const never = new AbortController().signal;

describe('createGate', () => {
  it('lets a key in up to its bound, then the next in order, and no other key waits for it', async () => {
    const gate = createGate({ perKey: 2, total: 10, waiting: 10 });
    const first = await gate.enter('a', never);
    await gate.enter('a', never);
    const order: number[] = [];
    const waiting = [1, 2].map(async (number) => {
      const leave = await gate.enter('a', never);
      order.push(number);
      return leave;
    });
    expect(await gate.enter('b', never)).toBeDefined();
    expect(order).toEqual([]);
    first?.();
    first?.();
    const next = await waiting[0];
    expect(order).toEqual([1]);
    next?.();
    await waiting[1];
    expect(order).toEqual([1, 2]);
  });

  it('bounds all keys together', async () => {
    const gate = createGate({ perKey: 5, total: 1, waiting: 10 });
    const leave = await gate.enter('a', never);
    let inside = false;
    const wait = async (): Promise<void> => {
      await gate.enter('b', never);
      inside = true;
    };
    const other = wait();
    await Promise.resolve();
    expect(inside).toBe(false);
    leave?.();
    await other;
    expect(inside).toBe(true);
  });

  it('turns away when too many wait, and forgets who gave up', async () => {
    const gate = createGate({ perKey: 1, total: 1, waiting: 1 });
    const leave = await gate.enter('a', never);
    const giveUp = new AbortController();
    const waiting = gate.enter('a', giveUp.signal);
    expect(await gate.enter('a', never)).toBeUndefined();
    giveUp.abort();
    expect(await waiting).toBeUndefined();
    expect(await gate.enter('a', giveUp.signal)).toBeUndefined();
    const later = gate.enter('a', never);
    leave?.();
    expect(await later).toBeDefined();
  });
});

import { describe, expect, it, vi } from 'vitest';
import { CopyRoom } from './copy-room.ts';

describe('room of dropped copies', () => {
  it('is waited for as long as somebody can wait', async () => {
    const room = new CopyRoom();
    expect(await room.settled(0)).toBe(true);
    const work = Promise.withResolvers<void>();
    room.reclaim(work.promise, () => {});
    expect(await room.settled(0)).toBe(false);
    const later = room.settled(10_000);
    work.resolve();
    expect(await later).toBe(true);
    expect(await room.settled(0)).toBe(true);
  });

  it('is all that there is only when it was back before a copy of the same epoch did not fit', async () => {
    const room = new CopyRoom();
    const reclaimed = async (): Promise<void> => {
      room.reclaim(Promise.resolve(), () => {});
      expect(await room.settled(10_000)).toBe(true);
    };
    expect(room.isExhausted(1)).toBe(false);
    await reclaimed();
    expect(room.isExhausted(1)).toBe(true);
    expect(room.isExhausted(2)).toBe(false);
    await reclaimed();
    room.reset();
    expect(room.isExhausted(2)).toBe(false);
  });

  it('is not back when that failed, which is told', async () => {
    const room = new CopyRoom();
    const onProblem = vi.fn();
    expect(room.isExhausted(1)).toBe(false);
    room.reclaim(Promise.reject(new Error('took too long')), onProblem);
    expect(await room.settled(10_000)).toBe(true);
    expect(onProblem).toHaveBeenCalledOnce();
    expect(room.isExhausted(1)).toBe(false);
  });
});

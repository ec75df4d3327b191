import { PassThrough } from 'node:stream';
import { setTimeout as delay } from 'node:timers/promises';
import { describe, expect, it, vi } from 'vitest';
import { Arrivals } from './arrivals.ts';

function stage() {
  const state = { ready: false };
  const arrivals = new Arrivals(() => state.ready);
  const socket = new PassThrough();
  const letIn = vi.fn();
  return { state, arrivals, socket, letIn };
}

describe('an agent that dials while the store is read', () => {
  it('is let in once it is read, and not before', async () => {
    const { state, arrivals, socket, letIn } = stage();
    arrivals.arrive(socket, letIn);
    await delay(60);
    expect(letIn).not.toHaveBeenCalled();
    state.ready = true;
    await vi.waitFor(() => expect(letIn).toHaveBeenCalledOnce());
    arrivals.arrive(socket, letIn);
    expect(letIn).toHaveBeenCalledTimes(2);
  });

  it('is forgotten when it hangs up', async () => {
    const { state, arrivals, socket, letIn } = stage();
    arrivals.arrive(socket, letIn);
    socket.destroy(new Error('gone'));
    await delay(10);
    state.ready = true;
    await delay(60);
    expect(letIn).not.toHaveBeenCalled();
  });

  it('is sent away when that takes long, or too many wait', async () => {
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'performance'] });
    try {
      const { arrivals, socket, letIn } = stage();
      arrivals.arrive(socket, letIn);
      vi.advanceTimersByTime(4_900);
      expect(socket.writableEnded).toBe(false);
      vi.advanceTimersByTime(200);
      expect(socket.writableEnded).toBe(true);
      const many = Array.from({ length: 1001 }, () => new PassThrough());
      for (const one of many) arrivals.arrive(one, letIn);
      expect(many.map((one) => one.writableEnded).filter(Boolean)).toHaveLength(1);
      expect(many[1000]?.read()?.toString()).toMatch(/^HTTP\/1\.1 503 .*Retry-After: 1/s);
      expect(letIn).not.toHaveBeenCalled();
    } finally {
      vi.useRealTimers();
    }
  });
});

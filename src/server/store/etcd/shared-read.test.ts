import { describe, expect, it } from 'vitest';
import { sharedRead } from './shared-read.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function controlled() {
  const started: PromiseWithResolvers<number>[] = [];
  const read = sharedRead(() => {
    const pending = Promise.withResolvers<number>();
    started.push(pending);
    return pending.promise;
  });
  return { started, read };
}

describe('sharedRead', () => {
  it('makes one read for callers of the same moment', async () => {
    const { started, read } = controlled();
    const callers = Array.from({ length: 100 }, read);
    await turn();
    expect(started).toHaveLength(1);
    started[0]?.resolve(7);
    expect(new Set(await Promise.all(callers))).toEqual(new Set([7]));
  });

  it('never gives a caller the answer of a read that started before it', async () => {
    const { started, read } = controlled();
    const early = read();
    await turn();
    const late = read();
    started[0]?.resolve(1);
    expect(await early).toBe(1);
    await turn();
    expect(started).toHaveLength(2);
    started[1]?.resolve(2);
    expect(await late).toBe(2);
  });

  it('keeps at most two reads under way and fails only those who shared a failed one', async () => {
    const { started, read } = controlled();
    const first = read();
    await turn();
    const second = read();
    await turn();
    const third = [read(), read()];
    await turn();
    expect(started).toHaveLength(2);
    started[0]?.reject(new Error('cut'));
    await expect(first).rejects.toThrow('cut');
    await turn();
    expect(started).toHaveLength(3);
    started[1]?.resolve(2);
    started[2]?.resolve(3);
    expect(await second).toBe(2);
    expect(await Promise.all(third)).toEqual([3, 3]);
  });
});

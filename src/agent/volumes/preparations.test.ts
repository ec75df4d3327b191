import { expect, it, vi } from 'vitest';
import type { AssignedVolume } from '../../core/protocol/agent-protocol.ts';
import { Preparations } from './preparations.ts';

function order(id: string, prepare?: readonly string[]): AssignedVolume {
  const kept = { class: 'replicated', type: 'volume', epoch: 1, sizeBytes: 1 } as const;
  return { id, role: 'replica', ...kept, ...(prepare && { prepare }) };
}

it('fetches what is ordered, once, and says what is there until nothing is ordered', async () => {
  const asked: string[] = [];
  const preparations = new Preparations(
    async (id, image) => void asked.push(`${id} ${image}`),
    () => undefined,
  );
  preparations.take([order('v', ['a', 'b']), order('w')]);
  expect(preparations.of('v')).toEqual({ images: [] });
  await vi.waitFor(() => expect(preparations.of('v')).toEqual({ images: ['a', 'b'] }));
  preparations.take([order('v', ['b', 'c'])]);
  await vi.waitFor(() => expect(preparations.of('v')).toEqual({ images: ['b', 'c'] }));
  expect(asked).toEqual(['v a', 'v b', 'v c']);
  preparations.take([order('v')]);
  expect([preparations.of('v'), preparations.of('w')]).toEqual([undefined, undefined]);
});

it('says why one is not there, and tries again', async () => {
  vi.useFakeTimers();
  try {
    let works = false;
    let news = 0;
    const fetch = async (): Promise<void> => {
      if (!works) throw new Error('no route to host');
    };
    const preparations = new Preparations(fetch, () => (news += 1));
    preparations.take([order('v', ['a'])]);
    await vi.advanceTimersByTimeAsync(0);
    expect(preparations.of('v')).toEqual({ images: [], problem: 'no route to host' });
    works = true;
    await vi.advanceTimersByTimeAsync(1_000);
    expect(preparations.of('v')).toEqual({ images: ['a'] });
    expect(news).toBe(2);
  } finally {
    vi.useRealTimers();
  }
});

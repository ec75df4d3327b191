import { expect, it } from 'vitest';
import { KvTooLargeError, KvUnavailableError } from './kv.ts';
import { createMemoryKv } from './memory.ts';
import { timedKv } from './timed-kv.ts';

it('tells how every commit ended, and passes on what it answered', async () => {
  const ends: string[] = [];
  const failing = createMemoryKv();
  let fault: unknown;
  const kv = timedKv(
    {
      ...failing,
      commit: (commit) => (fault === undefined ? failing.commit(commit) : Promise.reject(fault)),
    },
    (how, seconds) => ends.push(`${how} ${seconds >= 0 && seconds < 10}`),
  );
  const puts = [{ key: 'h/g/x/a', value: '{}' }];
  expect(await kv.commit({ puts })).toMatchObject({ ok: true });
  expect(await kv.commit({ puts, guards: [{ key: 'h/g/x/a', modRevision: 0 }] })).toMatchObject({
    ok: false,
  });
  for (fault of [new KvUnavailableError('away', true), new KvTooLargeError('large'), new Error('what')])
    await expect(kv.commit({ puts })).rejects.toBe(fault);
  expect(ends).toEqual(['ok true', 'conflict true', 'unavailable true', 'too_large true', 'fault true']);
});

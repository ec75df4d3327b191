import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { createPendingAnswers } from './pending-answers.ts';
import { answers, WireReader } from './protocol.ts';

it('holds nothing of a commit that is answered', async () => {
  setFlagsFromString('--expose-gc');
  const collect: unknown = runInNewContext('gc');
  const used = (): number => {
    if (typeof collect === 'function') collect();
    return process.memoryUsage().heapUsed;
  };
  const pending = createPendingAnswers({ onBatch: () => undefined, isWatched: () => false });
  const [commits, length] = [400, 20_000];
  const before = used();
  for (let at = 1; at <= commits; at += 1) {
    const value = Buffer.alloc(length, String(at)).toString('latin1');
    const answer = pending.addCommit({ puts: [{ key: 'k', value }] });
    pending.settle(new WireReader([answers.applied, at, at]));
    expect(await answer).toEqual({ ok: true, revision: at });
  }
  expect(pending.count).toBe(0);
  expect(used() - before).toBeLessThan((commits * length) / 4);
});

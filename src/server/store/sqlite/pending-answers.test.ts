import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { expect, it } from 'vitest';
import { RunningTime } from '../../clock.ts';
import { KvUnavailableError } from '../kv.ts';
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

it('fails what has waited too long, and nothing that waited while the process did not run', async () => {
  const clock = { ms: 0 };
  const time = new RunningTime(() => clock.ms);
  const pending = createPendingAnswers({ onBatch: () => undefined, isWatched: () => false }, () => time.ms);
  const failed: string[] = [];
  const ask = (name: string): void =>
    void pending.addCommit({ puts: [{ key: name, value: '' }] })?.catch(() => failed.push(name));
  const look = async (): Promise<string[]> => {
    pending.failOlderThan(10_000, () => new KvUnavailableError('the disk', false));
    await Promise.resolve();
    return [...failed];
  };
  ask('before the pause');
  clock.ms = 30_000;
  expect(await look()).toEqual([]);
  expect(pending.oldestMs).toBe(1000);
  ask('after it');
  for (; clock.ms < 39_000; clock.ms += 1000) expect(await look()).toEqual([]);
  // A disk that hangs while the process runs.
  expect(await look()).toEqual(['before the pause']);
  clock.ms += 1000;
  expect(await look()).toEqual(['before the pause', 'after it']);
});

import { describe, expect, it } from 'vitest';
import type { Child } from './child.ts';
import { Supervisor, waitBefore } from './supervisor.ts';

function child(name: string, ended: boolean): Child {
  return {
    name,
    logFile: `${name}.log`,
    pid: 1,
    ended: () => ended,
    ending: () => 'exit status 1',
    lastWords: () => ['why it ended'],
    stop: async () => undefined,
  };
}

const lines: string[] = [];
const progress = {
  step: () => ({
    note: () => undefined,
    parts: () => undefined,
    done: () => undefined,
    fail: () => undefined,
  }),
  line: (text: string) => void lines.push(text),
};

describe('what is started again', () => {
  it('waits longer after each end, and never longer than half a minute', () => {
    expect([0, 1, 2, 3, 6, 40].map(waitBefore)).toEqual([0, 1000, 2000, 4000, 30_000, 30_000]);
  });

  it('is what can be', async () => {
    const interrupt = new AbortController();
    const supervisor = new Supervisor();
    let starts = 0;
    supervisor.add(child('server', true), () => {
      starts += 1;
      interrupt.abort();
      return child('server', false);
    });
    await supervisor.watch(interrupt.signal, progress);
    expect(starts).toBe(1);
    expect(lines).toEqual([
      'server ended on its own (exit status 1) and is started again now; containers run on. Log: server.log',
    ]);
  });

  it('ends with the last words of what nothing goes on without', async () => {
    const supervisor = new Supervisor();
    supervisor.add(child('engine', true));
    await expect(supervisor.watch(new AbortController().signal, progress)).rejects.toMatchObject({
      message: 'engine ended on its own (exit status 1)',
      advice: ['why it ended', 'log: engine.log'],
    });
  });
});

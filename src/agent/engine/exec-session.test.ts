import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { execSession } from './exec-session.ts';

let child: ChildProcess | undefined;
const started: ChildProcess[] = [];
afterEach(() => {
  for (const one of started.splice(0)) one.kill('SIGKILL');
});

/** A process of this machine in place of one in a container: its group of control groups stands for the container's. */
function session(processId: (pid: number) => Promise<number | undefined>, containerId?: string) {
  child = spawn('sleep', ['60'], { detached: true });
  started.push(child);
  const pid = child.pid ?? 0;
  const own = readFileSync(`/proc/${pid}/cgroup`, 'utf8').trim();
  return execSession(
    new Socket(),
    { timeoutMs: 60_000 },
    {
      exitCode: async () => 0,
      resize: async () => undefined,
      processId: () => processId(pid),
      containerId: containerId ?? own,
    },
  );
}

describe('a signal', () => {
  it('waits until the engine knows the process', async () => {
    let asked = 0;
    const { kill } = session(async (pid) => {
      asked += 1;
      return asked < 4 ? 0 : pid;
    });
    const ended = once(child ?? new Socket(), 'exit');
    expect(await kill('SIGINT')).toBe(true);
    expect((await ended)[1]).toBe('SIGINT');
  });

  it('goes to no process outside of the container, and to none that has ended', async () => {
    expect(await session(async (pid) => pid, 'another-container').kill('SIGKILL')).toBe(false);
    expect(child?.exitCode).toBeNull();
    expect(await session(async () => undefined).kill('SIGKILL')).toBe(false);
  });
});

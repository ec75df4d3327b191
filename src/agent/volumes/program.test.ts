import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { eventually } from '../../../test/support/eventually.ts';
import { feed, outputOf, run } from './program.ts';

const root = mkdtempSync(join(tmpdir(), 'berth-program-'));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const SELF = '/proc/self/stat';

/** Of a line of `/proc/<pid>/stat`. */
function groupOf(stat: string): { readonly pid: number; readonly group: number } {
  const [pid, , , , group] = stat.split(' ').map(Number);
  return { pid: pid ?? 0, group: group ?? 0 };
}

/** Of the one that was called so, with this as its last word. */
function pidOf(program: string, last: string): number | undefined {
  for (const entry of readdirSync('/proc').filter((name) => /^\d+$/.test(name))) {
    try {
      const words = readFileSync(`/proc/${entry}/cmdline`, 'utf8').split('\0');
      if (basename(words[0] ?? '') === program && words.at(-2) === last) return Number(entry);
    } catch {
      // Gone meanwhile.
    }
  }
  return undefined;
}

async function* nothing(): AsyncGenerator<Uint8Array> {}

describe('a program', () => {
  it.each([
    ['runs', (to: string) => run('cp', [SELF, to])],
    ['is fed', (to: string) => feed('cp', [SELF, to], nothing(), { heldMs: 10_000 })],
    ['is read', async (to: string) => (await outputOf('cp', [SELF, to])).stream.resume().toArray()],
  ])('that %s is in the group of the agent, and ends with it', async (how, start) => {
    const to = join(root, how);
    await start(to);
    const { pid, group } = groupOf(readFileSync(to, 'utf8'));
    expect(pid).not.toBe(process.pid);
    expect(group).toBe(groupOf(readFileSync(SELF, 'utf8')).group);
  });

  it('that changes a file system is in a group of its own, where no signal to that of the agent arrives', async () => {
    // It waits until somebody opens the other side.
    const pipe = join(root, 'pipe');
    execFileSync('mkfifo', [pipe]);
    const stop = new AbortController();
    const ended = run('fsfreeze', ['--unfreeze', pipe], 10_000, undefined, stop.signal).catch(() => {});
    try {
      const pid = await eventually('it runs', () => pidOf('fsfreeze', pipe), Boolean);
      expect(groupOf(readFileSync(`/proc/${pid}/stat`, 'utf8')).group).toBe(pid);
    } finally {
      stop.abort();
      await ended;
    }
  });

  it('prints, reads, fails, is ended when it takes too long, and when nobody wants it any more', async () => {
    expect(await run('find', [root, '-maxdepth', '0'])).toBe(`${root}\n`);
    const reading = ['-files0-from', '-', '-maxdepth', '0'];
    const many = `${root}\0`.repeat(10_000);
    expect(await run('find', reading, 10_000, many)).toHaveLength(many.length);
    const failure = await run('find', [join(root, 'none')]).catch((error: unknown) => error);
    expect(failure).toMatchObject({ exitCode: 1, message: expect.stringMatching(/^find: .*No such file/) });
    await expect(run('find', reading, 100)).rejects.toThrow('no end in 100 ms');
    const stop = new AbortController();
    const begun = performance.now();
    setTimeout(() => stop.abort(), 100);
    await expect(run('find', reading, 30_000, undefined, stop.signal)).rejects.toThrow('find: ');
    expect(performance.now() - begun).toBeLessThan(20_000);
  });

  it('does not pass off a part of its output as all of it', async () => {
    // The agent is busy: it reads the last of the output after the program has ended well.
    const idle = new Int32Array(new SharedArrayBuffer(4));
    const busy = setInterval(() => Atomics.wait(idle, 0, 0, 20));
    const much = Array.from({ length: 11 }, () => ['-printf', 'x'.repeat(100_000)]).flat();
    try {
      await expect(run('find', [root, '-maxdepth', '0', ...much])).rejects.toThrow('more than 1048576 bytes');
    } finally {
      clearInterval(busy);
    }
  });

  it.each<readonly [string, readonly string[], string | RegExp]>([
    ['is ended', ['-files0-from', '-', '-maxdepth', '0'], 'it was ended'],
    // By then its input may be closed.
    ['has ended before', [root, '-maxdepth', '0'], /it was ended|EPIPE/],
    ['fails', ['-none'], 'unknown predicate'],
  ])('that %s waits for no silent source', async (_, args, why) => {
    const stop = new AbortController();
    async function* silent(): AsyncGenerator<Uint8Array> {
      yield Buffer.from(`${root}\0`);
      setTimeout(() => stop.abort(), 300);
      await new Promise(() => {});
    }
    const fed = feed('find', args, silent(), { heldMs: 30_000, signal: stop.signal });
    await expect(fed).rejects.toThrow(why);
  });
});

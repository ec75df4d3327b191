import { tmpdir } from 'node:os';
import { describe, expect, it } from 'vitest';
import { DiskRoom, diskRoom } from './disk-room.ts';

const GIB = 2 ** 30;
const user = (asked: number, written: number) => ({
  containerId: `${asked}-${written}`,
  askedBytes: asked * GIB,
  writtenBytes: written * GIB,
});
const room = (used: number, users: readonly ReturnType<typeof user>[] = []): number =>
  diskRoom({ totalBytes: 100 * GIB, usedBytes: used * GIB }, users, undefined).roomBytes / GIB;

describe('room on the disk of an engine', () => {
  it.each([
    ['what others wrote is not there to be asked for', 30, [], 70],
    ['what a container wrote of what it asked for stays its own', 50, [user(40, 20)], 70],
    ['what it wrote beyond that is everybody else\u2019s loss', 90, [user(40, 60)], 50],
    ['a full disk has none', 100, [], 0],
  ])('%s', (_, used, users, left) => {
    expect(room(used, users)).toBe(left);
  });

  it('is told in steps, and one to and fro is no change', () => {
    const at = (used: number, before?: { totalBytes: number; roomBytes: number }) =>
      diskRoom({ totalBytes: 100 * GIB, usedBytes: used * GIB }, [], before);
    const first = at(30.5);
    expect(first.roomBytes).toBe(69 * GIB);
    expect(at(30.9, first)).toBe(first);
    expect(at(31.9, first)).toBe(first);
    expect(at(32.1, first).roomBytes).toBe(67 * GIB);
    expect(at(29.9, first).roomBytes).toBe(70 * GIB);
  });

  it.each([
    ['of a file system without an end', 2 ** 63, 2 ** 30, 0],
    ['where an engine says less than nothing', 100 * GIB, 100 * GIB, -1],
    ['on a disk of nothing', 0, 0, 0],
  ])('is a number that a message may have: %s', (_, totalBytes, usedBytes, writtenBytes) => {
    const users = [{ containerId: 'c1', askedBytes: GIB, writtenBytes }];
    const told = diskRoom({ totalBytes, usedBytes }, users, undefined);
    for (const bytes of [told.totalBytes, told.roomBytes]) {
      expect(Number.isSafeInteger(bytes)).toBe(true);
      expect(bytes).toBeGreaterThanOrEqual(0);
    }
  });

  it('asks the engine once for each container that asked for disk, and again when it could not say', async () => {
    const asked: string[] = [];
    let answers = false;
    const users = [{ containerId: 'c1', askedBytes: GIB }];
    let changes = 0;
    const measured = new DiskRoom({
      engine: {
        writtenBytes: async (id) => {
          asked.push(id);
          if (!answers) throw new Error('timeout');
          return 5;
        },
      },
      rootDir: () => tmpdir(),
      users: () => users,
      onChange: () => {
        changes += 1;
      },
    });
    await measured.look();
    answers = true;
    await measured.look();
    await measured.look();
    expect(asked).toEqual(['c1', 'c1']);
    expect(measured.room?.totalBytes).toBeGreaterThan(0);
    expect(changes).toBeGreaterThan(0);
  });

  it('waits for a disk that hangs once, and for nothing else because of it', async () => {
    let answer: (disk: { totalBytes: number; usedBytes: number }) => void = () => undefined;
    let asked = 0;
    const hanging = new DiskRoom({
      engine: { writtenBytes: async () => undefined },
      rootDir: () => '/',
      users: () => [],
      onChange: () => undefined,
      read: () => {
        asked += 1;
        return new Promise((resolve) => {
          answer = resolve;
        });
      },
    });
    const first = hanging.look();
    await hanging.look();
    await hanging.read();
    expect([asked, hanging.room]).toEqual([1, undefined]);
    answer({ totalBytes: 100 * GIB, usedBytes: 0 });
    await first;
    expect(hanging.room?.totalBytes).toBe(100 * GIB);
  });

  it('is not known of a disk of another machine', async () => {
    const elsewhere = new DiskRoom({
      engine: { writtenBytes: async () => undefined },
      rootDir: () => '/nowhere/at/all',
      users: () => [],
      onChange: () => expect.unreachable(),
    });
    await elsewhere.look();
    expect(elsewhere.room).toBeUndefined();
  });
});

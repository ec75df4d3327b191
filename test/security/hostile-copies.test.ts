import { execFileSync } from 'node:child_process';
import { mkdtempSync, openSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from 'vitest';
import { attack } from '../support/attack.ts';
import {
  batchOfModes,
  batchWithoutEnd,
  hostileStreams,
  streamOfModes,
  streamThatWaits,
} from '../support/hostile-copies.ts';
import { engineNamed, HostileStage } from '../support/harness/hostile-stage.ts';
import { oldRsync } from '../support/harness/old-rsync.ts';
import { ensurePackages } from '../support/harness/packages.ts';

ensurePackages(['btrfs-progs', 'rsync', 'e2fsprogs', 'mount']);

const TIMEOUT_MS = 60_000;
const HELD_MS = 2500;
let btrfs: HostileStage;
let rsync: HostileStage;

beforeAll(async () => {
  btrfs = await HostileStage.make(engineNamed('btrfs', HELD_MS));
  rsync = await HostileStage.make(engineNamed('rsync', HELD_MS), btrfs.outside);
}, TIMEOUT_MS);

afterAll(async () => {
  await rsync.end();
  await btrfs.end();
});

attack(
  'primary of a volume',
  'a batch that makes a link and writes files of the host through it',
  () => {
    const folder = mkdtempSync(join(tmpdir(), 'berth-rsync-'));
    try {
      const old = oldRsync(folder);
      const replay = [process.execPath, join(import.meta.dirname, '../support/hostile-replay.ts')];
      // Mounts of its own, so that the machine keeps its rsync.
      const script = 'mount -t overlay -o "lowerdir=$0:/usr" overlay /usr && exec "$@"';
      const words = ['--mount', 'sh', '-c', old === undefined ? 'exec "$@"' : script, old ?? 'sh', ...replay];
      const printed = execFileSync('unshare', words, { encoding: 'utf8' });
      const outcomes = printed
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { readonly held: boolean });
      expect(outcomes).toHaveLength(4);
      for (const outcome of outcomes) expect(outcome).toMatchObject({ held: true });
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  },
  TIMEOUT_MS,
);

attack(
  'primary of a volume',
  'a stream with links in the places where the agent reads, writes and deletes',
  async () => {
    const before = btrfs.untouched();
    for (const { stream, what, fails } of hostileStreams(btrfs.outside)) {
      const { outcome } = await btrfs.receive(stream);
      if (fails === true) expect(outcome, what).not.toBe('received');
      expect(btrfs.untouched(), what).toEqual(before);
    }
  },
  TIMEOUT_MS,
);

attack(
  'primary of a volume',
  'a copy that makes its reader wait for ever',
  async () => {
    const waits = await Promise.all([
      btrfs.receive(streamThatWaits),
      rsync.receive(() => batchWithoutEnd(rsync.work)),
    ]);
    for (const { outcome } of waits) expect(outcome).toContain(`it did not go on for ${HELD_MS} ms`);
    // The next one is taken as any other.
    expect((await btrfs.receive(streamOfModes)).outcome).toBe('received');
    expect((await rsync.receive(() => batchOfModes(rsync.work))).outcome).toBe('received');
  },
  TIMEOUT_MS,
);

attack(
  'primary of a volume',
  'devices and set-uid programs of root in a copy',
  async () => {
    const { path: fromStream } = await btrfs.receive(streamOfModes);
    const { path: fromBatch } = await rsync.receive(() => batchOfModes(rsync.work));
    for (const path of [fromStream, fromBatch]) {
      expect(() => openSync(join(path, 'memory'), 'r')).toThrow(/EACCES/);
    }
    // Whoever runs it stays who they are.
    const script = 'exec setpriv --reuid=65534 --clear-groups ./id -u';
    expect(execFileSync('sh', ['-c', script], { cwd: fromBatch, encoding: 'utf8' }).trim()).toBe('65534');
  },
  TIMEOUT_MS,
);

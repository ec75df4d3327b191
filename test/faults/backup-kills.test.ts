import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openBackup } from '../../src/server/recovery/opened-backup.ts';
import { verifyBackup } from '../../src/server/recovery/verify.ts';
import { inTier } from '../support/fault-tier.ts';
import type { Caller } from '../support/harness/caller.ts';
import { PlaneProcess } from '../support/harness/plane-process.ts';
import { BERTH, Program } from '../support/harness/program.ts';

/**
 * Backups under writers, with kill -9 of the control plane, of the backup, or of both, at random moments. Every file that looks like a
 * backup is whole, and holds a prefix of what each writer wrote, one after the other: all that was acknowledged before the backup began.
 */
const ROUNDS = inTier({ usual: 1, long: 50 });
const TIMEOUT_MS = inTier({ usual: 120_000, long: 3_600_000 });
const WRITERS = 4;
const PASSPHRASE = 'a passphrase of this test';
const SEED = Number(process.env['BACKUP_SEED'] ?? Date.now() % 1_000_000);

const folder = mkdtempSync(join(tmpdir(), 'berth-backup-kills-'));
const passphrase = join(folder, 'passphrase');
const kept = join(folder, 'backups');
const plane = new PlaneProcess({ BERTH_RATE_LIMIT_PER_SECOND: '100000', BERTH_RATE_LIMIT_BURST: '100000' });
const signal = new AbortController().signal;

let state = SEED;
function random(below: number): number {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return Math.floor((state / 2 ** 32) * below);
}

beforeAll(async () => {
  writeFileSync(passphrase, PASSPHRASE, { mode: 0o600 });
  mkdirSync(kept);
  console.log(`seed ${SEED}`);
  await plane.start();
}, 60_000);
afterAll(async () => {
  await plane.dispose();
  rmSync(folder, { recursive: true, force: true });
});

/** By number: each volume of a writer is made after the one before was acknowledged. */
class Writer {
  readonly #prefix: string;
  acknowledged = 0;
  sent = 0;

  constructor(number: number) {
    this.#prefix = `w${number}`;
  }

  async write(call: Caller, stopped: () => boolean): Promise<void> {
    while (!stopped()) {
      // One whose answer was lost is sent again: it may be there.
      const next = this.acknowledged + 1;
      this.sent = next;
      const name = `${this.#prefix}-${next}`;
      const status = await call('POST', '/api/v1/dvm/volumes', {
        name,
        class: 'replicated',
        type: 'volume',
        sizeBytes: 2 ** 28,
      }).then(
        (answer) => answer.status,
        () => 0,
      );
      if (status === 201 || status === 409) this.acknowledged = next;
      else await delay(20);
    }
  }

  /** How many of the first are in it; throws when one is missing before another. */
  prefixIn(names: ReadonlySet<string>): number {
    const found = [...names].filter((name) => name.startsWith(`${this.#prefix}-`)).length;
    for (let number = 1; number <= found; number += 1)
      if (!names.has(`${this.#prefix}-${number}`)) throw new Error(`${this.#prefix}-${number} is missing`);
    return found;
  }
}

async function volumeNames(path: string): Promise<ReadonlySet<string>> {
  const backup = await openBackup(path, PASSPHRASE, signal);
  const names = new Set<string>();
  for await (const page of backup.pages)
    for (const { key } of page) {
      const [, name] = /\/volume-names\/(.+)$/.exec(key) ?? [];
      if (name !== undefined) names.add(name);
    }
  return names;
}

describe('backups under kill -9', () => {
  it(
    `of both sides, ${ROUNDS} rounds`,
    async () => {
      const shop = await plane.tenant('shop');
      await plane.admin('PUT', '/api/v1/tenants/shop/quota', { records: { volumes: 1_000_000 } });
      const writers = Array.from({ length: WRITERS }, (_one, number) => new Writer(number));
      const seen = new Set<string>();
      let [made, cut, records] = [0, 0, 0];
      for (let round = 0; round < ROUNDS; round += 1) {
        let stopped = false;
        const writing = writers.map((writer) => writer.write(shop.call, () => stopped));
        await delay(50 + random(200));
        const before = writers.map(({ acknowledged }) => acknowledged);
        const backup = new Program(
          [
            BERTH,
            'server',
            'backup',
            '--to',
            `${kept}/`,
            '--data-dir',
            plane.dataDir,
            '--passphrase-file',
            passphrase,
          ],
          process.env,
        );
        const killed = ['server', 'backup', 'both', 'none'][round % 4];
        await delay(random(1_200));
        if (killed === 'server' || killed === 'both') await plane.end('SIGKILL');
        if (killed === 'backup' || killed === 'both') await backup.end('SIGKILL');
        const status = await backup.end();
        if (killed === 'none') expect(status, backup.said).toBe(0);
        stopped = true;
        await Promise.all(writing);
        if (!plane.running) await plane.start();

        const names = readdirSync(kept).filter((name) => name.endsWith('.backup') && !seen.has(name));
        expect(names.length).toBeLessThanOrEqual(1);
        if (status === 0) expect(names).toHaveLength(1);
        else cut += 1;
        for (const name of names) {
          seen.add(name);
          const path = join(kept, name);
          const { contents } = await verifyBackup(path, PASSPHRASE, signal);
          const volumes = await volumeNames(path);
          for (const [number, writer] of writers.entries()) {
            const found = writer.prefixIn(volumes);
            expect(found).toBeGreaterThanOrEqual(before[number] ?? 0);
            expect(found).toBeLessThanOrEqual(writer.sent);
          }
          made += 1;
          records = contents.records;
        }
      }
      const acknowledged = writers.reduce((sum, writer) => sum + writer.acknowledged, 0);
      console.log(
        `backups: ${JSON.stringify({ rounds: ROUNDS, made, cut, acknowledged, records })}; 0 that looked whole and were not`,
      );
      expect(made).toBeGreaterThan(0);
    },
    TIMEOUT_MS,
  );
});

import { writeFileSync } from 'node:fs';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { LONG_TIER } from '../support/fault-tier.ts';
import { ShopDay } from '../support/harness/shop-day.ts';

/** `examples/shop` through a whole day under constant load, by the command line alone. */

const MINUTE = 60_000;
const CREDENTIAL = 'resources/shop-db';
const FLAWLESS = { failed: 0, wrong: 0, missing: 0 };
let day: ShopDay;
/** Orders of the day that may be gone, and why: of those nobody had a copy. */
const gone = new Map<string, string>();
let acknowledged: ReadonlyMap<string, number> = new Map();

/** Orders that the shop has acknowledged so far, and when. */
function taken(): ReadonlyMap<string, number> {
  return new Map(
    day.asked.flatMap(({ what, detail, beganMs, tookMs }) =>
      what === 'ok' && detail !== '' ? [[detail, beganMs + tookMs] as const] : [],
    ),
  );
}

async function missingFrom(orders: ReadonlyMap<string, number>): Promise<readonly string[]> {
  const rows = await day.orders();
  return [...orders.keys()].filter((id) => !rows.has(id) && !gone.has(id));
}

beforeAll(async () => {
  if (LONG_TIER) day = await ShopDay.begin();
}, 5 * MINUTE);

afterAll(async () => {
  if (!LONG_TIER) return;
  const path = process.env['SHOP_DAY_TRANSCRIPT'];
  if (path !== undefined)
    writeFileSync(path, `${day.transcript.join('\n')}\n${JSON.stringify(day.figures, null, 1)}\n`);
  await day.end();
}, 2 * MINUTE);

describe.runIf(LONG_TIER)('a day of the shop', () => {
  it(
    'begins: deployed, in order',
    async () => {
      for (const part of ['1-data', '2-postgres', '3-jobs', '4-shop', '5-dump'])
        await day.done('apply', '-f', `shop/${part}.yaml`);
      await day.done('secret', 'hooks', CREDENTIAL, '--apply', 'db-apply', '--revoke', 'db-revoke');
      await day.done('get', 'deployments', '-o', 'wide');
      day.openDoors();
      const seen = await day.step('open', () => day.servesFor(10_000));
      expect(seen).toMatchObject(FLAWLESS);
      expect(seen.orders).toBeGreaterThan(30);
    },
    10 * MINUTE,
  );

  it(
    'a release that needs a migration is rolled out without it, fails, and says why',
    async () => {
      day.edit('shop/4-shop.yaml', 'shop/app:1.0', 'shop/app:1.1');
      const seen = await day.step('break', async () => {
        const { code, out } = await day.berth('apply', '-f', 'shop/4-shop.yaml');
        expect(code, out).toBe(4);
        expect(out).toContain(
          'web 1.1 needs schema 2, the database has schema 1: run the job migrate of 1.1 first',
        );
        expect(out).toContain('exit code 1');
        await day.done('logs', 'web', '--previous', '--tail', '2');
        await day.berth('rollout', 'status', 'web');
      });
      expect(seen).toMatchObject(FLAWLESS);
    },
    5 * MINUTE,
  );

  it(
    'is mended: the migration runs, then the release',
    async () => {
      day.edit('shop/3-jobs.yaml', 'shop/app:1.0', 'shop/app:1.1');
      const seen = await day.step('fix', async () => {
        await day.done('apply', '-f', 'shop/3-jobs.yaml');
        await day.done('job', 'run', 'migrate');
        expect(await day.done('job', 'logs', 'migrate')).toContain('schema 1 -> 2');
        await day.done('apply', '-f', 'shop/4-shop.yaml');
      });
      expect(seen).toMatchObject(FLAWLESS);
      expect(await day.answer()).toMatchObject({ version: '1.1' });
    },
    5 * MINUTE,
  );

  it(
    'is scaled up and down',
    async () => {
      const seen = await day.step('scale', async () => {
        await day.done('scale', 'web', '5');
        await day.done('scale', 'web', '3');
      });
      expect(seen).toMatchObject(FLAWLESS);
    },
    5 * MINUTE,
  );

  it(
    'tries a changed version beside the other, and takes it',
    async () => {
      const seen = await day.step('canary', async () => {
        day.write('canary.yaml', 'name: web\nenvironment: { PYTHONOPTIMIZE: "1" }\n');
        await day.done('canary', 'start', 'web', '-f', 'canary.yaml', '--weight', '25');
        await day.servesFor(10_000);
        await day.done('canary', 'status', 'web');
        await day.done('canary', 'promote', 'web');
      });
      expect(seen).toMatchObject(FLAWLESS);
    },
    5 * MINUTE,
  );

  it(
    'changes the password of the database',
    async () => {
      const seen = await day.step('rotate', async () => {
        for (const phase of ['stage', 'promote', 'retire'])
          expect(await day.done('secret', 'rotate', CREDENTIAL)).toContain(phase);
        expect(await day.done('job', 'logs', 'db-revoke')).toContain('can not log in any more');
      });
      expect(seen).toMatchObject(FLAWLESS);
    },
    10 * MINUTE,
  );

  it(
    'dumps the database',
    async () => {
      const seen = await day.step('dump', async () => {
        await day.done('job', 'run', 'dump');
        await day.done('job', 'logs', 'dump');
      });
      expect(seen).toMatchObject(FLAWLESS);
    },
    5 * MINUTE,
  );

  it(
    'empties the machine of the database, which loses nothing',
    async () => {
      const before = await day.primary();
      const seen = await day.step('drain', async () => {
        await day.berth('node', 'drain', before, '--dry-run');
        const { code, out } = await day.berth('node', 'drain', before, '--wait', '--timeout', '2m');
        if (code !== 0)
          for (const name of ['web', 'worker', 'nginx']) await day.berth('describe', 'deployment', name);
        expect(code, out).toBe(0);
        await day.servesFor(5_000);
        await day.done('node', 'uncordon', before);
      });
      expect(await day.primary()).not.toBe(before);
      expect(seen).toMatchObject({ wrong: 0, missing: 0 });
      expect(await missingFrom(taken())).toEqual([]);
    },
    10 * MINUTE,
  );

  it(
    'loses the machine of the database, and goes on with a copy',
    async () => {
      const lost = await day.primary();
      await day.copiesLive();
      let lostMs = 0;
      const seen = await day.step('lose a node', async () => {
        day.unplug(lost);
        lostMs = Date.now();
        await eventually(
          'a copy is promoted',
          () => day.primary(),
          (now) => now !== lost,
          2 * MINUTE,
        );
        await eventually(
          'orders are taken again',
          async () => [...taken().values()].filter((atMs) => atMs > lostMs + 10_000).length,
          (orders) => orders > 20,
          2 * MINUTE,
        );
        await day.done('get', 'nodes');
        await day.done('events', '--kind', 'volume.promoted');
      });
      console.log(JSON.stringify({ firstAnsweredMs: day.answeredAfter(lostMs) }));
      for (const id of await missingFrom(taken()))
        gone.set(id, 'written in the last moments of the lost machine');
      expect(seen.wrong).toBe(0);
      const { takenAt } = await day.promotedCopy();
      const held = [...gone.keys()].filter((id) => (taken().get(id) ?? 0) < Date.parse(takenAt));
      expect(held).toEqual([]);
    },
    10 * MINUTE,
  );

  it(
    'has the machine back',
    async () => {
      const [back = ''] = day.unplugged;
      await day.step('its return', async () => {
        day.plugIn(back);
        await day.copiesLive();
        await day.done('get', 'nodes');
        await day.done('describe', 'volume', 'shop-data');
      });
    },
    10 * MINUTE,
  );

  it(
    'is emptied by mistake, and restored from the dump',
    async () => {
      const held = await day.orders();
      await day.done('job', 'run', 'dump');
      let deletedMs = 0;
      const seen = await day.step('restore', async () => {
        const psql = ['psql', '-h', '/tmp', '-U', 'postgres', '-c', 'DELETE FROM orders'];
        await day.done('exec', 'postgres', '--', ...psql);
        deletedMs = Date.now();
        await day.done('apply', '-f', 'shop/when-needed/restore.yaml');
        await day.done('job', 'logs', 'restore');
      });
      expect(seen).toMatchObject({ failed: 0, wrong: 0 });
      const orders = taken();
      for (const id of await missingFrom(orders))
        if (!held.has(id) && (orders.get(id) ?? 0) < deletedMs) gone.set(id, 'newer than the dump');
      expect(await missingFrom(orders)).toEqual([]);
    },
    10 * MINUTE,
  );

  it(
    'ends with every order that was acknowledged, each handled once',
    async () => {
      await day.closeDoors();
      acknowledged = taken();
      await pause(2_000);
      const rows = await day.orders();
      const lost = [...acknowledged.keys()].filter((id) => !rows.has(id));
      console.log(
        JSON.stringify({
          acknowledged: acknowledged.size,
          lost: lost.map((id) => gone.get(id) ?? 'unknown'),
        }),
      );
      expect(lost.filter((id) => !gone.has(id))).toEqual([]);
      expect([...rows].filter(([, handled]) => handled !== 1)).toEqual([]);
      await day.done('get', 'deployments', '-o', 'wide');
    },
    5 * MINUTE,
  );
});

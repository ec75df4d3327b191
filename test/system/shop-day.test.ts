import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { LONG_TIER } from '../support/fault-tier.ts';
import { ShopDay } from '../support/harness/shop-day.ts';

/** `examples/shop` through a whole day under constant load, by the command line alone. */

const MINUTE = 60_000;
let day: ShopDay;

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
      await day.done('secret', 'write', 'resources/postgres', '--generate', 'PASSWORD');
      await day.done(
        'secret',
        'write',
        'resources/shop-db',
        '--alternate',
        'user=shop_a,shop_b',
        '--generate',
        'password',
      );
      for (const part of ['1-volumes', '2-postgres', '3-jobs', '4-shop', '5-dump'])
        await day.done('apply', '-f', `shop/${part}.yaml`);
      await day.done('secret', 'hooks', 'resources/shop-db', '--apply', 'db-apply', '--revoke', 'db-revoke');
      await day.done('get', 'deployments', '-o', 'wide');
      day.openDoors();
      const { failed, orders } = await day.step('open', async () => {
        await eventually(
          'orders come in',
          async () => day.asked.length,
          (asked) => asked > 100,
          MINUTE,
        );
      });
      expect(failed).toBe(0);
      expect(orders).toBeGreaterThan(10);
    },
    10 * MINUTE,
  );
});

import { performance } from 'node:perf_hooks';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { fastClock } from '../support/fake-clock.ts';
import { LONG_TIER } from '../support/fault-tier.ts';
import { type Etcd, startEtcd } from '../support/harness/etcd.ts';
import { PlaneProcess, type Tenant } from '../support/harness/plane-process.ts';
import { type Planes, startPlanes } from '../support/harness/planes.ts';
import {
  firstOfEach,
  NumberedEvents,
  numberOf,
  WebhookReceiver,
} from '../support/harness/webhook-receiver.ts';

/**
 * Webhooks with everything as processes of their own: a receiver that is away for an hour, control planes that are killed. Only in the long tier.
 */

const HOUR_MS = 3_600_000;
/** So fast do both clocks of the control plane go, wall and monotonic: its hour takes two minutes here. */
const SPEED = 30;
const FREELY = { BERTH_RATE_LIMIT_PER_SECOND: '100000', BERTH_RATE_LIMIT_BURST: '100000' };
/** Sent and not stored as sent, when a process is killed. */
const UNSTORED = 17;

const upTo = (count: number) => Array.from({ length: count }, (_, at) => at + 1);

/** All numbers, in their order; one that was written twice may be there twice. */
function expectWhole(receiver: WebhookReceiver, path: string, count: number): void {
  const numbers = firstOfEach(receiver.taken(path)).map(numberOf);
  expect(numbers).toEqual(numbers.toSorted((a, b) => a - b));
  expect([...new Set(numbers)]).toEqual(upTo(count));
}

async function eventIds({ call }: Tenant): Promise<readonly string[]> {
  const ids: string[] = [];
  let path: string | undefined = '/api/v1/events?kind=webhook.updated&subject=source&limit=1000';
  while (path !== undefined) {
    const { body, headers } = await call('GET', path);
    ids.push(...body.map(({ id }: { readonly id: string }) => id));
    [, path] = /<([^>]+)>; rel="next"/.exec(headers.get('link') ?? '') ?? [];
  }
  return ids;
}

describe.runIf(LONG_TIER)(
  'a receiver that is away for an hour, and a control plane that is killed meanwhile',
  () => {
    const receiver = new WebhookReceiver();
    let plane: PlaneProcess;
    let clock: ReturnType<typeof fastClock>;

    afterAll(async () => {
      await plane?.dispose();
      await receiver.dispose();
    });

    it('get everything, in order, repeated by id alone', async () => {
      await receiver.start();
      clock = fastClock(SPEED);
      plane = new PlaneProcess({ ...FREELY, ...receiver.environment });
      await plane.start(clock.environment());
      const shop = await plane.tenant('shop');
      await receiver.subscribe(shop.call, 'away', NumberedEvents.filter);
      const events = new NumberedEvents(() => shop.call);
      await events.prepare();
      for (let made = 0; made < 20; made += 1) await events.write();
      await eventually(
        'the first are there',
        () => receiver.taken('/away').length,
        (count) => count === 20,
      );

      await receiver.kill();
      const began = clock.nowMs();
      const kills = [0.2, 0.45, 0.7].map((share) => began + share * HOUR_MS);
      while (clock.nowMs() - began < HOUR_MS) {
        await events.write();
        if (clock.nowMs() >= (kills[0] ?? Number.POSITIVE_INFINITY)) {
          kills.shift();
          // With requests under way.
          const writing = events.write();
          await plane.end('SIGKILL');
          await writing;
          await plane.start(clock.environment());
        }
        await delay(100);
      }
      const held = await shop.call('GET', '/api/v1/webhooks/away');
      expect(held.body.status).toMatchObject({ state: 'failing', deadLetters: 0 });
      await receiver.start();
      const [backMs, took] = [performance.now(), receiver.taken('/away').length];
      const whole = await eventually(
        'all of them came',
        () => firstOfEach(receiver.taken('/away')).map(numberOf),
        (numbers) => new Set(numbers).size >= events.acknowledged,
        120_000,
      );
      expectWhole(receiver, '/away', events.acknowledged);
      // What the journal has, and nothing else.
      expect(firstOfEach(receiver.taken('/away')).map(({ id }) => id)).toEqual(
        (await eventIds(shop)).toSorted(),
      );
      const requests = receiver.taken('/away').length;
      console.log(
        `away: ${JSON.stringify({
          awayMinutes: Math.round((clock.nowMs() - began) / 60_000),
          kills: 3,
          acknowledged: events.acknowledged,
          events: whole.length,
          before: took,
          requests,
          repeated: requests - whole.length,
          secondsUntilAll: Math.round((performance.now() - backMs) / 1000),
        })}`,
      );
      const { body } = await shop.call('GET', '/api/v1/webhooks/away');
      expect(body.status).toMatchObject({ state: 'active', pending: 0, deadLetters: 0, dropped: 0 });
    }, 600_000);
  },
);

describe.runIf(LONG_TIER)('two control planes on etcd', () => {
  const receiver = new WebhookReceiver();
  let etcd: Etcd;
  let planes: Planes;

  beforeAll(async () => {
    await receiver.start();
    etcd = await startEtcd();
    planes = await startPlanes(etcd, 2, { ...FREELY, ...receiver.environment });
  }, 120_000);
  afterAll(async () => {
    await planes?.stop();
    await etcd?.stop();
    await receiver.dispose();
  });

  it('send each event once; when the one that sends is killed the other goes on, and nothing is lost', async () => {
    const shop = await planes.first.tenant('shop');
    await receiver.subscribe(shop.call, 'both', NumberedEvents.filter);
    let [through] = planes.members;
    const events = new NumberedEvents(() => {
      if (through === undefined) throw new Error('no control plane');
      return through.as(shop.token);
    });
    await events.prepare();
    const arrived = (count: number) =>
      eventually(
        `${count} came`,
        () => new Set(firstOfEach(receiver.taken('/both')).map(numberOf)).size,
        (size) => size === count,
        60_000,
      );
    // Through either of them.
    for (let made = 0; made < 200; made += 1) {
      through = planes.members[made % 2];
      await events.write();
    }
    expect(events.acknowledged).toBe(200);
    await arrived(200);
    expect(receiver.taken('/both').map(numberOf)).toEqual(upTo(200));

    const repeated: number[] = [];
    for (let round = 0; round < 6; round += 1) {
      const owner = await eventually(
        'one decides for the tenant',
        () => planes.owner(shop.id),
        (found) => found !== undefined,
      );
      if (owner === undefined) throw new Error('nobody decides');
      const before = receiver.taken('/both').length - firstOfEach(receiver.taken('/both')).length;
      [through] = planes.others(owner);
      const end = events.acknowledged + 150;
      const kill = events.acknowledged + 40;
      let killed: Promise<void> | undefined;
      while (events.acknowledged < end) {
        await events.write();
        if (events.acknowledged >= kill) killed ??= owner.end('SIGKILL');
      }
      await killed;
      await arrived(end);
      const after = receiver.taken('/both').length - firstOfEach(receiver.taken('/both')).length;
      repeated.push(after - before);
      await owner.start();
    }
    expectWhole(receiver, '/both', events.acknowledged);
    expect(new Set(firstOfEach(receiver.taken('/both')).map(({ id }) => id))).toEqual(
      new Set(await eventIds(shop)),
    );
    console.log(`two planes: ${JSON.stringify({ acknowledged: events.acknowledged, repeated })}`);
    for (const count of repeated) expect(count).toBeLessThanOrEqual(UNSTORED);
  }, 600_000);
});

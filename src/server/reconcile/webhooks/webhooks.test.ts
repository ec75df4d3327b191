import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { WebhookRecord } from '../../../core/model/webhook.ts';
import type { Answer, Outcome } from '../../../core/plan/webhooks/delivery.ts';
import { Simulation, TENANT } from '../../../../test/support/simulation/controllers.ts';
import { idOf } from '../../store/record-ids.ts';

const DAY_MS = 86_400_000;
let sim: Simulation;
/** What the receiver took, by event message. */
let taken: string[];
let tried: string[];
let answer: (message: string, signal: AbortSignal) => Answer | Promise<Answer>;
let outcomes: Outcome[];

const OK: Answer = { status: 200 };
const AWAY: Answer = { failure: 'unreachable', message: 'no connection' };

const webhooks = {
  post: async (_tenant: unknown, _webhook: unknown, event: { message: string }, signal: AbortSignal) => {
    tried.push(event.message);
    const given = await answer(event.message, signal);
    if ('status' in given && given.status < 300) taken.push(event.message);
    return given;
  },
  counted: (outcome: Outcome) => void outcomes.push(outcome),
  random: () => 1,
};

beforeEach(async () => {
  [taken, tried, outcomes] = [[], [], []];
  answer = () => OK;
  sim = await Simulation.start([]);
  await sim.restart({ webhooks });
});
afterEach(async () => {
  await sim.stop();
});

const record = (more: Partial<WebhookRecord> = {}): WebhookRecord => ({
  id: 'whk_1',
  name: 'alerts',
  tenantId: TENANT,
  url: 'https://hooks.example.com/',
  events: { kinds: ['test.*'] },
  signing: { vault_path: 'resources/hooks', key: 'key' },
  paused: false,
  createdAt: sim.time.now().toISOString(),
  updatedAt: sim.time.now().toISOString(),
  ...more,
});

const put = (more: Partial<WebhookRecord> = {}) =>
  sim.write((transaction) => transaction.put('webhooks', idOf('webhooks', 'alerts'), record(more)));

async function publish(...messages: readonly string[]): Promise<void> {
  for (const message of messages)
    await sim.write((transaction) => {
      const id = sim.ids.next('event');
      const at = sim.time.now().toISOString();
      const subject = { kind: 'Node', name: 'n1' } as const;
      transaction.putCold('events', id, {
        id,
        at,
        kind: 'test.said',
        tenantId: TENANT,
        subject,
        message,
        details: {},
      });
    });
}

/** Settled: what I/O of the store takes a few turns for is done. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 40; turn += 1) await new Promise(setImmediate);
  await sim.settle();
}

const pass = (ms: number) => sim.time.advance(ms, settle);
const delivery = () =>
  sim.tenant.get('webhook-deliveries', idOf('webhook-deliveries', 'alerts', 'whk_1'))?.record;
const letters = async () => (await sim.tenant.rangeCold('webhook-dead-letters')).entries;
const many = (count: number, from = 0) => Array.from({ length: count }, (_, at) => `e${from + at}`);

describe('the sender of webhooks', () => {
  it('sends what is published after the webhook, in order, also more than it holds in memory', async () => {
    await publish('before');
    await put();
    await settle();
    answer = () => AWAY;
    await publish(...many(200));
    await settle();
    expect(delivery()?.failing?.attempts).toBe(1);
    answer = () => OK;
    await pass(2000);
    expect(taken).toEqual(many(200));
    await publish('after');
    await settle();
    expect(taken.at(-1)).toBe('after');
    expect(delivery()).toMatchObject({ pending: 0, lastSuccess: { code: 200 } });
    expect(delivery()?.failing).toBeUndefined();
  });

  it('backs off by doubling, as long as the receiver asks at least, and says so once', async () => {
    answer = () => AWAY;
    await put();
    await publish('one');
    await settle();
    for (const [attempts, waitMs] of [
      [2, 1000],
      [3, 2000],
      [4, 4000],
      [5, 8000],
    ] as const) {
      await pass(waitMs - 1);
      expect(delivery()?.failing?.attempts).toBe(attempts - 1);
      await pass(1);
      expect(delivery()?.failing?.attempts).toBe(attempts);
    }
    expect(await sim.events('webhook.failing')).toHaveLength(1);
    answer = () => ({ status: 503, retryAfterMs: 120_000 });
    await pass(16_000);
    expect(delivery()?.lastFailure).toMatchObject({ code: 503 });
    const before = tried.length;
    await pass(119_000);
    expect(tried).toHaveLength(before);
    answer = () => OK;
    await pass(1000);
    expect(taken).toEqual(['one']);
    expect(await sim.events('webhook.recovered')).toHaveLength(1);
  });

  it('sends again, with the same event, what was under way when the process ended', async () => {
    await put();
    await settle();
    // The receiver takes it; the process is gone before that is stored.
    answer = (message, signal) => {
      taken.push(message);
      return new Promise((resolve) => {
        signal.addEventListener('abort', () => resolve({ failure: 'closed' }));
      });
    };
    await publish('one', 'two');
    await settle();
    await sim.restart({
      webhooks: { ...webhooks, post: async (...args) => ((answer = () => OK), webhooks.post(...args)) },
    });
    await settle();
    expect(taken).toEqual(['one', 'one', 'two']);
  });

  it('is one of two processes: the other one sends nothing until it has the tenant', async () => {
    await put();
    await settle();
    await sim.restart({ webhooks, owns: () => false });
    await publish('one');
    await settle();
    expect(tried).toEqual([]);
    await sim.restart({ webhooks });
    await settle();
    expect(taken).toEqual(['one']);
  });

  it('gives events up after three days, keeps them, and sends them again when asked', async () => {
    answer = () => AWAY;
    await put();
    await publish(...many(100));
    await settle();
    sim.time.jumpWall(3 * DAY_MS + 1);
    await publish('young');
    await pass(900_000);
    expect(await letters()).toHaveLength(100);
    expect(delivery()).toMatchObject({ deadLetters: 100, dropped: 0 });
    expect(await sim.events('webhook.dead_lettered')).toHaveLength(1);
    expect(outcomes.filter((one) => one === 'dead_letter')).toHaveLength(100);
    answer = () => OK;
    await pass(900_000);
    expect(taken).toEqual(['young']);
    const order = idOf('webhook-orders', 'alerts', 'whk_1');
    const [first] = await letters();
    await sim.write((transaction) =>
      transaction.put('webhook-orders', order, { redeliver: 1, events: [first?.record.event.id ?? ''] }),
    );
    await settle();
    expect(taken).toEqual(['young', 'e0']);
    answer = (message) => (message === 'e50' ? AWAY : OK);
    await sim.write((transaction) => transaction.put('webhook-orders', order, { redeliver: 2 }));
    await settle();
    await settle();
    expect(taken.slice(2)).toEqual(many(49, 1));
    expect(delivery()).toMatchObject({ deadLetters: 50, redelivered: 2 });
    expect(await letters()).toHaveLength(50);
  });

  it('keeps a thousand dead letters, and counts those that made room', async () => {
    answer = () => AWAY;
    await put();
    await publish(...many(1020));
    await settle();
    sim.time.jumpWall(3 * DAY_MS + 1);
    await pass(900_000);
    await settle();
    expect(delivery()).toMatchObject({ deadLetters: 1000, dropped: 20 });
    const kept = await letters();
    expect(kept).toHaveLength(1000);
    expect(kept[0]?.record.event.message).toBe('e20');
  });

  it('keeps no more than their bytes, the newest, also of letters that nobody had counted', async () => {
    const MOST = 2 ** 20;
    const large = (count: number, from: number) => many(count, from).map((name) => name.padEnd(50_000, '.'));
    const expire = async () => {
      sim.time.jumpWall(3 * DAY_MS + 1);
      await pass(900_000);
      await settle();
    };
    const names = async () =>
      (await letters()).map(({ record: one }) => one.event.message.replaceAll('.', ''));
    answer = () => AWAY;
    await put();
    await publish(...large(15, 0));
    await settle();
    await expire();
    expect(await names()).toEqual(many(15));
    // As a release stored it that did not count them.
    const deliveryId = idOf('webhook-deliveries', 'alerts', 'whk_1');
    const { deadLetterBytes: _counted, ...before } = delivery() ?? expect.fail('no delivery');
    await sim.write((transaction) => transaction.put('webhook-deliveries', deliveryId, before));
    await publish(...large(10, 15));
    await settle();
    await expire();
    expect(await names()).toEqual(many(20, 5));
    expect(delivery()).toMatchObject({ deadLetters: 20, dropped: 5 });
    const stored = (await letters()).reduce((sum, { record: one }) => sum + JSON.stringify(one).length, 0);
    expect(delivery()?.deadLetterBytes).toBe(stored);
    expect(stored).toBeLessThanOrEqual(MOST);
    // More at once than there is room for at all: of these too the newest stay.
    await publish(...large(30, 25));
    await settle();
    await expire();
    expect(await names()).toEqual(many(20, 35));
    expect(delivery()).toMatchObject({ deadLetters: 20, dropped: 35 });
    await publish(...many(90, 55));
    await settle();
    await expire();
    expect(delivery()).toMatchObject({ deadLetters: 110, dropped: 35 });
    // All of them go for one, in commits that etcd takes too.
    const removed: number[] = [];
    const { revision } = await sim.tenant.rangeCold('webhook-dead-letters', '', { limit: 1 });
    const watch = sim.tenant.watchCold('webhook-dead-letters', revision, {
      onBatch: ({ changes }) => removed.push(changes.length),
      onLost: (reason) => expect.fail(reason),
    });
    await publish('x'.repeat(MOST));
    await settle();
    await expire();
    watch.close();
    expect(removed).toEqual([50, 50, 11]);
    expect(delivery()).toMatchObject({ deadLetters: 1, dropped: 145 });
    answer = () => OK;
    const order = idOf('webhook-orders', 'alerts', 'whk_1');
    await sim.write((transaction) => transaction.put('webhook-orders', order, { redeliver: 1 }));
    await settle();
    expect(delivery()).toMatchObject({ deadLetters: 0, deadLetterBytes: 0 });
  });

  it('keeps what the journal drops before it was sent as dead letters', async () => {
    await sim.restart({ webhooks, eventsKept: { keepDays: 7, keepCount: 10 } });
    answer = () => AWAY;
    await put({ paused: true });
    await publish(...many(25));
    await settle();
    await pass(600_000);
    await settle();
    expect((await letters()).map(({ record: { event } }) => event.message)).toEqual(
      expect.arrayContaining(many(14)),
    );
    answer = () => OK;
    await put();
    await settle();
    const dead = (await letters()).length;
    expect(taken).toEqual(many(25 - dead, dead));
  });

  it('goes on with the next event when the receiver refuses one for what it is', async () => {
    answer = (message) => (message === 'good' ? OK : { status: 422 });
    await put();
    await publish('bad', 'worse', 'good');
    await settle();
    for (const _bad of ['bad', 'worse']) {
      for (let tries = 1; tries < 10; tries += 1) await pass(1000 * 2 ** (tries - 1));
      await settle();
    }
    expect((await letters()).map(({ record: one }) => [one.event.message, one.code, one.attempts])).toEqual([
      ['bad', 422, 10],
      ['worse', 422, 10],
    ]);
    expect(taken).toEqual(['good']);
  });

  it.each([
    ['paused', () => put({ paused: true })],
    ['deleted', () => sim.write((one) => one.delete('webhooks', idOf('webhooks', 'alerts')))],
  ])('sends no more of what waits once it is %s', async (_what, end) => {
    let first: (() => void) | undefined;
    answer = (message) =>
      message === 'e0' ? new Promise((resolve) => (first = () => resolve(OK))) : Promise.resolve(OK);
    await put();
    await publish(...many(5));
    await settle();
    await end();
    first?.();
    await settle();
    expect(taken).toEqual(['e0']);
  });

  it('sends nothing of the past when its filter becomes wider', async () => {
    await put({ events: { kinds: ['other.*'] } });
    await settle();
    await publish(...many(3));
    await settle();
    await put();
    await publish('after');
    await settle();
    expect(taken).toEqual(['after']);
  });

  it('makes way for the journal between two requests', async () => {
    await sim.restart({ webhooks, eventsKept: { keepDays: 7, keepCount: 10 } });
    const waiting: (() => void)[] = [];
    answer = () => new Promise((resolve) => waiting.push(() => resolve(OK)));
    await put();
    await publish(...many(25));
    await settle();
    await pass(600_000);
    waiting.shift()?.();
    await settle();
    // The second request would have been one that the journal has lost.
    expect((await letters()).length).toBeGreaterThan(10);
    expect(taken).toEqual(['e0']);
    answer = () => OK;
    waiting.shift()?.();
    await settle();
    expect(new Set([...taken, ...(await letters()).map(({ record: one }) => one.event.message)])).toEqual(
      new Set(many(25)),
    );
  });

  it('leaves nothing of a webhook that is deleted, also for the next one of its name', async () => {
    answer = () => AWAY;
    await put();
    await publish(...many(60));
    await settle();
    sim.time.jumpWall(3 * DAY_MS + 1);
    await pass(900_000);
    expect(await letters()).toHaveLength(60);
    await sim.write((transaction) => transaction.delete('webhooks', idOf('webhooks', 'alerts')));
    await settle();
    expect([...(await letters()), ...sim.tenant.list('webhook-deliveries')]).toEqual([]);
  });
});

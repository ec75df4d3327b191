import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { LONG_TIER } from '../support/fault-tier.ts';
import { type Asked, count, percentile } from '../support/harness/shop-load.ts';
import { USUAL_SPANS } from '../support/harness/usual-spans.ts';
import { NODES, type NodeName, POSTGRES, SECRETS, ShopStage } from '../support/harness/shop-stage.ts';

/**
 * A shop on three machines, one behind NAT and one without UDP, with real programs: each request goes from a container to an instance of the
 * application and from there to PostgreSQL, by name and by virtual address, while ways between the machines go and come back.
 */

/** From each machine, one half by name and one by virtual address. */
const REQUESTS = Number(process.env['SHOP_REQUESTS'] ?? 10_000);
const ROUNDS = 3;
const RELAYED_MS = 15_000;
const DIRECT_MS = 60_000;
const PER_SECOND = '10';
let stage: ShopStage;
/** Orders that the shop has acknowledged, and when. */
const acknowledged = new Map<string, number>();

const tell = (what: string, figures: Readonly<Record<string, unknown>>) =>
  console.log(`${what}: ${JSON.stringify(figures)}`);
const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

function taken(asked: readonly Asked[]): void {
  for (const { what, detail, beganMs, tookMs } of asked)
    if (what === 'ok' && detail !== '') acknowledged.set(detail, beganMs + tookMs);
}

/** When, and after how long, each in seconds. */
const problemOf = ({ what, host, by, beganMs, tookMs, detail }: Asked): string =>
  `${what} of ${host} by ${by} at ${(beganMs / 1000).toFixed(1)} after ${(tookMs / 1000).toFixed(1)}: ${detail}`;

function figuresOf(asked: readonly Asked[]) {
  const by = new Map<string, number>();
  for (const one of asked) if (one.what === 'ok') by.set(one.by, (by.get(one.by) ?? 0) + 1);
  return {
    requests: asked.length,
    failed: count(asked, 'failed'),
    wrong: count(asked, 'wrong'),
    missing: count(asked, 'missing'),
    p50: percentile(asked, 0.5),
    p99: percentile(asked, 0.99),
    by: Object.fromEntries(by),
    problems: [...new Set(asked.filter(({ what }) => what !== 'ok').map(problemOf))].slice(0, 6),
  };
}

/** Milliseconds from now until it is so. */
async function until(what: string, node: NodeName, peer: NodeName, path: string, withinMs: number) {
  const began = performance.now();
  await eventually(
    `${what}: ${node} reaches ${peer} ${path}`,
    () => stage.pathTo(node, peer),
    (found) => found?.path === path && found.carries,
    withinMs,
  );
  return { tookMs: Math.round(performance.now() - began) };
}

const whole = describe.runIf(LONG_TIER);

beforeAll(async () => {
  if (LONG_TIER) stage = await ShopStage.start(USUAL_SPANS);
}, 300_000);
afterAll(async () => {
  if (LONG_TIER) await stage.stop();
});

whole('a shop on three machines', () => {
  it('waits for its database by name, and starts once', async () => {
    await stage.open();
    const seen = new Set<string>();
    await eventually(
      'web runs',
      async () => {
        const web = await stage.instances('web');
        const [pg] = await stage.instances('pg');
        for (const { state, reason } of web) if (reason) seen.add(`${state} ${reason}`);
        if (pg?.health !== 'healthy') expect(web.filter(({ state }) => state === 'running')).toEqual([]);
        return [...web, pg];
      },
      (all) => all.length === 4 && all.every(({ state }) => state === 'running'),
      90_000,
    );
    await stage.running();
    const containers = await stage.cluster.containers('web');
    tell('gate', { seen: [...seen] });
    for (const { id, labels } of containers) {
      const told = await stage.nodeOf(labels['berth.io/node'] ?? '').inspect(id);
      expect([told.RestartCount, told.State.ExitCode]).toEqual([0, 0]);
    }
    expect(new Set(containers.map(({ labels }) => labels['berth.io/node'])).size).toBe(3);
    await until('at first', 'open', 'natted', 'direct', 60_000);
    await until('at first', 'natted', 'open', 'direct', 60_000);
    for (const other of ['open', 'natted'] as const) await until('at first', 'mute', other, 'relay', 60_000);
  }, 300_000);

  it(`answers ${REQUESTS} requests of every machine, by name and by virtual address`, async () => {
    const address = await stage.virtualAddress('web');
    const began = performance.now();
    const ways = NODES.flatMap((node) => ['web', address].map((host) => ({ node, host })));
    const results = await Promise.all(
      ways.map(async ({ node, host }) => ({
        node,
        host,
        asked: await stage.load(node, 'closed', String(REQUESTS / 2), '4', host).done(),
      })),
    );
    for (const { node, host, asked } of results) {
      taken(asked);
      tell(`${node} ${host}`, figuresOf(asked));
    }
    tell('all', {
      ...figuresOf(results.flatMap(({ asked }) => asked)),
      seconds: Math.round((performance.now() - began) / 1000),
    });
    for (const { asked } of results)
      expect(figuresOf(asked)).toMatchObject({ requests: REQUESTS / 2, failed: 0, wrong: 0, missing: 0 });
    const rows = await stage.orders();
    expect([...acknowledged.keys()].filter((id) => !rows.has(id))).toEqual([]);
  }, 3_600_000);

  it('is dumped by a job on another machine', async () => {
    const script =
      'PGPASSWORD=$POSTGRES_PASSWORD pg_dump -h pg -U postgres -d postgres -f /tmp/shop.sql && wc -c < /tmp/shop.sql && grep -cE "^[0-9a-f]{12}-" /tmp/shop.sql';
    const job = { kind: 'Job', name: 'dump', image: POSTGRES, command: ['sh', '-c', script] };
    const made = await stage.shop.call('POST', '/api/v1/jobs', { ...job, nodeId: 'mute', secrets: SECRETS });
    expect([made.status, made.body.code]).toEqual([201, undefined]);
    await eventually(
      'it has ended well',
      async () => (await stage.shop.call('GET', '/api/v1/jobs/dump')).body.status,
      ({ phase }) => phase === 'Succeeded',
      60_000,
    );
    const { body } = await stage.shop.call('GET', '/api/v1/jobs/dump/logs');
    const [bytes, rows] = String(body).trim().split('\n').map(Number);
    tell('dump', { bytes, rows });
    expect(bytes).toBeGreaterThan(1000);
    expect(rows).toBe((await stage.orders()).size);
  });
});

/** Clients on every machine, by name and by virtual address, at a pace of their own, while `work` happens. */
async function underLoad(work: () => Promise<void>): Promise<ReadonlyMap<NodeName, readonly Asked[]>> {
  const hosts = `web,${await stage.virtualAddress('web')}`;
  const loads = NODES.map((node) => [node, stage.load(node, 'open', PER_SECOND, hosts)] as const);
  try {
    await pause(2_000);
    await work();
    await pause(2_000);
  } finally {
    await Promise.allSettled(loads.map(([, load]) => load.stop()));
  }
  const results = new Map<NodeName, readonly Asked[]>();
  for (const [node, load] of loads) results.set(node, await load.done());
  for (const asked of results.values()) taken(asked);
  return results;
}

/** From each instance to each client: when the first of the requests that began after `fromMs` was answered. */
function flowing(results: ReadonlyMap<NodeName, readonly Asked[]>, fromMs: number, toMs: number) {
  const first: Record<string, number> = {};
  for (const [node, asked] of results)
    for (const { what, by, beganMs, tookMs } of asked)
      if (what === 'ok' && beganMs >= fromMs && beganMs + tookMs <= toMs) {
        const pair = `${node}<${by}`;
        first[pair] = Math.min(first[pair] ?? Infinity, Math.round(beganMs + tookMs - fromMs));
      }
  return first;
}

const between = (results: ReadonlyMap<NodeName, readonly Asked[]>, fromMs: number, toMs: number) =>
  [...results.values()].flat().filter(({ beganMs }) => beganMs >= fromMs && beganMs < toMs);

whole('the way between two machines', () => {
  it.each(Array.from({ length: ROUNDS }, (_one, round) => round))(
    'is cut under load, replaced by the relay, and comes back (round %i)',
    async (round) => {
      let [cutMs, relayMs, healMs, directMs] = [0, 0, 0, 0];
      let lag = 0;
      const results = await underLoad(async () => {
        const before = await stage.connectMs('natted', 'open');
        stage.lan.cut(stage.spaceOf('open'), stage.spaceOf('natted'));
        cutMs = Date.now();
        const relayed = await Promise.all([
          until('cut', 'open', 'natted', 'relay', RELAYED_MS),
          until('cut', 'natted', 'open', 'relay', RELAYED_MS),
        ]);
        relayMs = Date.now();
        await pause(10_000);
        const carried = await stage.connectMs('natted', 'open');
        for (const { lagSeconds } of (await stage.volumeRecord()).replicas)
          lag = Math.max(lag, lagSeconds ?? 99);
        stage.lan.heal(stage.spaceOf('open'), stage.spaceOf('natted'));
        healMs = Date.now();
        const direct = await Promise.all([
          until('healed', 'open', 'natted', 'direct', DIRECT_MS),
          until('healed', 'natted', 'open', 'direct', DIRECT_MS),
        ]);
        directMs = Date.now();
        await pause(10_000);
        tell(`path, round ${round}`, {
          relayedMs: relayed.map(({ tookMs }) => tookMs),
          directMs: direct.map(({ tookMs }) => tookMs),
          roundTripMs: { before, relayed: carried, after: await stage.connectMs('natted', 'open') },
          lagSeconds: lag,
        });
      });
      const flow = flowing(results, cutMs, healMs);
      tell(`requests, round ${round}`, {
        before: figuresOf(between(results, 0, cutMs)),
        falling: figuresOf(between(results, cutMs, relayMs)),
        relayed: figuresOf(between(results, relayMs, healMs)),
        returning: figuresOf(between(results, healMs, directMs)),
        direct: figuresOf(between(results, directMs, Infinity)),
        firstAnsweredMs: flow,
      });
      const all = [...results.values()].flat();
      expect([count(all, 'wrong'), count(all, 'missing')]).toEqual([0, 0]);
      // From every instance to every client.
      expect(Object.keys(flow)).toHaveLength(9);
      expect(Math.max(...Object.values(flow))).toBeLessThan(RELAYED_MS);
      // Those that were under way, or began before the relay was used, may fail; none that began later.
      expect(figuresOf(between(results, relayMs, Infinity))).toMatchObject({ failed: 0 });
      expect(lag).toBeLessThan(10);
    },
    300_000,
  );
});

whole('the machine of the database', () => {
  it('is lost under load: its name leads to the copy, with every order that the copy held', async () => {
    let [lostMs, promotedMs, runningMs, backMs] = [0, 0, 0, 0];
    const results = await underLoad(async () => {
      stage.unplug('open');
      lostMs = Date.now();
      await eventually(
        'a copy is promoted',
        () => stage.volumeRecord(),
        ({ primaryNodeId }) => primaryNodeId !== 'open',
        120_000,
      );
      promotedMs = Date.now();
      await eventually(
        'PostgreSQL runs there',
        () => stage.instances('pg'),
        (all) => all.some(({ nodeId, health }) => nodeId !== 'open' && health === 'healthy'),
        120_000,
      );
      runningMs = Date.now();
      await pause(15_000);
      stage.plug('open');
      backMs = Date.now();
      await eventually(
        'the old primary is a copy again',
        () => stage.volumeRecord(),
        ({ replicas }) =>
          replicas.some(
            (one: { nodeId: string; state: string }) => one.nodeId === 'open' && one.state === 'live',
          ),
        120_000,
      );
      await until('back', 'open', 'natted', 'direct', DIRECT_MS);
      await pause(15_000);
    });
    const [told] = await stage.cluster.events(stage.shop, 'volume.promoted', stage.volume);
    const copy = told?.details?.['copy'] as { readonly takenAt: string };
    const rows = await stage.orders();
    const lostRows = new Map([...acknowledged].filter(([id]) => !rows.has(id)));
    const lost = [...lostRows.values()];
    const takenMs = Date.parse(copy.takenAt);
    tell('promotion', {
      promotedMs: promotedMs - lostMs,
      runningMs: runningMs - lostMs,
      bound: told?.details?.['lossBoundSeconds'],
      copyOldMs: lostMs - takenMs,
      acknowledged: acknowledged.size,
      lost: lost.length,
      lostBeforeUnplugged: lost.filter((atMs) => atMs < lostMs).length,
      lostHeldByCopy: lost.filter((atMs) => atMs < takenMs).length,
      firstAnsweredMs: flowing(results, lostMs, backMs),
      firstAfterReturnMs: flowing(results, backMs, Infinity),
      away: figuresOf(between(results, lostMs, runningMs)),
      moved: figuresOf(between(results, runningMs, backMs)),
      back: figuresOf(between(results, backMs, Infinity)),
    });
    const all = [...results.values()].flat();
    expect(count(all, 'wrong')).toBe(0);
    expect(lost.filter((atMs) => atMs < takenMs)).toEqual([]);
    // Only what the copy did not hold is missed by anybody.
    const missed = all.flatMap(({ what, detail }) => (what === 'missing' ? [detail] : []));
    expect(missed.filter((id) => !lostRows.has(id))).toEqual([]);
  }, 600_000);
});

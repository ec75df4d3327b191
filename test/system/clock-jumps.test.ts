import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { BOX, Cluster, type ClusterNode, type Tenant } from '../support/harness/cluster.ts';
import { FakeClock } from '../support/fake-clock.ts';
import { inTier, LONG_TIER } from '../support/fault-tier.ts';
import { PlaneProcess } from '../support/harness/plane-process.ts';
import { UNREACHABLE_IMAGE } from '../support/harness/server-under-test.ts';
import { lookSteadily, percentile } from '../support/steady-look.ts';

/**
 * F-20: the wall clock of a running control plane, and of a running agent, is set by up to two days. Nothing that runs is touched, no
 * node changes its state, what is written later is listed later, and what ends by the clock ends by the server's.
 */

const HOUR = 3600;
const DAY = 24 * HOUR;
/** Longer than the silence after which a node fails here; in the long tier longer than until its work is replaced. */
const AFTER_JUMP_MS = inTier({ usual: 3_500, long: 12_000 });
/** From the true time, one after the other, on both machines at once: forward and back, together and apart. */
const JUMPS = [
  { server: HOUR, machine: 600 },
  { server: -HOUR, machine: -600 },
  { server: DAY, machine: -DAY },
  { server: -DAY, machine: DAY },
];
const ROUNDS = inTier({ usual: 1, long: 5 });
/** Schedules are rechecked at least this often, so a clock that was set is noticed by then. */
const SCHEDULES_LOOKED_AT_MS = 60_000;

let server: FakeClock;
let machine: FakeClock;
let cluster: Cluster;
let shop: Tenant & { readonly token: string };
let jumping: ClusterNode;
let pids: Readonly<Record<string, number>>;
const written: string[] = [];
let lastRevision = 0;

beforeAll(async () => {
  server = new FakeClock();
  machine = new FakeClock();
  // Agents dial again after a back-off: a restart that takes long on a busy machine is no failed node.
  const patience = { BERTH_TIMERS_START_GRACE: '30s' };
  cluster = new Cluster(await new PlaneProcess({ ...server.environment, ...patience }).start());
  shop = await cluster.plane.tenant('shop');
  await cluster.node('steady', shop);
  jumping = await cluster.node('jumping', shop, { environment: machine.environment });
  const healthCheck = {
    type: 'exec',
    command: ['test -e /bin/sh'],
    interval: '1s',
    timeout: '10s',
    retries: 3,
  };
  await cluster.deploy(shop, { name: 'web', replicas: 4, healthCheck });
  await job('long', { timeout: '1h', nodeId: 'jumping', command: ['sleep', '3600'] });
  const minute = (new Date().getUTCMinutes() + 30) % 60;
  await job('hourly', { schedule: `${minute} * * * *`, command: ['true'] });
  await cluster.phase(shop, 'web', 'Running');
  await eventually(
    'the job runs',
    () => cluster.pids(),
    (all) => Object.keys(all).length === 5,
  );
  pids = await steadyPids();
});

afterAll(async () => {
  await cluster?.stop();
  server?.dispose();
  machine?.dispose();
});

async function job(name: string, spec: Readonly<Record<string, unknown>>): Promise<void> {
  const { status, body } = await shop.call('POST', '/api/v1/jobs', {
    kind: 'Job',
    name,
    image: BOX,
    ...spec,
  });
  if (status !== 201) throw new Error(JSON.stringify(body));
}

async function runsOf(name: string): Promise<readonly { readonly state: string }[]> {
  return (await shop.call('GET', `/api/v1/jobs/${name}`)).body.status.runs;
}

/** Without those of the schedule, which come and go. */
async function steadyPids(): Promise<Readonly<Record<string, number>>> {
  return { ...(await cluster.pids('web')), ...(await cluster.pids('job.long')) };
}

async function nodeStates(): Promise<readonly string[]> {
  const { status, body } = await shop.call('GET', '/api/v1/nodes');
  if (status !== 200) throw new Error(`${status}`);
  return (body as { name: string; status: string }[]).map(({ name, status: state }) => `${name} ${state}`);
}

/** A write whose event and audit line can be looked for in their order. */
async function write(): Promise<void> {
  const name = `order-${written.length}`;
  const answer = await cluster.deploy(shop, { name, image: UNREACHABLE_IMAGE, replicas: 0 });
  const revision = Number(answer.body.revision);
  expect(revision).toBeGreaterThan(lastRevision);
  lastRevision = revision;
  written.push(name);
}

async function expectWrittenOrder(): Promise<void> {
  const { body } = await shop.call('GET', '/api/v1/events?kind=deployment.created&limit=1000');
  const events = body as { id: string; subject: { name: string } }[];
  const names = events.map(({ subject }) => subject.name).filter((name) => name.startsWith('order-'));
  expect(names).toEqual(written);
  const { body: lines } = await shop.call('GET', '/api/v1/audit?limit=1000');
  const audited = (lines as { action: string; subject: { name: string } }[])
    .filter(({ subject }) => subject.name.startsWith('order-'))
    .map(({ subject }) => subject.name);
  expect(audited).toEqual(written);
}

/** Sets the clocks and looks meanwhile and afterwards. */
async function jump(to: { readonly server: number; readonly machine: number }): Promise<string> {
  const nodes = lookSteadily(nodeStates, ['jumping ready', 'steady ready']);
  const containers = lookSteadily(steadyPids, pids);
  await write();
  server.set(to.server);
  machine.set(to.machine);
  await write();
  await delay(AFTER_JUMP_MS);
  await write();
  const [states, processes] = await Promise.all([nodes.end(), containers.end()]);
  expect(states).toMatchObject({ changes: [], failures: [] });
  expect(processes).toMatchObject({ changes: [], failures: [] });
  await expectWrittenOrder();
  return `server to ${to.server} s, machine to ${to.machine} s: ${states.looks} looks at nodes (p99 ${Math.round(percentile(states.tookMs, 0.99))} ms), ${processes.looks} at processes`;
}

describe('clocks are set', () => {
  it('by minutes, hours and days: no node, container, session or event is moved by it', {
    timeout: 600_000,
  }, async () => {
    const made = await shop.call('POST', '/api/v1/tokens', { name: 'brief', role: 'viewer', ttl: '2h' });
    const asBrief = cluster.plane.as(made.body.token as string);
    const statusAt: Record<string, number> = {};
    const sessionsBefore = sessionsOf(jumping);
    for (let round = 0; round < ROUNDS; round += 1)
      for (const to of JUMPS) {
        console.log(await jump(to));
        const date = (await shop.call('GET', '/api/v1/nodes')).headers.get('date');
        expect(Math.abs(Date.parse(date ?? '') - server.now.getTime())).toBeLessThan(5_000);
        statusAt[String(to.server)] = (await asBrief('GET', '/api/v1/nodes')).status;
      }
    expect(statusAt).toEqual({ [HOUR]: 200, [-HOUR]: 200, [DAY]: 401, [-DAY]: 200 });
    expect(sessionsOf(jumping)).toBe(sessionsBefore);
    expect(await runsOf('long')).toMatchObject([{ state: 'Running' }]);
    console.log(
      `${ROUNDS * JUMPS.length} jumps: 0 nodes changed state, 0 of ${Object.keys(pids).length} containers touched, 0 sessions lost, ${written.length} writes in order`,
    );
  });

  it('while an agent goes on with its work: a container that is gone is there again', async () => {
    const [victim] = await jumping.containers('web');
    await jumping.docker.remove(victim?.id ?? '', { force: true });
    await eventually(
      'four again',
      () => cluster.pids('web'),
      (now) => Object.keys(now).length === 4,
    );
    pids = await steadyPids();
  });

  it.runIf(LONG_TIER)(
    'while it is down: what is written next is listed last, and 24 missed hours are one run',
    async () => {
      const before = (await runsOf('hourly')).length;
      await restarted(DAY);
      await write();
      await ran(before + 1);
      await restarted(-DAY);
      await write();
      await write();
      await expectWrittenOrder();
      expect(await steadyPids()).toEqual(pids);
      const runs = (await runsOf('hourly')).length - before;
      expect(runs).toBeLessThanOrEqual(2);
      console.log(`${written.length} writes in order, ${runs} runs of an hourly job`);
    },
  );

  it.runIf(LONG_TIER)(
    'by a day: the hours that it passes over are one run',
    { timeout: 300_000 },
    async () => {
      const before = (await runsOf('hourly')).length;
      await jump({ server: DAY, machine: 0 });
      await ran(before + 1, 2 * SCHEDULES_LOOKED_AT_MS);
      await delay(SCHEDULES_LOOKED_AT_MS);
      await ran(before + 1);
      await jump({ server: 0, machine: 0 });
      await delay(SCHEDULES_LOOKED_AT_MS);
      console.log(
        `a day forward and back: ${(await runsOf('hourly')).length - before} runs of an hourly job, of 24 that were missed`,
      );
      expect((await runsOf('hourly')).length).toBeLessThanOrEqual(before + 2);
    },
  );
});

async function restarted(offsetSeconds: number): Promise<void> {
  const before = cluster.nodes.map(sessionsOf);
  await cluster.plane.end('SIGKILL');
  server.set(offsetSeconds);
  await cluster.plane.start();
  await eventually(
    'agents are back',
    () => cluster.nodes.map(sessionsOf),
    (now) => now.every((count, index) => count > (before[index] ?? 0)),
  );
}

/** How often its agent has said that it has one. */
function sessionsOf({ agent }: ClusterNode): number {
  return agent.log().split('"session with the control plane"').length - 1;
}

/** So often, and no more. */
async function ran(times: number, withinMs?: number): Promise<void> {
  await eventually(
    `${times} runs`,
    () => runsOf('hourly'),
    (runs) => runs.length >= times && runs.every(({ state }) => state === 'Succeeded'),
    withinMs,
  );
  expect(await runsOf('hourly')).toHaveLength(times);
}

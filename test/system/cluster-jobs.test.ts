import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { eventually } from '../support/eventually.ts';
import { LONG_TIER } from '../support/fault-tier.ts';
import {
  BOX,
  type Cluster,
  type ClusterNode,
  startCluster,
  type Tenant,
} from '../support/harness/cluster.ts';

let cluster: Cluster;
let shop: Tenant;
let one: ClusterNode;

beforeAll(async () => {
  cluster = await startCluster();
  shop = await cluster.plane.tenant('shop');
  one = await cluster.node('jobs-1', shop);
});

afterAll(async () => {
  await cluster.stop();
});

interface Run {
  readonly id: string;
  readonly state: string;
  readonly attempts: number;
  readonly trigger: string;
  readonly exitCode?: number;
  readonly reason?: string;
  readonly nodeId?: string;
}

interface Status {
  readonly phase: string;
  readonly message: string;
  readonly runs: readonly Run[];
}

async function create(name: string, script: string, more: Readonly<Record<string, unknown>> = {}) {
  const body = { kind: 'Job', name, image: BOX, command: ['sh', '-c', script], ...more };
  const answer = await shop.call('POST', '/api/v1/jobs', body);
  if (answer.status !== 201) throw new Error(`not created: ${JSON.stringify(answer.body)}`);
}

const status = async (name: string): Promise<Status> =>
  (await shop.call('GET', `/api/v1/jobs/${name}`)).body.status;

const phase = (name: string, wanted: string, withinMs?: number): Promise<Status> =>
  eventually(
    `${name} is ${wanted}`,
    () => status(name),
    (seen) => seen.phase === wanted,
    withinMs,
  );

const logs = async (name: string, query = ''): Promise<string> =>
  (await shop.call('GET', `/api/v1/jobs/${name}/logs${query}`)).body;

/** What is kept after the container is gone. */
async function keptLogs(name: string, query = ''): Promise<string> {
  await eventually(
    `${name} has no container`,
    () => cluster.containers(`job.${name}`),
    (left) => left.length === 0,
  );
  return logs(name, query);
}

describe('a job', () => {
  it('runs to its end once, and what it printed outlives its container', async () => {
    await create('report', 'echo "from $WHO"; echo aside >&2; exit 0', { environment: { WHO: 'berth' } });
    const { runs } = await phase('report', 'Succeeded');
    expect(runs).toMatchObject([{ trigger: 'created', attempts: 1, exitCode: 0, nodeId: 'jobs-1' }]);
    const kept = await keptLogs('report');
    expect(kept.split('\n').sort()).toEqual(['', 'aside', 'from berth']);
    // Long after its end nothing starts it again.
    await shop.call('POST', '/api/v1/jobs/report/run');
    await eventually(
      'a second run',
      () => status('report'),
      ({ runs: all }) => all[0]?.state === 'Succeeded' && all.length === 2,
    );
  });

  it('shows what it prints while it runs', async () => {
    await create('slow', 'echo begun; sleep 60');
    await phase('slow', 'Running');
    await eventually(
      'its first line',
      () => logs('slow'),
      (text) => text === 'begun\n',
    );
    await shop.call('POST', '/api/v1/jobs/slow/cancel');
    await phase('slow', 'Cancelled');
    expect(await keptLogs('slow')).toBe('begun\n');
    expect((await status('slow')).runs).toMatchObject([{ state: 'Cancelled', attempts: 1 }]);
  });

  it('is tried again and fails with its code, each attempt with a log of its own', async () => {
    await create('flaky', 'echo attempt on $(hostname); exit 9', { retries: 1 });
    const { runs } = await phase('flaky', 'Failed');
    expect(runs).toMatchObject([{ attempts: 2, exitCode: 9, reason: 'exit_code' }]);
    const second = await keptLogs('flaky');
    const first = await logs('flaky', '?attempt=1');
    expect(first).toMatch(/^attempt on /);
    expect(second).toMatch(/^attempt on /);
    expect(first).not.toBe(second);
  });

  it('is ended when its time is up, and told so', async () => {
    // The shell passes the signal by, so that it is killed after the grace.
    await create(
      'stuck',
      'trap "echo asked to end; exit 0" TERM; echo waiting; while :; do sleep 0.2; done',
      {
        timeout: '2s',
      },
    );
    const { runs } = await phase('stuck', 'Failed');
    expect(runs).toMatchObject([{ reason: 'timed_out', attempts: 1 }]);
    expect(await keptLogs('stuck')).toBe('waiting\nasked to end\n');
  });

  it('says at once that its command does not exist', async () => {
    const body = { kind: 'Job', name: 'missing', image: BOX, command: ['/no/such/program'], retries: 0 };
    await shop.call('POST', '/api/v1/jobs', body);
    const { runs } = await phase('missing', 'Failed');
    expect(runs).toMatchObject([{ reason: 'command_not_found' }]);
    await keptLogs('missing');
  });

  it('runs by its schedule, second by second', async () => {
    await create('tick', 'echo tick', { schedule: '*/2 * * * * *' });
    const { runs } = await eventually(
      'three runs',
      () => status('tick'),
      ({ runs: all }) => all.filter(({ state }) => state === 'Succeeded').length >= 3,
    );
    expect(runs.every(({ trigger }) => trigger === 'schedule')).toBe(true);
    await shop.call('DELETE', '/api/v1/jobs/tick');
    await eventually(
      'it is gone',
      () => cluster.containers('job.tick'),
      (left) => left.length === 0,
    );
  });
});

describe('never twice', () => {
  it('many that end at once, at the same time', async () => {
    const names = Array.from({ length: 16 }, (_, index) => `quick-${index}`);
    await Promise.all(names.map((name) => create(name, 'echo once')));
    for (const name of names) await phase(name, 'Succeeded', 60_000);
    for (const name of names) expect([name, await keptLogs(name)]).toEqual([name, 'once\n']);
    for (const name of names) await shop.call('DELETE', `/api/v1/jobs/${name}`);
  });

  const container = async (name: string) => (await one.containers(`job.${name}`)).map(({ id }) => id);

  it.runIf(LONG_TIER)('the agent is killed while it runs, and comes back before its end', async () => {
    await create('agent-mid', 'echo once; sleep 4');
    await phase('agent-mid', 'Running');
    const before = await container('agent-mid');
    await one.agent.kill9();
    await one.agent.start();
    const { runs } = await phase('agent-mid', 'Succeeded');
    expect(runs).toMatchObject([{ attempts: 1, exitCode: 0 }]);
    expect(before).toHaveLength(1);
    expect(await keptLogs('agent-mid')).toBe('once\n');
  });

  it('the agent is killed and comes back after its end', async () => {
    await create('agent-late', 'echo once; sleep 1');
    await phase('agent-late', 'Running');
    await one.agent.kill9();
    await eventually(
      'its end',
      () => one.containers('job.agent-late'),
      (all) => all.length === 1 && all[0]?.status === 'exited',
    );
    await one.agent.start();
    const { runs } = await phase('agent-late', 'Succeeded');
    expect(runs).toMatchObject([{ attempts: 1, exitCode: 0 }]);
    expect(await keptLogs('agent-late')).toBe('once\n');
  });

  it('the control plane is killed while it runs', async () => {
    await create('plane-mid', 'echo once; sleep 2');
    await create('nightly', 'echo never', { schedule: '0 3 1 1 *' });
    await phase('plane-mid', 'Running');
    const before = await container('plane-mid');
    await cluster.plane.end('SIGKILL');
    await eventually(
      'its end',
      () => one.containers('job.plane-mid'),
      (all) => all[0]?.status === 'exited',
    );
    expect(await container('plane-mid')).toEqual(before);
    await cluster.plane.start();
    const { runs } = await phase('plane-mid', 'Succeeded');
    expect(runs).toMatchObject([{ attempts: 1, exitCode: 0 }]);
    expect(await keptLogs('plane-mid')).toBe('once\n');
    expect(await status('nightly')).toMatchObject({ phase: 'Scheduled', runs: [] });
  });

  it('somebody removes its container behind the agent: it is not made again, and a retry is a new attempt', async () => {
    await create('removed', 'sleep 60', { retries: 1 });
    await phase('removed', 'Running');
    const [first = ''] = await container('removed');
    await one.agent.kill9();
    await one.docker.remove(first, { force: true });
    await one.agent.start();
    await eventually(
      'a second attempt',
      () => status('removed'),
      ({ runs }) => runs[0]?.attempts === 2,
    );
    const lost = await cluster.events(shop, 'job.retrying', 'removed');
    expect(lost).toMatchObject([{ details: { reason: 'container_lost' } }]);
    await shop.call('DELETE', '/api/v1/jobs/removed');
    await eventually(
      'it is gone',
      () => cluster.containers('job.removed'),
      (left) => left.length === 0,
    );
  });
});

it('a node that is lost while it runs costs an attempt; the next one is made elsewhere', async () => {
  await cluster.node('jobs-2', shop);
  await create('moving', 'sleep 120', { retries: 1, placement: { antiAffinity: [] } });
  const { runs } = await phase('moving', 'Running');
  const from = cluster.nodes.find(({ name }) => name === runs[0]?.nodeId);
  from?.cut();
  const moved = await eventually(
    'a second attempt elsewhere',
    () => status('moving'),
    (seen) => seen.phase === 'Running' && seen.runs[0]?.attempts === 2,
  );
  expect(moved.runs[0]?.nodeId).not.toBe(from?.name);
  from?.heal();
  // The first container goes when its node is heard of again.
  await eventually(
    'one container is left',
    () => cluster.containers('job.moving'),
    (all) => all.length === 1,
  );
  await shop.call('DELETE', '/api/v1/jobs/moving');
  await eventually(
    'it is gone',
    () => cluster.containers('job.moving'),
    (left) => left.length === 0,
  );
});

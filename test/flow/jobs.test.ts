import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { AGENT_LOST } from '../../src/core/contract/log-end.ts';
import type { AssignedInstance, Assignment } from '../../src/core/protocol/agent-protocol.ts';
import type { InstanceId } from '../../src/core/model/ids.ts';
import type { InstanceObservation } from '../../src/core/model/instance.ts';
import { type ControlPlane, startControlPlane } from '../support/harness/control-plane.ts';
import { eventually } from '../support/eventually.ts';
import { deploy, eventKinds, NodeFlow } from '../support/harness/node-flow.ts';
import type { ScriptedAgent } from '../support/agents/scripted-agent.ts';

let plane: ControlPlane;
let flow: NodeFlow;

beforeAll(async () => {
  plane = await startControlPlane();
  flow = new NodeFlow(plane);
});
afterAll(async () => {
  flow.close();
  await plane.close();
});

type Tenant = Awaited<ReturnType<ControlPlane['tenant']>>;

async function create(tenant: Tenant, name: string, more: Readonly<Record<string, unknown>> = {}) {
  const body = { kind: 'Job', name, image: 'localhost:1/shop/job:1', ...more };
  const answer = await tenant.call('POST', '/api/v1/jobs', body);
  expect(answer.body.code, JSON.stringify(answer.body)).toBeUndefined();
  expect(answer.status).toBe(201);
  return answer.body;
}

/** What the tests read of a job. */
interface Job {
  readonly status: {
    readonly phase: string;
    readonly message: string;
    readonly nextRunAt: string | null;
    readonly runs: readonly Readonly<Record<string, unknown>>[];
  };
}

const read = async (tenant: Tenant, name: string): Promise<Job> =>
  (await tenant.call('GET', `/api/v1/jobs/${name}`)).body;

const phase = (tenant: Tenant, name: string, wanted: string): Promise<Job> =>
  eventually(
    () => read(tenant, name),
    ({ status }) => status.phase === wanted,
  );

async function assigned(
  agent: ScriptedAgent,
  job: string,
  fits: (one: AssignedInstance) => boolean = () => true,
): Promise<AssignedInstance> {
  const found = ({ instances }: Assignment) =>
    instances.find((one) => one.deployment === `job.${job}` && fits(one));
  const one = found(await agent.next('assignment', (message) => found(message) !== undefined));
  if (one === undefined) throw new Error('not assigned');
  return one;
}

function say(
  agent: ScriptedAgent,
  { id, specHash }: AssignedInstance,
  seen: Omit<InstanceObservation, 'id'>,
): void {
  const container = { containerId: 'c1', specHash, secretsVersion: 0 };
  agent.report([{ id: id as InstanceId, ...(seen.phase === 'failed' ? {} : container), ...seen }]);
}

/** Answers the question for what a container printed. */
async function printLog(agent: ScriptedAgent, instanceId: string, text: string): Promise<void> {
  const { streamId } = await agent.next(
    'request',
    ({ operation }) => operation.kind === 'logs' && operation.instanceId === instanceId,
  );
  agent.send({ type: 'data', streamId, text, channel: 'stdout' });
  agent.send({ type: 'end', streamId });
}

describe('a job that runs once', () => {
  it('is assigned to run once, and ends with its code and what it printed', async () => {
    const tenant = await plane.tenant('once');
    const { agent } = await flow.connected('once-1', tenant);
    const made = await create(tenant, 'report', { timeout: '30s', command: ['/bin/report'] });
    expect(made.alterations.map(({ field }: { field: string }) => field)).toEqual(['secrets']);
    expect(made.status).toMatchObject({ phase: 'Pending', runs: [] });

    const first = await assigned(agent, 'report');
    expect(first).toMatchObject({ wanted: 'run', once: { timeoutMs: 30_000 } });
    expect(first.container).toMatchObject({ command: ['/bin/report'], alias: 'job.report' });
    say(agent, first, { phase: 'running' });
    const running = await phase(tenant, 'report', 'Running');
    expect(running.status.runs[0]).toMatchObject({ trigger: 'created', attempts: 1, nodeId: 'once-1' });
    // From now on it must not be made again.
    await assigned(agent, 'report', ({ once }) => once?.started === true);

    say(agent, first, { phase: 'exited', exitCode: 0 });
    await phase(tenant, 'report', 'Succeeded');
    await printLog(agent, first.id, 'one\ntwo\n');
    await assigned(agent, 'report', ({ wanted }) => wanted === 'stop');
    const logs = await tenant.call('GET', '/api/v1/jobs/report/logs');
    expect(logs.body).toBe('one\ntwo\n');
    expect((await tenant.call('GET', '/api/v1/jobs/report/logs?tail=1')).body).toBe('two\n');
    const followed = await tenant.call('GET', '/api/v1/jobs/report/logs?follow=true');
    expect(followed.body).toContain('"line":"two"');
    expect(followed.body).toContain('event: end');

    agent.report([{ id: first.id as InstanceId, phase: 'removed' }]);
    await agent.next('assignment', ({ instances }) => instances.length === 0);
    expect(await eventKinds(tenant.call, 'report', ['job.'])).toEqual([
      'job.created',
      'job.started',
      'job.succeeded',
    ]);
    expect((await tenant.call('GET', '/api/v1/jobs/report/logs')).body).toBe('one\ntwo\n');
  });

  it('is not run again by a restart of its agent, and its end is told late', async () => {
    const tenant = await plane.tenant('late');
    const { agent, identity } = await flow.connected('late-1', tenant);
    await create(tenant, 'report');
    const first = await assigned(agent, 'report');
    say(agent, first, { phase: 'running' });
    await phase(tenant, 'report', 'Running');
    agent.close();
    const again = flow.dial(identity);
    await again.welcome();
    const same = await assigned(again, 'report');
    expect([same.id, same.once?.started]).toEqual([first.id, true]);
    say(again, same, { phase: 'exited', exitCode: 0 });
    await printLog(again, same.id, 'late\n');
    await phase(tenant, 'report', 'Succeeded');
    expect((await read(tenant, 'report')).status.runs).toHaveLength(1);
  });

  it('is tried again after a failure, on its own logs, and can be run once more', async () => {
    const tenant = await plane.tenant('retry');
    const { agent } = await flow.connected('retry-1', tenant);
    await create(tenant, 'flaky', { retries: 1 });
    const first = await assigned(agent, 'flaky');
    say(agent, first, { phase: 'exited', exitCode: 7, reason: 'container_exited', message: 'exit code 7' });
    await printLog(agent, first.id, 'first\n');
    const second = await assigned(agent, 'flaky', ({ id, wanted }) => id !== first.id && wanted === 'run');
    say(agent, second, { phase: 'exited', exitCode: 8 });
    await printLog(agent, second.id, 'second\n');
    const failed = await phase(tenant, 'flaky', 'Failed');
    expect(failed.status.runs[0]).toMatchObject({ exitCode: 8, attempts: 2 });
    const { body: told } = await tenant.call('GET', '/api/v1/events?kind=job.retrying');
    expect(told).toMatchObject([{ details: { exitCode: 7, reason: 'exit_code', attempt: 1 } }]);
    await assigned(agent, 'flaky', ({ id, wanted }) => id === second.id && wanted === 'stop');
    expect((await tenant.call('GET', '/api/v1/jobs/flaky/logs')).body).toBe('second\n');
    expect((await tenant.call('GET', '/api/v1/jobs/flaky/logs?attempt=1')).body).toBe('first\n');

    const ordered = await tenant.call('POST', '/api/v1/jobs/flaky/run');
    expect(ordered.status).toBe(200);
    const third = await assigned(
      agent,
      'flaky',
      ({ id, wanted }) => id !== first.id && id !== second.id && wanted === 'run',
    );
    say(agent, third, { phase: 'running' });
    const running = await phase(tenant, 'flaky', 'Running');
    expect(running.status.runs.map(({ id }) => id)[0]).toBe(ordered.body.run);
    expect((await tenant.call('POST', '/api/v1/jobs/flaky/run')).body.code).toBe('job_already_running');
  });

  it('is cancelled: ended, its log kept, not tried again', async () => {
    const tenant = await plane.tenant('cancel');
    const { agent } = await flow.connected('cancel-1', tenant);
    await create(tenant, 'long', { retries: 3 });
    const first = await assigned(agent, 'long');
    say(agent, first, { phase: 'running' });
    await phase(tenant, 'long', 'Running');
    expect((await tenant.call('POST', '/api/v1/jobs/long/cancel')).status).toBe(200);
    await assigned(agent, 'long', ({ once }) => once?.end === true);
    await phase(tenant, 'long', 'Cancelled');
    say(agent, first, { phase: 'exited', exitCode: 143 });
    await printLog(agent, first.id, 'so far\n');
    await assigned(agent, 'long', ({ wanted }) => wanted === 'stop');
    expect((await tenant.call('GET', '/api/v1/jobs/long/logs')).body).toBe('so far\n');
    expect((await tenant.call('POST', '/api/v1/jobs/long/cancel')).body.code).toBe('job_not_running');
  });

  it('is followed from before its container is there', async () => {
    const tenant = await plane.tenant('follow');
    await create(tenant, 'early');
    const followed = tenant.call('GET', '/api/v1/jobs/early/logs?follow=true');
    expect((await tenant.call('GET', '/api/v1/jobs/early/logs')).body).toBe('');
    const { agent } = await flow.connected('follow-1', tenant);
    const one = await assigned(agent, 'early');
    say(agent, one, { phase: 'running' });
    await printLog(agent, one.id, 'at last\n');
    const { body } = await followed;
    expect(body).toContain('"line":"at last"');
    expect(body).toContain('event: end');
    const { body: listed } = await tenant.call('GET', '/api/v1/jobs');
    expect(listed).toMatchObject([{ name: 'early', status: { runs: [{ attempts: 1 }] } }]);
    // Its agent goes away, which is not its end.
    const again = tenant.call('GET', '/api/v1/jobs/early/logs?follow=true');
    await agent.next('request', ({ operation }) => operation.kind === 'logs');
    agent.close();
    expect((await again).body).toContain(`event: end\ndata: ${JSON.stringify(AGENT_LOST)}`);
  });

  it('takes its container and its logs with it when it is deleted', async () => {
    const tenant = await plane.tenant('deleted');
    const { agent } = await flow.connected('deleted-1', tenant);
    await create(tenant, 'gone');
    const first = await assigned(agent, 'gone');
    say(agent, first, { phase: 'running' });
    await phase(tenant, 'gone', 'Running');
    expect((await tenant.call('DELETE', '/api/v1/jobs/gone')).status).toBe(200);
    await assigned(agent, 'gone', ({ wanted }) => wanted === 'stop');
    agent.report([{ id: first.id as InstanceId, phase: 'removed' }]);
    await agent.next('assignment', ({ instances }) => instances.length === 0);
    expect((await tenant.call('GET', '/api/v1/jobs/gone')).status).toBe(404);
    const kinds = ['jobs', 'job-status', 'job-orders', 'job-captures', 'instances'];
    const left = async () =>
      (await plane.store.kv.range('h/t/')).entries.filter(
        ({ key }) => key.includes(tenant.id) && kinds.some((kind) => key.includes(`/${kind}/`)),
      );
    await eventually(left, (entries) => entries.length === 0);
  });
});

describe('placement', () => {
  it('is refused with every reason, waits, and counts against the quota', async () => {
    const tenant = await plane.tenant('quota');
    await create(tenant, 'first');
    const events = async () =>
      (await tenant.call('GET', '/api/v1/events?kind=job.unschedulable&subject=first')).body;
    await eventually(events, (all) => all.length === 1);
    expect((await read(tenant, 'first')).status.message).toContain('no node takes it');
    await plane.admin('PUT', '/api/v1/tenants/quota/quota', { containers: 1 });
    const { agent } = await flow.connected('quota-1', tenant);
    const one = await assigned(agent, 'first');
    say(agent, one, { phase: 'running' });
    await phase(tenant, 'first', 'Running');
    await create(tenant, 'second');
    const waits = await eventually(
      () => read(tenant, 'second'),
      ({ status }) => status.message.includes('quota'),
    );
    expect(waits.status.phase).toBe('Pending');
    await deploy(tenant.call, 'web');
    await eventually(
      () => tenant.call('GET', '/api/v1/deployments/web'),
      ({ body }) => body.status.message.includes('quota'),
    );
    // Room appears when the first is gone.
    say(agent, one, { phase: 'exited', exitCode: 0 });
    await printLog(agent, one.id, '');
    await assigned(agent, 'first', ({ wanted }) => wanted === 'stop');
    await tenant.call('DELETE', '/api/v1/deployments/web');
    agent.report([{ id: one.id as InstanceId, phase: 'removed' }]);
    await assigned(agent, 'second');
  });

  it('is not moved by a drain, which says so, and avoids the node afterwards', async () => {
    const tenant = await plane.tenant('drain');
    const { agent } = await flow.connected('drain-1', tenant);
    await create(tenant, 'steady');
    const one = await assigned(agent, 'steady');
    say(agent, one, { phase: 'running' });
    await phase(tenant, 'steady', 'Running');
    const { body } = await tenant.call('POST', '/api/v1/nodes/drain-1/drain');
    expect(body.blocked).toMatchObject([{ deployment: 'job.steady' }]);
    expect(body.blocked[0].why).toContain('job steady');
    say(agent, one, { phase: 'exited', exitCode: 0 });
    await printLog(agent, one.id, '');
    await phase(tenant, 'steady', 'Succeeded');
    await tenant.call('POST', '/api/v1/jobs/steady/run');
    await eventually(
      () => read(tenant, 'steady'),
      ({ status }) => status.message.includes('no node takes it'),
    );
  });

  it('may have the name of a deployment beside it', async () => {
    const tenant = await plane.tenant('names');
    const { agent } = await flow.connected('names-1', tenant);
    await deploy(tenant.call, 'web');
    await create(tenant, 'web');
    const both = await agent.next('assignment', ({ instances }) => instances.length === 2);
    expect(both.instances.map(({ deployment }) => deployment).sort()).toEqual(['job.web', 'web']);
    const { body } = await tenant.call('GET', '/api/v1/deployments/web/instances');
    expect(body).toHaveLength(1);
  });
});

describe('a job that is changed', () => {
  const put = (tenant: Tenant, name: string, body: object, query = '') =>
    tenant.call('PUT', `/api/v1/jobs/${name}${query}`, body);

  it('keeps its runs; a run under way is tried again as it was begun, the next one takes the change', async () => {
    const tenant = await plane.tenant('changed');
    const { agent } = await flow.connected('changed-1', tenant);
    const made = await create(tenant, 'dump', { retries: 1, command: ['/old'], labels: { a: '1', b: '2' } });
    const first = await assigned(agent, 'dump');
    say(agent, first, { phase: 'running' });
    await phase(tenant, 'dump', 'Running');

    const planned = await put(tenant, 'dump', { command: ['/new'], labels: { a: '1' } }, '?dryRun=true');
    expect(planned.body).toMatchObject({ removed: ['labels[b]'], command: ['/new'] });
    expect(planned.body.plan.diff.map(({ field }: { field: string }) => field)).toEqual([
      'command',
      'labels.b',
    ]);
    expect((await read(tenant, 'dump')) as unknown).toMatchObject({ command: ['/old'] });

    const changed = await put(tenant, 'dump', { command: ['/new'], retries: null, labels: { a: '1' } });
    expect(changed.status).toBe(200);
    expect(changed.body).toMatchObject({ id: made.id, createdAt: made.createdAt, image: made.image });
    expect(changed.body.removed).toEqual(['labels[b]', 'retries']);
    expect(changed.body.warnings.map(({ code }: { code: string }) => code)).toEqual(
      expect.arrayContaining(['job_run_under_way', 'job_runs_when_asked']),
    );

    // The snapshot controller has nothing to keep it for but the run.
    say(agent, first, { phase: 'exited', exitCode: 7 });
    await printLog(agent, first.id, 'first\n');
    const second = await assigned(agent, 'dump', ({ id, wanted }) => id !== first.id && wanted === 'run');
    expect(second.container).toMatchObject({ command: ['/old'] });
    say(agent, second, { phase: 'exited', exitCode: 0 });
    await printLog(agent, second.id, 'second\n');
    await phase(tenant, 'dump', 'Succeeded');

    await tenant.call('POST', '/api/v1/jobs/dump/run');
    const third = await assigned(
      agent,
      'dump',
      ({ id, wanted }) => ![first.id, second.id].includes(id) && wanted === 'run',
    );
    expect(third.container).toMatchObject({ command: ['/new'] });
    const { status } = await read(tenant, 'dump');
    expect(status.runs.map(({ specHash }) => specHash)).toEqual([changed.body.specHash, made.specHash]);
    const kept = await tenant.call('GET', `/api/v1/jobs/dump/logs?run=${String(status.runs[1]?.['id'])}`);
    expect(kept.body).toBe('second\n');
    expect(await eventKinds(tenant.call, 'dump', ['job.updated'])).toEqual(['job.updated']);
  });

  it('is refused by shape, rule, revision and name, and nothing is stored then', async () => {
    const tenant = await plane.tenant('changed-badly');
    await create(tenant, 'dump', { schedule: '0 3 * * *' });
    const before = await tenant.call('GET', '/api/v1/jobs/dump');
    const codes = [
      await put(tenant, 'dump', { schedule: 'often' }),
      await put(tenant, 'dump', { name: 'other' }),
      await put(tenant, 'dump', { kind: 'Deployment' }),
      await put(tenant, 'dump', { replicas: 2 }),
      await put(tenant, 'other', { retries: 1 }),
    ].map(({ body }) => body.code);
    expect(codes).toEqual(['job_invalid', 'name_mismatch', 'job_invalid', 'field_unknown', 'job_not_found']);
    const all = await put(tenant, 'dump', { schedule: 'often', retries: 99 }, '?dryRun=true&all=true');
    const { rejections } = JSON.parse(all.body);
    expect(rejections.map(({ field }: { field: string }) => field)).toEqual(['schedule', 'retries']);
    const { body: after } = await tenant.call('GET', '/api/v1/jobs/dump');
    expect([after.revision, after.updatedAt]).toEqual([before.body.revision, before.body.updatedAt]);
    // What was read is taken back as it is.
    const back = await put(tenant, 'dump', before.body);
    expect([back.status, back.body.removed, back.body.alterations]).toEqual([200, [], []]);
  });

  it('runs by its new schedule only', async () => {
    const tenant = await plane.tenant('rescheduled');
    const { agent } = await flow.connected('rescheduled-1', tenant);
    await create(tenant, 'tick', { schedule: '0 3 1 1 *' });
    await put(tenant, 'tick', { schedule: '* * * * * *', command: ['/new'] });
    const run = await assigned(agent, 'tick');
    expect(run.container).toMatchObject({ command: ['/new'] });
    expect((await read(tenant, 'tick')).status.runs[0]).toMatchObject({ trigger: 'schedule' });
    await put(tenant, 'tick', { schedule: null });
    await eventually(
      () => read(tenant, 'tick'),
      ({ status }) => status.nextRunAt === null,
    );
    await tenant.call('DELETE', '/api/v1/jobs/tick');
  });
});

describe('secrets', () => {
  it('are resolved when the container is about to be made, and the lack of them is told', async () => {
    const tenant = await plane.tenant('secrets');
    const { agent } = await flow.connected('secrets-1', tenant);
    const secrets = [{ name: 'DB', vault_path: 'resources/db' }];
    await create(tenant, 'migrate', { secrets });
    const one = await assigned(agent, 'migrate');
    const { id: instanceId, specHash, secretsVersion } = one;
    agent.send({ type: 'resolve', requestId: 'r1', instanceId, specHash, secretsVersion });
    expect(await agent.next('resolved')).toMatchObject({ requestId: 'r1', ok: false });
    await eventually(
      () => eventKinds(tenant.call, 'migrate', ['job.']),
      (kinds) => kinds.includes('job.secret_unresolved'),
    );
    await tenant.call('PUT', '/api/v1/secrets/resources/db', { values: { password: 'p' } });
    agent.send({ type: 'resolve', requestId: 'r2', instanceId, specHash, secretsVersion });
    expect(await agent.next('resolved')).toMatchObject({
      requestId: 'r2',
      ok: true,
      environment: { DB_password: 'p' },
    });
    const consumers = await tenant.call('GET', '/api/v1/secrets/resources/db/consumers');
    expect(consumers.body).toEqual([{ job: 'migrate', secret: 'DB', anchor: 'external', secretsVersion: 0 }]);
  });
});

describe('a command before a job', () => {
  const before = { deployment: 'pg', command: ['pg_dump', '-f', '/data/dump'], timeout: '20s' };

  /** A deployment that runs, and a job with a command in it. */
  async function prepared(slug: string, more: Readonly<Record<string, unknown>> = {}) {
    const tenant = await plane.tenant(slug);
    const { agent } = await flow.connected(`${slug}-1`, tenant);
    const { id, specHash } = await flow.placed(tenant, 'pg', `${slug}-1`);
    await agent.next('assignment', ({ instances }) => instances.some((one) => one.id === id));
    agent.report([{ id, phase: 'running', containerId: 'p1', specHash, secretsVersion: 0 }]);
    await create(tenant, 'backup', { before, ...more });
    const asked = await agent.next('request', ({ operation }) => operation.kind === 'exec');
    expect(asked.operation).toEqual({
      kind: 'exec',
      instanceId: id,
      command: before.command,
      timeoutMs: 20_000,
    });
    return { tenant, agent, instanceId: id, streamId: asked.streamId };
  }

  it('is run in an instance of the deployment, audited, and then the job starts', async () => {
    const { tenant, agent, instanceId, streamId } = await prepared('before');
    const waiting = await read(tenant, 'backup');
    expect(waiting).toMatchObject({ before });
    expect(waiting.status.runs[0]).toMatchObject({ state: 'Pending', attempts: 0 });
    const audit = await tenant.call('GET', '/api/v1/audit');
    expect(audit.body.filter(({ action }: { action: string }) => action === 'deployment.exec')).toMatchObject(
      [{ subject: { name: instanceId }, details: { job: 'backup', command: 'pg_dump -f /data/dump' } }],
    );
    agent.send({ type: 'data', streamId, text: 'what it prints', channel: 'stdout' });
    agent.send({ type: 'end', streamId, exitCode: 0 });
    const first = await assigned(agent, 'backup');
    say(agent, first, { phase: 'exited', exitCode: 0 });
    const done = await phase(tenant, 'backup', 'Succeeded');
    expect(done.status.runs[0]?.['preparedAt']).toEqual(expect.any(String));
    expect(await eventKinds(tenant.call, 'backup', ['job.'])).toEqual([
      'job.created',
      'job.prepared',
      'job.started',
      'job.succeeded',
    ]);
  });

  it.each([
    ['before-code', { exitCode: 3 }, 'before_failed', 'ended with exit code 3'],
    [
      'before-late',
      { error: { reason: 'exec_timeout', message: 'killed' } },
      'before_timed_out',
      'did not end within 20 s',
    ],
  ])('fails the run when it fails: %s', async (slug, end, reason, message) => {
    const { tenant, agent, streamId } = await prepared(slug, { retries: 2 });
    agent.send({ type: 'data', streamId, text: 'password=hunter2', channel: 'stderr' });
    agent.send({ type: 'end', streamId, ...end });
    const { status } = await phase(tenant, 'backup', 'Failed');
    expect(status.runs[0]).toMatchObject({ reason, attempts: 0, message: expect.stringContaining(message) });
    expect(JSON.stringify(status)).not.toContain('hunter2');
    const { status: code } = await tenant.call('GET', '/api/v1/jobs/backup/logs');
    expect(code).toBe(200);
  });

  it('is ended with the run that is cancelled, and is not changed by what is not sent', async () => {
    const { tenant, agent, streamId } = await prepared('before-left');
    await tenant.call('POST', '/api/v1/jobs/backup/cancel');
    await agent.next('cancel', (message) => message.streamId === streamId);
    await phase(tenant, 'backup', 'Cancelled');
    await tenant.call('DELETE', '/api/v1/deployments/pg');
    const kept = await tenant.call('PUT', '/api/v1/jobs/backup', { retries: 1 });
    expect([kept.status, kept.body.before]).toEqual([200, before]);
    const lost = await tenant.call('PUT', '/api/v1/jobs/backup', { before: { ...before, command: ['x'] } });
    expect([lost.status, lost.body.code]).toEqual([404, 'job_before_deployment_not_found']);
    const cleared = await tenant.call('PUT', '/api/v1/jobs/backup', { before: null });
    expect(cleared.body.removed).toEqual(['before']);
  });
});

describe('a schedule', () => {
  it('runs by itself, one run at a time, and says when it skips', async () => {
    const tenant = await plane.tenant('cron');
    const { agent } = await flow.connected('cron-1', tenant);
    const made = await create(tenant, 'tick', { schedule: '* * * * * *' });
    expect(made.status.phase).toBe('Scheduled');
    const first = await assigned(agent, 'tick');
    say(agent, first, { phase: 'running' });
    await eventually(
      () => eventKinds(tenant.call, 'tick', ['job.skipped']),
      (kinds) => kinds.length === 1,
    );
    say(agent, first, { phase: 'exited', exitCode: 0 });
    await printLog(agent, first.id, 'tick\n');
    const second = await assigned(agent, 'tick', ({ id, wanted }) => id !== first.id && wanted === 'run');
    expect(second.id).not.toBe(first.id);
    const { status } = await read(tenant, 'tick');
    expect(status.runs[1]).toMatchObject({ trigger: 'schedule', state: 'Succeeded' });
    expect(status.runs[1]?.['skipped']).toBeGreaterThan(0);
    expect(Date.parse(status.nextRunAt ?? '')).toBeGreaterThan(Date.now() - 2000);
    await tenant.call('DELETE', '/api/v1/jobs/tick');
  });
});

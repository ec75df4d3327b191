import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { InstanceId, JobId, NodeName, TenantId } from '../../model/ids.ts';
import type { InstanceObservation, InstanceRecord } from '../../model/instance.ts';
import type { JobOrders, JobSpec, JobStatus } from '../../model/job.ts';
import { activeRun, isFinished } from '../../model/job-run.ts';
import type { CronSchedule } from '../../model/schedule.ts';
import type { NodeCondition } from '../rollout/instance-state.ts';
import {
  BEFORE_AGAIN_MS,
  BEFORE_WAIT_MS,
  type CommandOutcome,
  type CommandPlace,
  type CommandProgress,
} from './before-command.ts';
import { CAPTURE_MS } from './job-instances.ts';
import type { JobMemory, JobPlan } from './job-plan.ts';
import { planJob, retryDelayMs, START_DEADLINE_MS } from './jobs.ts';

const START = 1_767_225_600_000;
const MINUTE = 60_000;
/** How records spell times is not for a plan to know. */
const times = { text: (ms: number) => `t${ms}`, ms: (text: string) => Number(text.slice(1)) };

/** Every `ms`, on the epoch's grid. */
function every(ms: number): CronSchedule {
  return { nextAfter: (after) => (Math.floor(after / ms) + 1) * ms };
}

/** A job with everything around it, moved by hand: what a plan says is carried out at once. */
class World {
  spec: JobSpec;
  specHash = 'h';
  schedule: CronSchedule | undefined;
  scheduledSince: string | undefined;
  status: JobStatus | undefined;
  orders: JobOrders = {};
  instances: InstanceRecord[] = [];
  readonly seen = new Map<string, InstanceObservation>();
  readonly captured = new Set<string>();
  readonly nodes = new Map<string, NodeCondition['status']>([
    ['n1', 'ready'],
    ['n2', 'ready'],
  ]);
  memory: JobMemory | undefined;
  nowMs = 0;
  wallMs = START;
  exists = true;
  events: string[] = [];
  created = 0;
  runs = 0;
  readonly placedFor: string[] = [];
  place: CommandPlace = { ok: true, instanceId: 'ins_pg' as InstanceId, nodeId: 'n1' as NodeName };
  /** As a controller keeps it. */
  command: CommandProgress | undefined;

  constructor(spec: Partial<JobSpec> = {}, schedule?: CronSchedule) {
    this.spec = { kind: 'Job', name: 'backup', image: 'shop/backup:1', secrets: [], ...spec };
    this.schedule = schedule;
  }

  update(specHash: string, spec: Partial<JobSpec> = {}): void {
    this.spec = { ...this.spec, ...spec };
    this.specHash = specHash;
  }

  order(): void {
    this.runs += 1;
    this.orders = {
      ...this.orders,
      run: { runId: `run_m${this.runs}`, trigger: 'manual', at: '', by: '' },
    };
  }

  pass(ms: number): void {
    this.nowMs += ms;
    this.wallMs += ms;
  }

  look(): JobPlan {
    const ready = [...this.nodes].find(([, status]) => status === 'ready')?.[0];
    const plan = planJob({
      name: 'backup',
      ...(this.exists && {
        job: {
          id: 'job_1' as JobId,
          tenantId: 't' as TenantId,
          spec: this.spec,
          specHash: this.specHash,
          createdAt: times.text(START),
          ...(this.scheduledSince !== undefined && { scheduledSince: this.scheduledSince }),
        },
      }),
      orders: this.orders,
      ...(this.status && { status: this.status }),
      instances: this.instances,
      observationOf: (id) => this.seen.get(id),
      isCaptured: (id) => this.captured.has(id),
      nodeOf: (node) => ({ status: this.nodes.get(node) ?? 'gone', draining: false }),
      placer: {
        place: () => {
          if (ready === undefined)
            return {
              ok: false,
              summary: 'no node',
              message: 'n1: no',
              details: {},
              digest: 'd',
              residency: false,
            };
          this.created += 1;
          return { ok: true, id: `ins_${this.created}` as InstanceId, nodeId: ready as NodeName };
        },
      },
      commandPlace: () => this.place,
      ...(this.command && { command: this.command }),
      ...(this.schedule && { schedule: this.schedule }),
      ...(this.memory && { memory: this.memory }),
      nowMs: this.nowMs,
      wallMs: this.wallMs,
      times,
      nextRunId: () => {
        this.runs += 1;
        return `run_s${this.runs}`;
      },
    });
    this.#carryOut(plan);
    return plan;
  }

  #carryOut(plan: JobPlan): void {
    this.status = plan.status;
    this.memory = plan.memory;
    if (plan.command !== this.command?.planned) this.command = plan.command && { planned: plan.command };
    this.events.push(...plan.events.map(({ kind }) => kind.slice('job.'.length)));
    this.instances = this.instances
      .filter((one) => !plan.remove.includes(one))
      .map((one) => {
        if (plan.stop.includes(one)) return { ...one, wanted: 'stop' };
        return plan.end.includes(one) && one.once ? { ...one, once: { ...one.once, end: true } } : one;
      });
    if (plan.create === undefined) return;
    const { id, nodeId, once, specHash } = plan.create;
    this.placedFor.push(once.runId);
    this.instances.push({
      id,
      tenantId: 't' as TenantId,
      deployment: 'job.backup',
      specHash,
      secretsVersion: 0,
      nodeId,
      wanted: 'run',
      createdAt: '',
      attempt: 0,
      once,
    });
  }

  /** The newest instance is seen in a phase. */
  see(phase: InstanceObservation['phase'], more: Partial<InstanceObservation> = {}): void {
    const id = this.instances.at(-1)?.id;
    if (id === undefined) throw new Error('there is no instance');
    const containerId = ['running', 'exited'].includes(phase) ? { containerId: 'c' } : {};
    this.seen.set(id, { id, phase, ...containerId, ...more });
  }

  /** The command before the run ends. */
  prepare(outcome: CommandOutcome): void {
    if (this.command === undefined) throw new Error('no command is under way');
    this.command = { ...this.command, outcome };
  }

  get run() {
    return this.status?.runs.at(-1);
  }
}

describe('a job that is changed', () => {
  it('keeps its runs; one that goes on is tried again as it was begun, the next is as the job is now', () => {
    const world = new World({ retries: 1, timeout: '10s' });
    world.order();
    world.look();
    world.see('exited', { exitCode: 1 });
    world.look();
    world.update('h2', { retries: 0, timeout: '20s' });
    world.pass(retryDelayMs(1));
    world.look();
    expect(world.instances.at(-1)).toMatchObject({ specHash: 'h', once: { attempt: 2, timeoutMs: 10_000 } });
    world.see('exited', { exitCode: 1 });
    world.look();
    expect(world.run).toMatchObject({ state: 'Failed', attempts: 2, terms: { specHash: 'h' } });
    world.order();
    world.look();
    expect(world.instances.at(-1)).toMatchObject({ specHash: 'h2', once: { timeoutMs: 20_000 } });
    expect(world.status?.runs).toHaveLength(2);
    world.see('exited', { exitCode: 1 });
    world.look();
    expect(world.run).toMatchObject({ state: 'Failed', attempts: 1 });
  });

  it('is run as it is now by a run that had not begun', () => {
    const world = new World();
    world.nodes.clear();
    world.order();
    world.look();
    world.update('h2');
    world.nodes.set('n1', 'ready');
    world.look();
    expect(world.instances.at(-1)?.specHash).toBe('h2');
  });

  it('is not run for slots before its schedule was changed, and has no next one without a schedule', () => {
    const world = new World({}, every(24 * 60 * MINUTE));
    world.look();
    world.pass(20 * 60 * MINUTE + 30_000);
    world.schedule = every(MINUTE);
    world.scheduledSince = times.text(world.wallMs);
    world.look();
    expect(world.runs).toBe(0);
    world.pass(30_000);
    world.look();
    expect(world.run).toMatchObject({ trigger: 'schedule' });
    world.schedule = undefined;
    world.look();
    expect([world.status?.nextRunAt, world.status?.lastSlot]).toEqual([undefined, undefined]);
  });
});

describe('a command before a run', () => {
  const before = { deployment: 'pg', command: ['dump'] };

  it('is run first, and the container starts when it has succeeded', () => {
    const world = new World({ before: { ...before, timeout: '30s' } });
    world.order();
    expect(world.look().command).toMatchObject({ runId: 'run_m1', instanceId: 'ins_pg', timeoutMs: 30_000 });
    expect(world.run).toMatchObject({
      state: 'Pending',
      attempts: 0,
      message: 'its command runs in pg on n1 first',
    });
    expect(world.look().command).toBe(world.command?.planned);
    expect(world.created).toBe(0);
    world.prepare({ ok: true });
    expect(world.look().command).toBeUndefined();
    expect(world.run).toMatchObject({ attempts: 1, preparedAt: times.text(START) });
    world.see('exited', { exitCode: 0 });
    world.look();
    expect(world.run?.state).toBe('Succeeded');
    expect(world.events).toEqual(['prepared', 'started', 'succeeded']);
    world.order();
    expect(world.look().command).toMatchObject({ runId: 'run_m2' });
  });

  it('fails the run with its reason, whatever attempts are left', () => {
    const world = new World({ before, retries: 3 });
    world.order();
    world.look();
    world.prepare({ ok: false, reason: 'before_failed', message: 'exit code 3', exitCode: 3 });
    world.look();
    expect(world.run).toMatchObject({
      state: 'Failed',
      reason: 'before_failed',
      message: 'exit code 3',
      exitCode: 3,
      attempts: 0,
    });
    expect([world.created, world.command, world.events]).toEqual([0, undefined, ['failed']]);
  });

  it('waits for an instance, for so long, and not for a deployment that is gone', () => {
    const world = new World({ before });
    world.place = { ok: false, why: 'no instance of pg runs', final: false };
    world.order();
    expect(world.look().recheckInMs).toBeLessThan(BEFORE_WAIT_MS);
    expect(world.run).toMatchObject({
      state: 'Pending',
      message: 'waits to run its command first: no instance of pg runs',
    });
    world.pass(BEFORE_WAIT_MS - 1);
    world.look();
    expect(world.run?.state).toBe('Pending');
    world.pass(1);
    world.look();
    expect(world.run).toMatchObject({ state: 'Failed', reason: 'before_unavailable' });
    world.place = { ok: false, why: 'there is no deployment pg', final: true };
    world.order();
    world.look();
    expect(world.run).toMatchObject({ id: 'run_m2', state: 'Failed', reason: 'before_unavailable' });
  });

  it('is tried again while the agent is not there', () => {
    const world = new World({ before });
    world.order();
    world.look();
    world.prepare({ ok: false, reason: 'before_unavailable', message: 'no agent' });
    expect(world.look()).toMatchObject({ recheckInMs: expect.any(Number) });
    expect([world.run?.state, world.command]).toEqual(['Pending', undefined]);
    expect(world.look().command).toBeUndefined();
    expect(world.run?.message).toBe('waits to run its command first: no agent');
    world.pass(BEFORE_AGAIN_MS);
    expect(world.look().command).toBeDefined();
  });

  it('that never gets through fails the run after the same time, although there is an instance', () => {
    const world = new World({ before });
    world.order();
    let commands = 0;
    const began = world.nowMs;
    for (world.look(); world.run?.state === 'Pending' && world.nowMs <= 2 * BEFORE_WAIT_MS; world.look()) {
      if (world.command === undefined) {
        world.pass(1_000);
        continue;
      }
      commands += 1;
      world.look();
      world.prepare({ ok: false, reason: 'before_unavailable', message: 'the session of the agent ended' });
    }
    expect(world.run).toMatchObject({ state: 'Failed', reason: 'before_unavailable' });
    expect(world.run?.message).toContain('the session of the agent ended');
    expect([world.nowMs - began, commands]).toEqual([BEFORE_WAIT_MS, BEFORE_WAIT_MS / BEFORE_AGAIN_MS + 1]);
  });

  it('is begun again when it ran for long and did not get through, however often', () => {
    const world = new World({ before });
    world.order();
    for (let lost = 0; lost < 3; lost += 1) {
      world.look();
      world.pass(BEFORE_WAIT_MS + 1);
      world.look();
      world.prepare({ ok: false, reason: 'before_unavailable', message: 'the session of the agent ended' });
      world.look();
      expect(world.run).toMatchObject({ state: 'Pending' });
      world.pass(BEFORE_AGAIN_MS);
    }
    expect(world.look().command).toBeDefined();
  });

  it('ends with a cancelled run', () => {
    const world = new World({ before });
    world.order();
    world.look();
    world.orders = { ...world.orders, cancel: { runId: 'run_m1', at: '', by: '' } };
    expect(world.look().command).toBeUndefined();
    expect(world.run?.state).toBe('Cancelled');
  });

  it('is run once for all attempts, and again when the node of one was lost', () => {
    const world = new World({ before, retries: 2 });
    world.order();
    world.look();
    world.prepare({ ok: true });
    world.look();
    world.see('exited', { exitCode: 1 });
    world.look();
    world.pass(retryDelayMs(1));
    expect(world.look()).toMatchObject({ create: { once: { attempt: 2 } } });
    world.nodes.set('n1', 'lost');
    world.look();
    world.pass(retryDelayMs(2));
    const plan = world.look();
    expect([plan.command?.runId, plan.create]).toEqual(['run_m1', undefined]);
    world.prepare({ ok: true });
    expect(world.look()).toMatchObject({ create: { nodeId: 'n2', once: { attempt: 3 } } });
  });
});

describe('a run', () => {
  it('is started, seen to run, seen to end; its container goes when its log is kept', () => {
    const world = new World();
    world.order();
    world.look();
    expect(world.run).toMatchObject({ id: 'run_m1', state: 'Pending', attempts: 1, trigger: 'manual' });
    world.see('running');
    world.look();
    expect(world.run).toMatchObject({ state: 'Running', startedAt: times.text(START) });
    world.see('exited', { exitCode: 0 });
    expect(world.look().stop).toEqual([]);
    expect(world.run).toMatchObject({ state: 'Succeeded', exitCode: 0 });
    expect(world.run?.reason).toBeUndefined();
    world.captured.add('ins_1');
    expect(world.look().stop).toHaveLength(1);
    world.see('removed');
    expect(world.look().remove).toHaveLength(1);
    expect(world.instances).toEqual([]);
    expect(world.events).toEqual(['started', 'succeeded']);
    for (let looks = 0; looks < 5; looks += 1) world.look();
    expect(world.created).toBe(1);
  });

  it('that ends before it was seen to run is told as started and ended', () => {
    const world = new World();
    world.order();
    world.look();
    world.see('exited', { exitCode: 0 });
    world.look();
    expect(world.events).toEqual(['started', 'succeeded']);
  });

  it('waits for the code of an end', () => {
    const world = new World();
    world.order();
    world.look();
    world.see('exited');
    world.look();
    expect(world.run?.state).toBe('Pending');
  });

  it('is tried again with back-off, on whichever node, and fails with the last code', () => {
    const world = new World({ retries: 2 });
    world.order();
    world.look();
    for (const attempt of [1, 2]) {
      world.see('exited', { exitCode: 3, reason: 'container_exited' });
      const { recheckInMs } = world.look();
      expect(recheckInMs).toBe(retryDelayMs(attempt));
      expect(world.run).toMatchObject({
        state: 'Retrying',
        attempts: attempt,
        exitCode: 3,
        reason: 'exit_code',
      });
      world.pass(retryDelayMs(attempt) - 1);
      world.look();
      expect(world.created).toBe(attempt);
      world.pass(1);
      world.look();
      expect(world.created).toBe(attempt + 1);
    }
    world.see('exited', { exitCode: 4 });
    world.look();
    expect(world.run).toMatchObject({ state: 'Failed', attempts: 3, exitCode: 4 });
    expect(world.events.filter((kind) => kind !== 'started')).toEqual(['retrying', 'retrying', 'failed']);
  });

  it('waits for a retry by the monotonic clock, also when the wall clock is set back a day', () => {
    const world = new World({ retries: 1 });
    world.order();
    world.look();
    world.see('exited', { exitCode: 1 });
    world.look();
    world.wallMs -= 24 * 60 * MINUTE;
    world.pass(retryDelayMs(1));
    world.look();
    expect(world.created).toBe(2);
  });

  it('tells a timeout, and counts it as failed whatever the code', () => {
    const world = new World({ timeout: '5s' });
    world.order();
    expect(world.look().create?.once).toEqual({ runId: 'run_m1', attempt: 1, timeoutMs: 5000 });
    world.see('exited', { exitCode: 0, reason: 'timed_out', message: 'its time was up' });
    world.look();
    expect(world.run).toMatchObject({ state: 'Failed', reason: 'timed_out', exitCode: 0 });
  });

  it('keeps how its last attempts failed, also when it succeeds in the end', () => {
    const world = new World({ retries: 4 });
    world.order();
    for (const attempt of [1, 2, 3, 4]) {
      world.look();
      world.see('exited', { exitCode: attempt, message: `it ended with ${attempt}` });
      world.look();
      world.pass(retryDelayMs(attempt));
    }
    world.look();
    world.see('exited', { exitCode: 0 });
    world.look();
    expect(world.run?.state).toBe('Succeeded');
    expect(world.run?.failures).toMatchObject(
      [2, 3, 4].map((attempt) => ({
        attempt,
        exitCode: attempt,
        reason: 'exit_code',
        message: `it ended with ${attempt}`,
        nodeId: 'n1',
        instanceId: `ins_${attempt}`,
      })),
    );
  });

  it('is not said to run on a node that does not answer', () => {
    const world = new World();
    world.order();
    world.look();
    world.see('running');
    world.look();
    expect(world.run?.message).toBe('attempt 1 runs on n1');
    world.nodes.set('n1', 'silent');
    world.look();
    expect(world.run?.message).toBe('attempt 1 is on n1, which does not answer');
    world.nodes.set('n1', 'ready');
    world.look();
    expect(world.run?.message).toBe('attempt 1 runs on n1');
    expect(world.events.filter((kind) => kind.includes('started'))).toHaveLength(1);
  });

  it('survives a silent node, is lost with a lost one, and goes to another', () => {
    const world = new World({ retries: 1 });
    world.order();
    world.look();
    world.see('running');
    world.nodes.set('n1', 'silent');
    world.look();
    expect(world.run?.state).toBe('Running');
    world.nodes.set('n1', 'lost');
    world.look();
    expect(world.run).toMatchObject({ state: 'Retrying', reason: 'node_lost' });
    world.pass(retryDelayMs(1));
    world.look();
    expect(world.run?.attempt?.nodeId).toBe('n2');
    expect(world.instances.map(({ nodeId, wanted }) => [nodeId, wanted])).toEqual([
      ['n1', 'stop'],
      ['n2', 'run'],
    ]);
  });

  it('keeps an end that was seen before its node was lost', () => {
    const world = new World({ retries: 1 });
    world.order();
    world.look();
    world.see('exited', { exitCode: 0 });
    world.nodes.set('n1', 'lost');
    world.look();
    expect(world.run?.state).toBe('Succeeded');
  });

  it('gives up a container that cannot be made, after its deadline or at once when no try can help', () => {
    const world = new World();
    world.order();
    world.look();
    world.see('failed', { reason: 'secret_unresolved', message: 'resources/db: no such document' });
    expect(world.look().recheckInMs).toBe(START_DEADLINE_MS);
    expect(world.run).toMatchObject({
      state: 'Pending',
      message: expect.stringContaining('no such document'),
    });
    world.pass(START_DEADLINE_MS);
    world.look();
    expect(world.run).toMatchObject({ state: 'Failed', reason: 'secret_unresolved' });

    const missing = new World();
    missing.order();
    missing.look();
    missing.see('failed', { reason: 'command_not_found', message: 'no such program' });
    missing.look();
    expect(missing.run).toMatchObject({ state: 'Failed', reason: 'command_not_found' });
  });

  it('that no node takes waits, and says so once', () => {
    const world = new World();
    world.nodes.clear();
    world.order();
    expect(world.look().refusal).toBeDefined();
    world.look();
    expect(world.events).toEqual(['unschedulable']);
    expect(world.run).toMatchObject({ state: 'Pending', attempts: 0, message: 'no node takes it: no node' });
    world.nodes.set('n3', 'ready');
    world.look();
    expect(world.run?.attempts).toBe(1);
  });

  it('with a volume that it writes to waits until the container before it is gone', () => {
    const world = new World({
      retries: 1,
      volumes: [{ volumeId: 'vol_1', mountPath: '/d', readOnly: false }],
    });
    world.order();
    world.look();
    world.see('exited', { exitCode: 1 });
    world.look();
    world.pass(retryDelayMs(1));
    world.look();
    expect(world.created).toBe(1);
    world.captured.add('ins_1');
    world.look();
    world.see('removed');
    world.look();
    world.look();
    expect(world.created).toBe(2);
  });
});

describe('a cancelled run', () => {
  it('is ended, kept for its log, then removed, and not tried again', () => {
    const world = new World({ retries: 5 });
    world.order();
    world.look();
    world.see('running');
    world.look();
    world.orders = { ...world.orders, cancel: { runId: 'run_m1', at: '', by: '' } };
    expect(world.look().end).toHaveLength(1);
    expect(world.run).toMatchObject({ state: 'Cancelled' });
    expect(world.look().end).toEqual([]);
    world.see('exited', { exitCode: 137 });
    expect(world.look().stop).toEqual([]);
    world.captured.add('ins_1');
    expect(world.look().stop).toHaveLength(1);
    world.pass(10 * MINUTE);
    world.look();
    expect(world.created).toBe(1);
    expect(world.run?.state).toBe('Cancelled');
  });

  it('goes without its log when that cannot be had', () => {
    const world = new World();
    world.order();
    world.look();
    world.see('exited', { exitCode: 0 });
    expect(world.look().recheckInMs).toBe(CAPTURE_MS);
    world.pass(CAPTURE_MS);
    expect(world.look().stop).toHaveLength(1);
  });

  it('that has ended stays as it ended', () => {
    const world = new World();
    world.order();
    world.look();
    world.see('exited', { exitCode: 0 });
    world.orders = { ...world.orders, cancel: { runId: 'run_m1', at: '', by: '' } };
    world.look();
    expect(world.run?.state).toBe('Succeeded');
  });
});

describe('a schedule', () => {
  const finish = (world: World) => {
    world.see('exited', { exitCode: 0 });
    world.look();
  };

  it('starts a run at each slot and says when the next is', () => {
    const world = new World({ schedule: '* * * * *' }, every(MINUTE));
    expect(world.look().recheckInMs).toBe(MINUTE);
    expect(world.status?.nextRunAt).toBe(times.text(START + MINUTE));
    expect(world.created).toBe(0);
    for (let slot = 1; slot <= 3; slot += 1) {
      world.pass(MINUTE);
      world.look();
      expect(world.run).toMatchObject({
        trigger: 'schedule',
        scheduledFor: times.text(START + slot * MINUTE),
      });
      finish(world);
    }
    expect(world.created).toBe(3);
  });

  it('starts no second run beside one under way: counted, and told once', () => {
    const world = new World({ schedule: '* * * * *' }, every(MINUTE));
    world.pass(MINUTE);
    world.look();
    for (let slot = 0; slot < 5; slot += 1) {
      world.pass(MINUTE);
      world.look();
    }
    expect(world.run?.skipped).toBe(5);
    expect(world.events.filter((kind) => kind === 'skipped')).toHaveLength(1);
    expect(world.created).toBe(1);
  });

  it.each([
    ['the control plane was away for a day', MINUTE],
    ['it was away for a year of seconds', 1000],
  ])('makes up with one run when %s', (_why, grid) => {
    const world = new World({ schedule: 'x' }, every(grid));
    world.look();
    world.pass(grid === 1000 ? 365 * 24 * 60 * MINUTE : 24 * 60 * MINUTE);
    world.memory = undefined;
    world.look();
    expect(world.run).toMatchObject({ trigger: 'catch-up' });
    finish(world);
    world.look();
    expect(world.created).toBe(1);
    expect(world.events).toContain('missed');
    expect(times.ms(world.status?.nextRunAt ?? 't0')).toBeGreaterThan(world.wallMs);
  });

  it('runs no slot twice when the clock is set back a little, and goes on when it is set back much', () => {
    const world = new World({ schedule: '* * * * *' }, every(MINUTE));
    world.pass(10 * MINUTE);
    world.look();
    finish(world);
    world.wallMs -= 5 * MINUTE;
    world.look();
    expect(world.created).toBe(1);
    world.wallMs -= 24 * 60 * MINUTE;
    world.look();
    world.pass(MINUTE);
    world.look();
    expect(world.created).toBe(2);
  });

  it('keeps the newest runs and forgets the logs of the others', () => {
    const world = new World({ schedule: '* * * * *' }, every(MINUTE));
    let forgotten = 0;
    for (let slot = 0; slot < 30; slot += 1) {
      world.pass(MINUTE);
      forgotten += world.look().forget.length;
      finish(world);
    }
    expect(world.status?.runs).toHaveLength(20);
    expect(forgotten).toBe(10);
  });
});

describe('a deleted job', () => {
  it('loses its containers, its runs and their logs', () => {
    const world = new World({ schedule: '* * * * *' }, every(MINUTE));
    for (let slot = 0; slot < 12; slot += 1) {
      world.pass(MINUTE);
      world.look();
      world.see('exited', { exitCode: 0 });
      world.look();
    }
    world.exists = false;
    let forgotten = 0;
    for (let looks = 0; looks < 5; looks += 1) forgotten += world.look().forget.length;
    expect(forgotten).toBe(12);
    expect(world.status).toBeUndefined();
    expect(world.instances.every(({ wanted }) => wanted === 'stop')).toBe(true);
  });

  it('that is made again under its name starts from nothing', () => {
    const world = new World();
    world.status = { jobId: 'job_0' as JobId, runs: [], takenRun: 'run_old' };
    world.order();
    expect(world.look().more).toBe(true);
    expect(world.status).toBeUndefined();
    world.look();
    expect(world.status).toMatchObject({ jobId: 'job_1', runs: [{ id: 'run_m1' }] });
  });
});

type Move =
  | { readonly kind: 'see'; readonly phase: InstanceObservation['phase']; readonly exitCode: number }
  | { readonly kind: 'node'; readonly node: 'n1' | 'n2'; readonly status: NodeCondition['status'] }
  | { readonly kind: 'pass'; readonly ms: number }
  | { readonly kind: 'jump'; readonly ms: number }
  | { readonly kind: 'order' | 'cancel' | 'capture' | 'restart' | 'removed' };

const move: fc.Arbitrary<Move> = fc.oneof(
  fc.record({
    kind: fc.constant('see' as const),
    phase: fc.constantFrom('pulling' as const, 'running' as const, 'exited' as const, 'failed' as const),
    exitCode: fc.constantFrom(0, 0, 1),
  }),
  fc.record({
    kind: fc.constant('node' as const),
    node: fc.constantFrom('n1' as const, 'n2' as const),
    status: fc.constantFrom('ready' as const, 'ready' as const, 'silent' as const, 'lost' as const),
  }),
  fc.record({ kind: fc.constant('pass' as const), ms: fc.integer({ min: 1, max: 5 * MINUTE }) }),
  fc.record({
    kind: fc.constant('jump' as const),
    ms: fc.integer({ min: -48 * 60 * MINUTE, max: 48 * 60 * MINUTE }),
  }),
  fc.record({ kind: fc.constantFrom('order', 'cancel', 'capture', 'restart', 'removed') }),
);

function apply(world: World, next: Move): void {
  switch (next.kind) {
    case 'see':
      if (world.instances.at(-1)?.wanted === 'run') world.see(next.phase, { exitCode: next.exitCode });
      return;
    case 'node':
      world.nodes.set(next.node, next.status);
      return;
    case 'pass':
      return world.pass(next.ms);
    case 'jump':
      world.wallMs += next.ms;
      return;
    case 'order':
      if (activeRun(world.status) === undefined) world.order();
      return;
    case 'cancel':
      world.orders = { ...world.orders, cancel: { runId: world.run?.id ?? '', at: '', by: '' } };
      return;
    case 'capture':
      for (const { id } of world.instances) world.captured.add(id);
      return;
    case 'removed':
      for (const { id, wanted } of world.instances)
        if (wanted === 'stop') world.seen.set(id, { id, phase: 'removed' });
      return;
    case 'restart':
      world.memory = undefined;
  }
}

it('whatever happens: no attempt too many, none after an end, one at a time, nothing unbounded', () => {
  fc.assert(
    fc.property(fc.array(move, { maxLength: 120 }), fc.integer({ min: 0, max: 3 }), (moves, retries) => {
      const world = new World({ retries, schedule: 'x' }, every(MINUTE));
      const ended = new Map<string, string>();
      for (const next of moves) {
        const before = world.created;
        const stuck = new Set(
          world.instances.filter(({ nodeId }) => world.nodes.get(nodeId) === 'lost').map(({ id }) => id),
        );
        apply(world, next);
        const plan = world.look();
        const runs = world.status?.runs ?? [];
        // A finished run stays as it ended, and gets no further container.
        for (const run of runs) {
          const known = ended.get(run.id);
          if (known !== undefined) expect(run.state).toBe(known);
          if (isFinished(run)) ended.set(run.id, run.state);
          expect(run.attempts).toBeLessThanOrEqual(retries + 1);
        }
        if (plan.create) expect(ended.has(plan.create.once.runId)).toBe(false);
        expect(world.created - before).toBeLessThanOrEqual(1);
        // Never two containers that nobody has ended, but for those on a lost node.
        const going = world.instances.filter(
          ({ id, wanted, once }) =>
            wanted === 'run' &&
            once?.end !== true &&
            !stuck.has(id) &&
            world.seen.get(id)?.phase !== 'exited',
        );
        expect(going.length).toBeLessThanOrEqual(1);
        expect(runs.filter((run) => !isFinished(run)).length).toBeLessThanOrEqual(1);
        expect(runs.length).toBeLessThanOrEqual(20);
      }
    }),
    { numRuns: 300 },
  );
});

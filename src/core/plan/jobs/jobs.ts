import { JOB_RUNS_KEPT, type JobRecord, type JobSpec, type JobStatus } from '../../model/job.ts';
import {
  type ActiveRun,
  activeRun,
  type EndedRun,
  type JobRun,
  type RetryingRun,
  type RunTerms,
  type RunningRun,
  type StartingRun,
  type WaitingRun,
  withFailedAttempt,
} from '../../model/job-run.ts';
import { parseDuration } from '../../model/quantity.ts';
import {
  BEFORE_AGAIN_MS,
  BEFORE_LOOK_MS,
  BEFORE_WAIT_MS,
  type CommandFailure,
  type CommandPlace,
  type PlannedCommand,
  plannedCommand,
} from './before-command.ts';
import { type AttemptEnd, attemptOutcome } from './job-attempt.ts';
import { jobEvent, jobUnschedulable, runEvent } from './job-events.ts';
import { planClearing } from './job-instances.ts';
import type { JobMemory, JobPlan, JobPlanInput } from './job-plan.ts';
import { dueSlots } from './job-schedule.ts';
import type { PlacementRefusal } from '../rollout/placer.ts';
import type { PlannedEvent } from '../rollout/planned-event.ts';
import { isSingleWriter } from '../rollout/rollout.ts';

/** An attempt whose container cannot be made (image, secrets) is given up after this time on the monotonic clock. */
export const START_DEADLINE_MS = 600_000;
/** Timers of the wall clock are rechecked this often: the clock may be set. */
const LOOK_MS = 60_000;
const RETRY = { baseMs: 1_000, capMs: 300_000 } as const;
/** Runs of a deleted job that one commit clears away, with the logs of their attempts. */
const CLEARED_RUNS = 5;
const NODE_ENDS: ReadonlySet<string> = new Set(['node_lost', 'node_removed']);

/** One pass over a job: its run, its schedule, its containers. Level-triggered, like the plan of a deployment's instances. */
export function planJob(input: JobPlanInput): JobPlan {
  const { job, status } = input;
  if (job === undefined || (status !== undefined && status.jobId !== job.id)) return planDeleted(input);
  return new Planning(input, job).plan();
}

function planDeleted(input: JobPlanInput): JobPlan {
  const { status } = input;
  const forget = status?.runs.slice(0, CLEARED_RUNS) ?? [];
  const runs = status?.runs.slice(forget.length) ?? [];
  const clearing = planClearing(input, undefined, { deleted: true });
  return {
    ...clearing,
    ...(status !== undefined && runs.length > 0 && { status: { ...status, runs } }),
    forget,
    events: [],
    memory: { leftover: clearing.leftover },
    more: runs.length > 0 || (status !== undefined && input.job !== undefined),
  };
}

/** The draft of one plan; each step of `plan` reads and replaces the status. */
class Planning {
  readonly #input: JobPlanInput;
  readonly #job: JobRecord;
  readonly #events: PlannedEvent[] = [];
  readonly #due: number[] = [];
  #status: JobStatus;
  #create: JobPlan['create'];
  #refusal: PlacementRefusal | undefined;
  #command: PlannedCommand | undefined;
  #unprepared: JobMemory['unprepared'];
  #retry: JobMemory['retry'];
  #failing: JobMemory['failing'];

  constructor(input: JobPlanInput, job: JobRecord) {
    this.#input = input;
    this.#job = job;
    this.#status = input.status ?? { jobId: job.id, runs: [] };
  }

  plan(): JobPlan {
    this.#followAttempt();
    this.#takeCancel();
    this.#takeOrder();
    this.#takeSchedule();
    this.#startAttempt();
    const forget = this.#status.runs.slice(0, Math.max(0, this.#status.runs.length - JOB_RUNS_KEPT));
    this.#status = { ...this.#status, runs: this.#status.runs.slice(forget.length) };
    const active = activeRun(this.#status);
    const clearing = planClearing(this.#input, active?.attempt?.instanceId, {});
    const due = [...this.#due, ...clearing.dueInMs];
    return {
      ...clearing,
      ...(this.#create && { create: this.#create }),
      ...(this.#command && { command: this.#command }),
      status: this.#status,
      forget,
      events: this.#events,
      memory: {
        ...(this.#retry && { retry: this.#retry }),
        ...(this.#failing && { failing: this.#failing }),
        ...(this.#unprepared && { unprepared: this.#unprepared }),
        leftover: clearing.leftover,
      },
      ...(due.length > 0 && { recheckInMs: Math.max(1, Math.min(...due)) }),
      more: false,
      ...(this.#refusal && { refusal: this.#refusal }),
    };
  }

  get #now(): string {
    return this.#text(this.#input.wallMs);
  }

  #text(ms: number): string {
    return this.#input.times.text(ms);
  }

  #termsOf({ terms }: JobRun): RunTerms {
    return terms ?? termsOf(this.#job);
  }

  #specOf({ specHash }: RunTerms): Pick<JobSpec, 'volumes'> {
    return (specHash === this.#job.specHash ? undefined : this.#input.specOf?.(specHash)) ?? this.#job.spec;
  }

  #publish(kind: string, run: JobRun, text: string, details: Readonly<Record<string, unknown>> = {}): void {
    this.#events.push(runEvent(this.#input.name, kind, run, text, details));
  }

  #putRun(run: JobRun): void {
    this.#status = { ...this.#status, runs: [...this.#status.runs.slice(0, -1), run] };
  }

  /** What became of the attempt under way. */
  #followAttempt(): void {
    const run = activeRun(this.#status);
    if (run?.attempt === undefined) return;
    const { instances, observationOf, nodeOf } = this.#input;
    const { instanceId, nodeId } = run.attempt;
    const record = instances.find(({ id }) => id === instanceId);
    const outcome = attemptOutcome(record, observationOf(instanceId), nodeOf(nodeId).status);
    switch (outcome.kind) {
      case 'running':
        if (run.state === 'Pending') this.#noteStart(run);
        else if (run.state === 'Running') this.#noteNode(run, nodeOf(nodeId).status === 'ready');
        return;
      case 'ended':
        return this.#endAttempt(
          run.state === 'Pending' && outcome.ran ? this.#noteStart(run) : run,
          outcome.ok,
          outcome.end,
        );
      case 'waiting':
        if (run.state === 'Pending') this.#waitForStart(run, outcome.message, outcome.failing);
    }
  }

  #noteStart(run: StartingRun): RunningRun {
    const { attempts, attempt, startedAt = this.#now } = run;
    const next: RunningRun = {
      ...run,
      state: 'Running',
      message: whereText(attempts, attempt.nodeId, true),
      startedAt,
      attempt: { ...attempt, started: true },
    };
    this.#putRun(next);
    this.#publish('started', next, `started: attempt ${attempts} on ${attempt.nodeId}`);
    return next;
  }

  /** What was seen before a node fell silent is not what is. */
  #noteNode(run: RunningRun, answers: boolean): void {
    const message = whereText(run.attempts, run.attempt.nodeId, answers);
    if (message !== run.message) this.#putRun({ ...run, message });
  }

  #waitForStart(run: StartingRun, message: string, failing: AttemptEnd | undefined): void {
    if (run.message !== message) this.#putRun({ ...run, message });
    if (failing === undefined) return;
    const { memory, nowMs } = this.#input;
    const { instanceId } = run.attempt;
    const known = memory?.failing?.instanceId === instanceId ? memory.failing : undefined;
    const sinceMs = known?.sinceMs ?? nowMs;
    const leftMs = START_DEADLINE_MS - (nowMs - sinceMs);
    if (leftMs <= 0) return this.#endAttempt(run, false, failing);
    this.#failing = { instanceId, sinceMs };
    this.#due.push(leftMs);
  }

  #endAttempt(run: StartingRun | RunningRun, ok: boolean, { reason, message, exitCode }: AttemptEnd): void {
    const { exitCode: _code, reason: _reason, ...before } = run;
    const ended = {
      ...before,
      ...(exitCode !== undefined && { exitCode }),
      ...(reason !== undefined && { reason }),
    };
    const details = { ...(exitCode !== undefined && { exitCode }), ...(reason !== undefined && { reason }) };
    if (ok) {
      const next: EndedRun = { ...ended, state: 'Succeeded', message, finishedAt: this.#now };
      this.#putRun(next);
      return this.#publish('succeeded', next, 'succeeded', details);
    }
    const allowed = (this.#termsOf(run).retries ?? 0) + 1;
    const { nodeId, instanceId } = run.attempt;
    const failed = { attempt: run.attempts, at: this.#now, nodeId, instanceId, message, ...details };
    const failures = withFailedAttempt(run.failures, failed);
    if (run.attempts >= allowed) {
      const next: EndedRun = { ...ended, failures, state: 'Failed', message, finishedAt: this.#now };
      this.#putRun(next);
      const count = allowed === 1 ? '' : ` after ${run.attempts} attempts`;
      return this.#publish('failed', next, `failed${count}: ${message}`, details);
    }
    const { attempt: _over, preparedAt, ...free } = ended;
    // What was prepared may have been lost with the node.
    const isPrepared = preparedAt !== undefined && !NODE_ENDS.has(reason ?? '');
    const retryAt = this.#text(this.#input.wallMs + retryDelayMs(run.attempts));
    const next: RetryingRun = {
      ...free,
      ...(isPrepared && { preparedAt }),
      failures,
      state: 'Retrying',
      message: `attempt ${run.attempts} of ${allowed} failed: ${message}`,
      retryAt,
    };
    this.#putRun(next);
    this.#publish(
      'retrying',
      run,
      `is tried again: attempt ${run.attempts} of ${allowed} failed: ${message}`,
      details,
    );
  }

  /** A run that ended meanwhile stays as it ended. */
  #takeCancel(): void {
    const cancel = this.#input.orders?.cancel;
    if (cancel === undefined || cancel.runId === this.#status.takenCancel) return;
    this.#status = { ...this.#status, takenCancel: cancel.runId };
    const run = activeRun(this.#status);
    if (run?.id !== cancel.runId) return;
    const { retryAt: _due, ...rest } = run;
    const next: EndedRun = { ...rest, state: 'Cancelled', message: 'cancelled', finishedAt: this.#now };
    this.#putRun(next);
    this.#publish('cancelled', next, 'was cancelled');
  }

  #takeOrder(): void {
    const order = this.#input.orders?.run;
    if (order === undefined || order.runId === this.#status.takenRun) return;
    if (activeRun(this.#status) !== undefined) return;
    this.#status = { ...this.#status, takenRun: order.runId };
    this.#addRun({ id: order.runId, trigger: order.trigger, ...(order.hook && { hook: order.hook }) });
  }

  #addRun(run: Pick<JobRun, 'id' | 'trigger' | 'scheduledFor' | 'hook'>): void {
    const added: WaitingRun = {
      ...run,
      state: 'Pending',
      message: 'waits for a node',
      createdAt: this.#now,
      attempts: 0,
    };
    this.#status = { ...this.#status, runs: [...this.#status.runs, added] };
  }

  #takeSchedule(): void {
    const { schedule, wallMs, times } = this.#input;
    const { nextRunAt: _before, lastSlot, scheduledSince: taken, ...rest } = this.#status;
    if (schedule === undefined) {
      this.#status = rest;
      return;
    }
    const { createdAt, scheduledSince } = this.#job;
    // Slots before a change are none of this schedule.
    const known = taken === scheduledSince ? lastSlot : undefined;
    const due = dueSlots(schedule, times.ms(known ?? scheduledSince ?? createdAt), wallMs);
    this.#status = {
      ...rest,
      lastSlot: this.#text(due.lastSlotMs),
      ...(scheduledSince !== undefined && { scheduledSince }),
      ...(due.nextMs !== undefined && { nextRunAt: this.#text(due.nextMs) }),
    };
    if (due.nextMs !== undefined) this.#due.push(Math.min(LOOK_MS, Math.max(1, due.nextMs - wallMs)));
    if (due.slotMs === undefined) return;
    const active = activeRun(this.#status);
    if (active !== undefined) return this.#skip(active, due.count);
    const scheduledFor = this.#text(due.slotMs);
    this.#addRun({
      id: this.#input.nextRunId(),
      trigger: due.late ? 'catch-up' : 'schedule',
      scheduledFor,
    });
    if (due.late) {
      const text = `${due.count} slots of the schedule were missed; one run makes up for them`;
      this.#events.push(
        jobEvent(this.#input.name, 'missed', `${this.#input.name}: ${text}`, {
          missed: due.count,
          scheduledFor,
        }),
      );
    }
  }

  /** No second run beside one that is under way; published once per run, counted always. */
  #skip(run: ActiveRun, count: number): void {
    const next = { ...run, skipped: (run.skipped ?? 0) + count };
    this.#putRun(next);
    if (run.skipped === undefined)
      this.#publish('skipped', next, 'is still under way: the next run of the schedule is skipped');
  }

  /** Undefined: the command before it has not succeeded yet, or has failed, and the run with it. */
  #prepared(run: WaitingRun | RetryingRun): WaitingRun | RetryingRun | undefined {
    const { before } = this.#job.spec;
    if (before === undefined || run.preparedAt !== undefined) return run;
    const { command, commandPlace, memory, nowMs } = this.#input;
    const { planned, outcome } = command?.planned.runId === run.id ? command : {};
    const known = memory?.unprepared?.runId === run.id ? memory.unprepared : undefined;
    if (planned !== undefined && outcome === undefined) {
      this.#command = planned;
      this.#unprepared = known;
      return undefined;
    }
    if (planned !== undefined && outcome?.ok === true) return this.#notePrepared(run, planned);
    if (outcome?.ok === false && outcome.reason !== 'before_unavailable')
      return this.#failUnprepared(run, outcome);
    const tried = outcome?.ok === false ? { atMs: nowMs, why: outcome.message } : known?.tried;
    const place: CommandPlace =
      tried !== undefined && nowMs - tried.atMs < BEFORE_AGAIN_MS
        ? { ok: false, why: tried.why, final: false }
        : commandPlace(before.deployment);
    if (place.ok) {
      this.#command = plannedCommand(run.id, before, place);
      // Until one has got through: those that do not are waited for together.
      this.#unprepared = known && { ...known, begunMs: nowMs };
      this.#putRun({ ...run, message: `its command runs in ${before.deployment} on ${place.nodeId} first` });
      return undefined;
    }
    const ranMs = outcome === undefined ? 0 : nowMs - (known?.begunMs ?? nowMs);
    const sinceMs = known === undefined ? nowMs : known.sinceMs + ranMs;
    const unprepared = { runId: run.id, sinceMs, ...(tried && { tried }) };
    if (place.final || nowMs - unprepared.sinceMs >= BEFORE_WAIT_MS)
      return this.#failUnprepared(run, {
        reason: 'before_unavailable',
        message: `the command before it was not run: ${place.why}`,
      });
    this.#unprepared = unprepared;
    this.#due.push(BEFORE_LOOK_MS);
    this.#putRun({ ...run, message: `waits to run its command first: ${place.why}` });
    return undefined;
  }

  #notePrepared<R extends WaitingRun | RetryingRun>(run: R, { deployment, instanceId }: PlannedCommand): R {
    const next = { ...run, preparedAt: this.#now };
    this.#putRun(next);
    const text = `is prepared: its command in ${deployment} succeeded`;
    this.#publish('prepared', next, text, { deployment, instance: instanceId });
    return next;
  }

  /** Further attempts are for the container: what the command was to prepare is not there. */
  #failUnprepared(run: WaitingRun | RetryingRun, { reason, message, exitCode }: CommandFailure): undefined {
    const { retryAt: _due, ...rest } = run;
    const details = { reason, ...(exitCode !== undefined && { exitCode }) };
    const next: EndedRun = { ...rest, ...details, state: 'Failed', message, finishedAt: this.#now };
    this.#putRun(next);
    this.#publish('failed', next, `failed: ${message}`, details);
    return undefined;
  }

  #startAttempt(): void {
    const waiting = activeRun(this.#status);
    if (waiting === undefined || waiting.attempt !== undefined || this.#waitsForRetry(waiting)) return;
    const run = this.#prepared(waiting);
    if (run === undefined) return;
    const { placer, name, instances, nodeOf } = this.#input;
    const mayWrite = instances.some(({ nodeId }) => !['lost', 'gone'].includes(nodeOf(nodeId).status));
    const terms = this.#termsOf(run);
    if (isSingleWriter(this.#specOf(terms)) && mayWrite) {
      this.#putRun({ ...run, message: 'waits until the container of an earlier attempt is removed' });
      return;
    }
    const placed = placer.place(terms.specHash);
    if (!placed.ok) {
      this.#refusal = placed;
      this.#putRun({ ...run, message: `no node takes it: ${placed.summary}` });
      if (this.#status.unschedulable === placed.digest) return;
      this.#status = { ...this.#status, unschedulable: placed.digest };
      this.#events.push(jobUnschedulable(name, run, placed));
      return;
    }
    const { unschedulable: _told, ...rest } = this.#status;
    this.#status = rest;
    const timeoutMs = terms.timeout === undefined ? undefined : parseDuration(terms.timeout);
    const attempt = run.attempts + 1;
    this.#create = {
      ...placed,
      specHash: terms.specHash,
      once: { runId: run.id, attempt, ...(timeoutMs !== undefined && { timeoutMs }) },
    };
    const { retryAt: _due, ...ready } = run;
    this.#putRun({
      ...ready,
      terms,
      state: 'Pending',
      message: `starts on ${placed.nodeId}`,
      attempts: attempt,
      attempt: { instanceId: placed.id, nodeId: placed.nodeId, started: false },
    });
  }

  /** Waited for on the monotonic clock, once the time is known: a clock that is set neither shortens nor lengthens it much. */
  #waitsForRetry(run: WaitingRun | RetryingRun): boolean {
    if (run.state === 'Pending') return false;
    const { memory, nowMs, wallMs, times } = this.#input;
    const key = `${run.id}/${run.attempts}`;
    const span = Math.min(Math.max(0, times.ms(run.retryAt) - wallMs), retryDelayMs(run.attempts));
    const retry = memory?.retry?.key === key ? memory.retry : { key, dueMs: nowMs + span };
    if (retry.dueMs <= nowMs) return false;
    this.#retry = retry;
    this.#due.push(retry.dueMs - nowMs);
    return true;
  }
}

function termsOf({ specHash, spec: { retries, timeout } }: JobRecord): RunTerms {
  return {
    specHash,
    ...(retries !== undefined && { retries }),
    ...(timeout !== undefined && { timeout }),
  };
}

/** After the n-th attempt failed. */
export function retryDelayMs(attempts: number): number {
  return Math.min(RETRY.capMs, RETRY.baseMs * 2 ** (attempts - 1));
}

function whereText(attempts: number, nodeId: string, answers: boolean): string {
  return answers
    ? `attempt ${attempts} runs on ${nodeId}`
    : `attempt ${attempts} is on ${nodeId}, which does not answer`;
}

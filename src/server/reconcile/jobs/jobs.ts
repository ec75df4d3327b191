import type { Workload } from '../../../core/model/deployment.ts';
import type { NodeName, TenantId } from '../../../core/model/ids.ts';
import { jobWorkload } from '../../../core/model/job.ts';
import { ownerOf } from '../../../core/model/owner.ts';
import type { CronSchedule, ParseSchedule } from '../../../core/model/schedule.ts';
import type { JobMemory, JobPlan } from '../../../core/plan/jobs/job-plan.ts';
import type { CommandProgress, PlannedCommand } from '../../../core/plan/jobs/before-command.ts';
import { planJob } from '../../../core/plan/jobs/jobs.ts';
import { progressMs } from '../../clock.ts';
import { idOf, prefixOf, segmentsOf } from '../../store/record-ids.ts';
import { moveGates, writerGates } from '../../placement/volume-writers.ts';
import type { InstanceCommands } from '../../runtime/instance-commands.ts';
import type { ViewChange } from '../../store/view.ts';
import type { ControllerDeps } from '../controller.ts';
import { jobTransaction } from './job-commit.ts';
import { begunWith, type JobSnapshot, readJobSnapshot } from './job-snapshot.ts';
import { livenessMoved } from '../liveness-moved.ts';
import { type ReconcileRequest, Reconciler, KeyedState } from '../reconciler.ts';

/** Runs that wait for a node are rechecked this often: an explanation may change without a change that is watched. */
const UNPLACED_MS = 30_000;

/**
 * Runs jobs: what is ordered and what the schedule asks for, one run of a job at a time, attempt by attempt. A job's attempt is an
 * instance like any other to scheduler, quota and dispatch; this controller is the only one that makes and ends them.
 */
export class JobsController extends Reconciler {
  readonly #parse: ParseSchedule;
  readonly #memory = new KeyedState<JobMemory>();
  /** Jobs whose run no node takes. */
  readonly #unplaced = new Map<TenantId, Set<string>>();
  readonly #schedules = new Map<string, CronSchedule | undefined>();
  /** Commands before runs, by job. */
  readonly #commands = new KeyedState<CommandProgress & { readonly leave: AbortController }>();
  readonly #instanceCommands: InstanceCommands;
  readonly #workloads = new KeyedState<{ readonly specHash: string; readonly spec: Workload }>();

  constructor(deps: ControllerDeps, parse: ParseSchedule, instanceCommands: InstanceCommands) {
    super(deps, { name: 'jobs', problem: 'reconciling a job failed; retrying' });
    this.#parse = parse;
    this.#instanceCommands = instanceCommands;
  }

  adopt(tenantId: TenantId): void {
    const { view } = this.deps.store;
    for (const id of view.tenant(tenantId, 'jobs').ids()) this.add(tenantId, id);
    // What deleted jobs left behind.
    for (const id of view.tenant(tenantId, 'job-status').ids()) this.add(tenantId, id);
    for (const id of view.tenant(tenantId, 'instances').ids()) this.#addOwner(tenantId, id);
  }

  protected override forget(tenantId?: TenantId): void {
    this.#memory.forget(tenantId);
    for (const [key, { leave }] of this.#commands)
      if (tenantId === undefined || key.startsWith(this.keyOf(tenantId, ''))) leave.abort();
    this.#commands.forget(tenantId);
    this.#workloads.forget(tenantId);
    if (tenantId !== undefined) this.#unplaced.delete(tenantId);
    else for (const held of [this.#unplaced, this.#schedules]) held.clear();
  }

  protected override unplaced(tenantId: TenantId): Iterable<string> {
    return this.#unplaced.get(tenantId) ?? [];
  }

  #addOwner(tenantId: TenantId, key: string): void {
    const { kind, name } = ownerOf(segmentsOf('instances', key)[0]);
    if (kind === 'job') this.add(tenantId, idOf('jobs', name));
  }

  protected take(change: ViewChange): void {
    const { tenantId, kind, id } = change;
    if (tenantId === undefined) return;
    switch (kind) {
      case 'jobs':
      case 'job-orders':
        this.add(tenantId, id);
        break;
      case 'observations':
      case 'job-captures':
        this.#addOwner(tenantId, id);
        break;
      case 'instances':
        this.#addOwner(tenantId, id);
        if (change.after === undefined) this.retryUnplaced(tenantId);
        break;
      case 'node-liveness':
        if (livenessMoved(change)) this.#touchNode(tenantId, segmentsOf(kind, id)[0]);
        break;
      case 'nodes':
        this.#touchNode(tenantId, segmentsOf(kind, id)[0]);
        break;
      case 'quota':
      case 'volumes':
        this.retryUnplaced(tenantId);
        break;
      default:
    }
  }

  #touchNode(tenantId: TenantId, node: NodeName): void {
    if (!this.deps.owns(tenantId)) return;
    for (const owner of this.deps.clusters.ownersOn(tenantId, node))
      this.#addOwner(tenantId, prefixOf('instances', owner));
    this.retryUnplaced(tenantId);
  }

  protected async reconcile(request: ReconcileRequest): Promise<void> {
    const { key, tenantId, id } = request;
    const { store, clock, clusters, ids } = this.deps;
    const startedMs = clock.monotonicMs();
    const snapshot = readJobSnapshot(store.forTenant(tenantId), id, this.#commands.get(key));
    const schedule = this.#schedule(snapshot.job?.record.spec.schedule);
    const memory = this.#memory.get(key);
    const plan = planJob({
      ...snapshot.planned,
      placer: { place: (specHash) => this.#placer(tenantId, key, snapshot, specHash).place() },
      ...(schedule && { schedule }),
      ...(memory && { memory }),
      nowMs: progressMs(clock),
      wallMs: clock.now().getTime(),
      times: TIMES,
      nextRunId: () => ids.next('run'),
    });
    this.decided(startedMs);
    let stored = false;
    try {
      const transaction = jobTransaction(this.deps, snapshot, plan);
      stored = transaction === undefined || (await this.commit(snapshot.tenant, transaction));
    } finally {
      if (!stored && plan.create !== undefined) clusters.release(tenantId, snapshot.owner, plan.create.id);
    }
    if (!stored) {
      this.again(request);
      return;
    }
    this.#follow(request, plan.command);
    this.#remember(request, snapshot, plan);
  }

  /** Begins the command that the plan wants, once it is stored; ends one that it no longer wants. */
  #follow(request: ReconcileRequest, wanted: PlannedCommand | undefined): void {
    const { key, tenantId } = request;
    const known = this.#commands.get(key);
    if (known?.planned === wanted) return;
    known?.leave.abort();
    this.#commands.delete(key);
    if (wanted === undefined) return;
    const leave = new AbortController();
    this.#commands.set(key, { planned: wanted, leave });
    void this.#instanceCommands.run(tenantId, wanted, leave.signal).then((outcome) => {
      if (leave.signal.aborted || !this.isRunning) return;
      this.#commands.set(key, { planned: wanted, leave, outcome });
      this.again(request);
    });
  }

  #remember(request: ReconcileRequest, snapshot: JobSnapshot, plan: JobPlan): void {
    const { key, tenantId, id } = request;
    if (
      snapshot.job === undefined &&
      plan.status === undefined &&
      snapshot.instances.size === plan.remove.length
    ) {
      this.#memory.delete(key);
      this.#unplaced.get(tenantId)?.delete(id);
      this.#workloads.delete(key);
      return;
    }
    const unplaced = plan.refusal !== undefined;
    this.#memory.set(key, plan.memory);
    this.#noteUnplaced(tenantId, id, unplaced);
    const due = [
      ...(plan.recheckInMs === undefined ? [] : [plan.recheckInMs]),
      ...(unplaced ? [UNPLACED_MS] : []),
    ];
    if (plan.more) this.again(request);
    else if (due.length > 0) this.again(request, Math.min(...due));
  }

  #noteUnplaced(tenantId: TenantId, id: string, unplaced: boolean): void {
    const ids = this.#unplaced.get(tenantId) ?? new Set();
    if (unplaced) ids.add(id);
    else ids.delete(id);
    if (ids.size > 0) this.#unplaced.set(tenantId, ids);
    else this.#unplaced.delete(tenantId);
  }

  #placer(tenantId: TenantId, key: string, snapshot: JobSnapshot, specHash: string) {
    const { clusters, ids } = this.deps;
    // One object per job: the scheduler caches its results by it.
    let workload = this.#workloads.get(key);
    if (workload?.specHash !== specHash) {
      workload = { specHash, spec: workloadOf(snapshot, specHash) };
      this.#workloads.set(key, workload);
    }
    const [held] = [
      ...writerGates(snapshot.tenant, clusters, workload.spec),
      ...moveGates(snapshot.tenant, workload.spec),
    ];
    if (held !== undefined) return waitingPlacer(held.message);
    return clusters.placer(tenantId, workload.spec, { nextId: () => ids.next('instance') });
  }

  #schedule(text: string | undefined): CronSchedule | undefined {
    if (text === undefined) return undefined;
    if (this.#schedules.has(text)) return this.#schedules.get(text);
    const parsed = this.#parse(text);
    const schedule = 'problem' in parsed ? undefined : parsed;
    this.#schedules.set(text, schedule);
    return schedule;
  }
}

const TIMES = { text: (ms: number) => new Date(ms).toISOString(), ms: (text: string) => Date.parse(text) };
/** Re-queued when the container that is waited for is gone. */
function waitingPlacer(why: string) {
  const refusal = {
    ok: false,
    summary: why,
    message: why,
    details: {},
    digest: why,
    residency: false,
  } as const;
  return { place: () => refusal };
}

function workloadOf({ tenant, owner, job }: JobSnapshot, specHash: string): Workload {
  const kept = job?.record.specHash === specHash ? undefined : begunWith(tenant, owner, specHash);
  if (kept !== undefined) return kept;
  if (job === undefined) throw new Error('a deleted job places nothing');
  return jobWorkload(job.record.spec);
}

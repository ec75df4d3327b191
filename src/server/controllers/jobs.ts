import type { DeploymentSpec } from '../../core/model/deployment.ts';
import type { InstanceId, NodeName, TenantId } from '../../core/model/ids.ts';
import { jobOfOwner, jobWorkload } from '../../core/model/job.ts';
import type { CronSchedule, ParseSchedule } from '../../core/model/schedule.ts';
import type { JobMemory, JobPlan } from '../../core/planner/job-plan.ts';
import { planJob } from '../../core/planner/jobs.ts';
import { idOf, prefixOf, segmentsOf } from '../store/record-ids.ts';
import { writerGates } from '../placement/volume-writers.ts';
import type { ViewChange } from '../store/view.ts';
import { type Controller, type ControllerDeps, ownedTenants } from './controller.ts';
import { jobTransaction } from './job-commit.ts';
import { type JobFacts, readJobFacts } from './job-facts.ts';
import { livenessMoved } from './liveness-moved.ts';
import { lookQueue } from './look-queue.ts';
import type { KeyedQueue } from './queue.ts';

/** Jobs without a place are tried again so long after room may have appeared. */
const STIR_MS = 50;
/** Runs that wait for a node are also looked at now and then: an explanation may change without a change that is watched. */
const UNPLACED_MS = 30_000;

/**
 * Runs jobs: what is ordered and what the schedule asks for, one run of a job at a time, attempt by attempt. A job's attempt is an
 * instance like any other to scheduler, quota and dispatch; this controller is the only one that makes and ends them.
 */
export class JobsController implements Controller {
  readonly name = 'jobs';
  readonly #deps: ControllerDeps;
  readonly #parse: ParseSchedule;
  readonly #queue: KeyedQueue;
  readonly #memory = new Map<string, JobMemory>();
  /** Jobs whose run no node takes. */
  readonly #unplaced = new Map<TenantId, Set<string>>();
  readonly #schedules = new Map<string, CronSchedule | undefined>();
  readonly #workloads = new Map<string, { readonly specHash: string; readonly spec: DeploymentSpec }>();
  readonly #stirred = new Map<TenantId, () => void>();
  #unsubscribe: (() => void) | undefined;
  #conflicts = 0;

  constructor(deps: ControllerDeps, parse: ParseSchedule) {
    this.#deps = deps;
    this.#parse = parse;
    this.#queue = lookQueue(deps, { name: this.name, what: 'a job' }, (key) => this.#converge(key));
  }

  start(): void {
    const { view } = this.#deps.store;
    this.#unsubscribe = view.onChange((change) => this.#take(change));
    for (const tenantId of ownedTenants(this.#deps)) this.adopt(tenantId);
  }

  adopt(tenantId: TenantId): void {
    const { view } = this.#deps.store;
    for (const id of view.tenant(tenantId, 'jobs').ids()) this.#add(tenantId, id);
    // What deleted jobs left behind.
    for (const id of view.tenant(tenantId, 'job-status').ids()) this.#add(tenantId, id);
    for (const id of view.tenant(tenantId, 'instances').ids()) this.#addOwner(tenantId, id);
  }

  abandon(tenantId: TenantId): void {
    this.#stirred.get(tenantId)?.();
    this.#stirred.delete(tenantId);
    this.#unplaced.delete(tenantId);
    for (const held of [this.#memory, this.#workloads])
      for (const key of held.keys()) if (key.startsWith(`${tenantId}/`)) held.delete(key);
  }

  async stop(): Promise<void> {
    this.#unsubscribe?.();
    for (const cancel of this.#stirred.values()) cancel();
    this.#stirred.clear();
    await this.#queue.stop();
    this.#memory.clear();
    this.#unplaced.clear();
    this.#schedules.clear();
    this.#workloads.clear();
  }

  status(): Record<string, unknown> {
    return { queue: this.#queue.depth, conflicts: this.#conflicts };
  }

  /** Resolves when nothing is left to look at now; for tests. */
  idle(): Promise<void> {
    return this.#queue.idle();
  }

  #add(tenantId: TenantId, id: string): void {
    if (this.#deps.owns(tenantId)) this.#queue.add(`${tenantId}/${id}`);
  }

  #addOwner(tenantId: TenantId, key: string): void {
    const job = jobOfOwner(segmentsOf('instances', key)[0]);
    if (job !== undefined) this.#add(tenantId, idOf('jobs', job));
  }

  #take(change: ViewChange): void {
    const { tenantId, kind, id } = change;
    if (tenantId === undefined) return;
    switch (kind) {
      case 'jobs':
      case 'job-orders':
        this.#add(tenantId, id);
        break;
      case 'observations':
      case 'job-captures':
        this.#addOwner(tenantId, id);
        break;
      case 'instances':
        this.#addOwner(tenantId, id);
        if (change.after === undefined) this.#stir(tenantId);
        break;
      case 'node-liveness':
        if (livenessMoved(change)) this.#touchNode(tenantId, segmentsOf(kind, id)[0]);
        break;
      case 'nodes':
        this.#touchNode(tenantId, segmentsOf(kind, id)[0]);
        break;
      case 'quota':
      case 'volumes':
        this.#stir(tenantId);
        break;
      default:
    }
  }

  #touchNode(tenantId: TenantId, node: NodeName): void {
    if (!this.#deps.owns(tenantId)) return;
    for (const owner of this.#deps.clusters.deploymentsOn(tenantId, node))
      this.#addOwner(tenantId, prefixOf('instances', owner));
    this.#stir(tenantId);
  }

  #stir(tenantId: TenantId): void {
    if (this.#stirred.has(tenantId) || !this.#unplaced.get(tenantId)?.size) return;
    this.#stirred.set(
      tenantId,
      this.#deps.timers.after(STIR_MS, () => {
        this.#stirred.delete(tenantId);
        for (const key of this.#unplaced.get(tenantId) ?? []) this.#queue.add(key);
      }),
    );
  }

  async #converge(key: string): Promise<void> {
    const slash = key.indexOf('/');
    const tenantId = key.slice(0, slash) as TenantId;
    const id = key.slice(slash + 1);
    const { store, clock, metrics, clusters, ids, owns } = this.#deps;
    if (!owns(tenantId)) return;
    const startedMs = clock.monotonicMs();
    const facts = readJobFacts(store.forTenant(tenantId), id);
    const schedule = this.#schedule(facts.job?.record.spec.schedule);
    const memory = this.#memory.get(key);
    const plan = planJob({
      ...facts.planned,
      placer: this.#placer(tenantId, key, facts),
      ...(schedule && { schedule }),
      ...(memory && { memory }),
      nowMs: startedMs,
      wallMs: clock.now().getTime(),
      times: TIMES,
      nextRunId: () => ids.next('run'),
    });
    metrics.decided(this.name, (clock.monotonicMs() - startedMs) / 1000);
    let stored = false;
    try {
      stored = await this.#commit(facts, plan);
    } finally {
      if (!stored && plan.create !== undefined) clusters.release(tenantId, facts.owner, plan.create.id);
    }
    if (!stored) {
      this.#conflicts += 1;
      this.#queue.add(key);
      return;
    }
    this.#remember(key, facts, plan);
  }

  #remember(key: string, facts: JobFacts, plan: JobPlan): void {
    if (facts.job === undefined && plan.status === undefined && facts.instances.size === plan.remove.length) {
      this.#memory.delete(key);
      this.#unplaced.get(facts.tenant.tenantId)?.delete(key);
      this.#workloads.delete(key);
      return;
    }
    const unplaced = plan.refusal !== undefined;
    this.#memory.set(key, plan.memory);
    this.#noteUnplaced(facts.tenant.tenantId, key, unplaced);
    const due = [
      ...(plan.recheckInMs === undefined ? [] : [plan.recheckInMs]),
      ...(unplaced ? [UNPLACED_MS] : []),
    ];
    if (plan.more) this.#queue.add(key);
    else if (due.length > 0) this.#queue.addAfter(key, Math.min(...due));
  }

  #noteUnplaced(tenantId: TenantId, key: string, unplaced: boolean): void {
    const keys = this.#unplaced.get(tenantId) ?? new Set();
    if (unplaced) keys.add(key);
    else keys.delete(key);
    if (keys.size > 0) this.#unplaced.set(tenantId, keys);
    else this.#unplaced.delete(tenantId);
  }

  #placer(tenantId: TenantId, key: string, facts: JobFacts) {
    const { clusters, ids } = this.#deps;
    const job = facts.job?.record;
    if (job === undefined) return NO_PLACER;
    // One object per job: the scheduler remembers what it worked out for it.
    let workload = this.#workloads.get(key);
    if (workload?.specHash !== job.specHash) {
      workload = { specHash: job.specHash, spec: jobWorkload(job.spec) };
      this.#workloads.set(key, workload);
    }
    const [held] = writerGates(facts.tenant, clusters, workload.spec);
    if (held !== undefined) return waitingPlacer(held.message);
    return clusters.placer(tenantId, workload.spec, { nextId: () => ids.next('instance') as InstanceId });
  }

  #schedule(text: string | undefined): CronSchedule | undefined {
    if (text === undefined) return undefined;
    if (this.#schedules.has(text)) return this.#schedules.get(text);
    const parsed = this.#parse(text);
    const schedule = 'problem' in parsed ? undefined : parsed;
    this.#schedules.set(text, schedule);
    return schedule;
  }

  async #commit(facts: JobFacts, plan: JobPlan): Promise<boolean> {
    const transaction = jobTransaction(this.#deps, facts, plan);
    if (transaction === undefined) return true;
    const result = await facts.tenant.commit(transaction);
    this.#deps.metrics.committed(this.name, result.ok ? 'ok' : 'conflict');
    return result.ok;
  }
}

const TIMES = { text: (ms: number) => new Date(ms).toISOString(), ms: (text: string) => Date.parse(text) };
/** Looked at again when the container that is waited for is gone. */
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

const NO_PLACER = {
  place: (): never => {
    throw new Error('a deleted job places nothing');
  },
};

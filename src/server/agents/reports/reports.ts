import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Report } from '../../../core/protocol/agent-protocol.ts';
import { canonicalJson } from '../../../core/model/canonical.ts';
import type { TenantId } from '../../../core/model/ids.ts';
import type { InstanceObservation, InstanceRecord } from '../../../core/model/instance.ts';
import type { Journal } from '../../journal/journal.ts';
import type { Measurements } from '../../runtime/measurements.ts';
import type { Stored } from '../../store/collection.ts';
import { tenantKey } from '../../store/keys.ts';
import type { Store } from '../../store/store.ts';
import { Transaction } from '../../store/transaction.ts';
import type { PlacedInstances } from '../assignments/placed-instances.ts';
import { BatchWriter } from './batch-writer.ts';
import type { KeyedRate } from '../sessions/keyed-rate.ts';
import type { AgentSession, SessionIdentity } from '../sessions/session.ts';
import { expectSession } from '../sessions/session-guard.ts';

/** Puts of one commit; etcd takes 128 guards by default, and each put has two: its instance and its session. */
const BATCH = 60;
const CONFLICT_PAUSE_MS = 20;
const HELD_MS = 500;

interface Pending {
  readonly session: SessionIdentity;
  readonly observation: InstanceObservation;
}

export interface ReportsOptions {
  readonly store: Store;
  readonly placed: PlacedInstances;
  readonly journal: Journal;
  /** Absent: they have no reader. */
  readonly measurements?: Measurements;
  /** Throttles events of what a node changes on its own; absent: no limit. */
  readonly events?: KeyedRate;
  /** How often what is seen of one container is stored; absent: always. */
  readonly changes?: KeyedRate;
  readonly log: Logger;
  /** Defaults to setTimeout. */
  readonly pause?: (ms: number) => Promise<void>;
}

/**
 * The only writer of observations. Newest per instance wins; what is stored already is not written again, so that an
 * unchanged heartbeat costs no commit; while one commit is under way the next one gathers.
 */
export class Reports {
  readonly #options: ReportsOptions;
  readonly #pending = new Map<string, Pending>();
  readonly #writer: BatchWriter;
  /** The newest of those that change all the time, until it is their turn. */
  readonly #held = new Map<string, Pending>();
  #release: NodeJS.Timeout | undefined;

  constructor(options: ReportsOptions) {
    this.#options = options;
    this.#writer = new BatchWriter({
      waiting: () => this.#pending.size > 0,
      commit: () => this.#commitBatch(),
      onFault: (error) => options.log.warn({ err: error }, 'reports could not be stored; trying again'),
      ...(options.pause && { pause: options.pause }),
    });
  }

  take(session: AgentSession, report: Report): void {
    const { tenantId, node } = session.identity;
    const { placed } = this.#options;
    for (const observation of report.observations) {
      const stored = placed.find(tenantId, node, observation.id);
      // A node speaks of what was assigned to it and of nothing else.
      if (stored === undefined || !this.#isNews(tenantId, stored, observation)) continue;
      const key = tenantKey(tenantId, 'observations', stored.id);
      this.#note(key, { session: session.identity, observation });
    }
    if (report.usage !== undefined)
      this.#options.measurements?.take(
        tenantId,
        node,
        report.usage,
        (id) => placed.find(tenantId, node, id)?.record.deployment,
      );
    // Every report repeats it: what is not published now is published if it lasts.
    if (report.engineProblem !== session.engineProblem && this.#mayTell(session))
      this.#tellEngine(session, report.engineProblem);
    this.#writer.write();
  }

  #mayTell(session: AgentSession): boolean {
    return this.#options.events?.take(session.key) ?? true;
  }

  #mayStore(key: string): boolean {
    return this.#options.changes?.take(key) ?? true;
  }

  #note(key: string, pending: Pending): void {
    if (!this.#held.has(key) && this.#mayStore(key)) {
      this.#pending.set(key, pending);
      return;
    }
    this.#held.set(key, pending);
    this.#release ??= setTimeout(() => this.#releaseHeld(), HELD_MS).unref();
  }

  #releaseHeld(): void {
    this.#release = undefined;
    for (const [key, pending] of this.#held) {
      if (!this.#mayStore(key)) continue;
      this.#held.delete(key);
      this.#pending.set(key, pending);
    }
    if (this.#held.size > 0) this.#release = setTimeout(() => this.#releaseHeld(), HELD_MS).unref();
    this.#writer.write();
  }

  #isNews(tenantId: TenantId, { id }: Stored<InstanceRecord>, observation: InstanceObservation): boolean {
    const key = tenantKey(tenantId, 'observations', id);
    const pending = (this.#held.get(key) ?? this.#pending.get(key))?.observation;
    const known = pending ?? this.#options.store.forTenant(tenantId).get('observations', id)?.record;
    return known === undefined || canonicalJson(known) !== canonicalJson(observation);
  }

  /**
   * Guarded by the instance: an observation of one that was deleted or moved meanwhile must not come to life. And by the session: what
   * it said must not hide what a newer one said.
   */
  async #commitBatch(): Promise<void> {
    const batch = [...this.#pending].slice(0, BATCH);
    const guards = new Map<string, string>();
    let whole: Transaction | undefined;
    for (const [key, { session, observation }] of batch) {
      const { tenantId, node } = session;
      const stored = this.#options.placed.find(tenantId, node, observation.id);
      const tenant = this.#options.store.forTenant(tenantId);
      const part = stored && expectSession(tenant, session, tenant.transaction());
      if (stored === undefined || part === undefined) {
        this.#pending.delete(key);
        continue;
      }
      part.expect('instances', stored.id, stored).put('observations', stored.id, observation);
      guards.set(tenantKey(tenantId, 'instances', stored.id), key);
      whole = whole === undefined ? part : whole.include(part.toCommit());
    }
    if (whole === undefined) return;
    const result = await this.#options.store.commit(whole);
    if (result.ok) {
      // A newer observation of the same instance stays for the next batch.
      for (const [key, entry] of batch) if (this.#pending.get(key) === entry) this.#pending.delete(key);
      return;
    }
    // The view knows the change that failed the guard before long; until then these wait behind the others.
    for (const failed of result.failed) {
      const key = guards.get(failed);
      const entry = key === undefined ? undefined : this.#pending.get(key);
      if (key === undefined || entry === undefined) continue;
      this.#pending.delete(key);
      this.#pending.set(key, entry);
    }
    await this.#pause(CONFLICT_PAUSE_MS);
  }

  async #pause(ms: number): Promise<void> {
    await (this.#options.pause ?? realPause)(ms);
  }

  #tellEngine(session: AgentSession, problem: string | undefined): void {
    const { tenantId, node } = session.identity;
    session.engineProblem = problem;
    const transaction = new Transaction(tenantId);
    this.#options.journal.event(transaction, tenantId, {
      kind: problem === undefined ? 'node.engine_recovered' : 'node.engine_failed',
      subject: { kind: 'Node', name: node },
      message:
        problem === undefined
          ? `the engine of ${node} answers again`
          : `the engine of ${node} does not answer: ${problem}`,
    });
    this.#options.store
      .commit(transaction)
      .catch((error: unknown) =>
        this.#options.log.warn({ err: error, node }, 'an event could not be stored'),
      );
  }

  close(): void {
    clearTimeout(this.#release);
    this.#writer.close();
  }
}

/** Unreferenced: a process that ends does not wait for it. */
async function realPause(ms: number): Promise<void> {
  await pause(ms, undefined, { ref: false });
}

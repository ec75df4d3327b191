import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { TenantId } from '../../../core/model/ids.ts';
import type { InstanceRecord } from '../../../core/model/instance.ts';
import { JOB_LOG_BYTES, type JobLog, jobLogSegments } from '../../../core/model/job.ts';
import { ownerOf } from '../../../core/model/owner.ts';
import type { Stored } from '../../store/collection.ts';
import { idOf } from '../../store/record-ids.ts';
import type { Store, TenantStore } from '../../store/store.ts';
import type { ViewChange } from '../../store/view.ts';
import type { PlacedInstances } from '../assignments/placed-instances.ts';
import type { AgentSession } from '../sessions/session.ts';
import { LogTail } from '../streams/log-tail.ts';

const TRIES = 5;
const RETRY_MS = 500;
/** Lines asked of the engine; the bytes are bounded here. */
const MAX_LINES = 20_000;
const READ_MS = 20_000;
const AT_ONCE = 16;
/** Nodes of one tenant that do not answer leave room for the logs of the others. */
const AT_ONCE_OF_TENANT = 4;

interface Work {
  readonly tenantId: TenantId;
  readonly run: () => Promise<void>;
}

export interface JobLogsOptions {
  readonly store: Store;
  readonly placed: PlacedInstances;
  readonly session: (tenantId: TenantId, node: string) => AgentSession | undefined;
  readonly log: Logger;
  /** Defaults to setTimeout. */
  readonly pause?: (ms: number) => Promise<void>;
}

/**
 * Fetches what a job's attempt printed once its container has ended, and keeps the end of it. The container is removed only after
 * that (or after the controller lost patience), so a restart of either side in between repeats the fetch.
 */
export class JobLogs {
  readonly #options: JobLogsOptions;
  readonly #under = new Set<string>();
  readonly #waiting: Work[] = [];
  readonly #workingFor = new Map<TenantId, number>();
  readonly #unsubscribe: () => void;
  #working = 0;
  #closed = false;

  constructor(options: JobLogsOptions) {
    this.#options = options;
    this.#unsubscribe = options.store.view.onChange((change) => this.#take(change));
  }

  close(): void {
    this.#closed = true;
    this.#unsubscribe();
  }

  /** An agent is back: what ended while it was away. */
  opened({ identity: { tenantId, node } }: AgentSession): void {
    for (const stored of this.#options.placed.on(tenantId, node)) this.#consider(tenantId, stored.record);
  }

  #take({ tenantId, kind, id, after }: ViewChange): void {
    if (tenantId === undefined || kind !== 'observations' || after === undefined) return;
    if (after.record.phase !== 'exited') return;
    const instance = this.#options.store.forTenant(tenantId).get('instances', id)?.record;
    if (instance !== undefined) this.#consider(tenantId, instance);
  }

  #consider(tenantId: TenantId, { once, deployment, id, wanted }: InstanceRecord): void {
    if (once === undefined || wanted === 'stop') return;
    const key = idOf('observations', deployment, id);
    const tenant = this.#options.store.forTenant(tenantId);
    if (tenant.get('observations', key)?.record.phase !== 'exited') return;
    const token = `${tenantId}/${key}`;
    if (this.#under.has(token) || tenant.get('job-captures', key) !== undefined) return;
    this.#under.add(token);
    const run = (): Promise<void> => this.#capture(tenant, key).finally(() => this.#under.delete(token));
    this.#waiting.push({ tenantId, run });
    this.#pump();
  }

  #pump(): void {
    while (this.#working < AT_ONCE) {
      const next = this.#waiting.findIndex(({ tenantId }) => this.#busy(tenantId) < AT_ONCE_OF_TENANT);
      const [work] = next === -1 ? [] : this.#waiting.splice(next, 1);
      if (work === undefined || this.#closed) return;
      this.#count(work.tenantId, 1);
      work
        .run()
        .catch((error: unknown) => {
          if (!this.#closed) this.#options.log.warn({ err: error }, 'the log of a job could not be kept');
        })
        .finally(() => {
          this.#count(work.tenantId, -1);
          this.#pump();
        });
    }
  }

  #busy(tenantId: TenantId): number {
    return this.#workingFor.get(tenantId) ?? 0;
  }

  #count(tenantId: TenantId, by: 1 | -1): void {
    this.#working += by;
    const busy = this.#busy(tenantId) + by;
    if (busy === 0) this.#workingFor.delete(tenantId);
    else this.#workingFor.set(tenantId, busy);
  }

  async #capture(tenant: TenantStore, key: string): Promise<void> {
    for (let tries = 1; !this.#closed; tries += 1) {
      const stored = tenant.get('instances', key);
      if (stored?.record.wanted !== 'run') return;
      const session = this.#options.session(tenant.tenantId, stored.record.nodeId);
      // Its agent comes back, and is asked then; or the node is lost, and the controller goes on without.
      if (session === undefined) return;
      const log = await this.#read(session, stored.record);
      if (log.problem === undefined || tries >= TRIES) {
        await this.#keep(tenant, stored, log);
        return;
      }
      await (this.#options.pause ?? pause)(RETRY_MS * tries);
    }
  }

  async #read(session: AgentSession, { id }: InstanceRecord): Promise<JobLog> {
    const tail = new LogTail(JOB_LOG_BYTES);
    const operation = { kind: 'logs', instanceId: id, follow: false, tail: MAX_LINES } as const;
    const stream = session.stream(operation, 'kept logs');
    const timer = setTimeout(() => stream.cancel('late', 'the log took too long to read'), READ_MS);
    try {
      for await (const { text, base64 } of stream)
        tail.add(text === undefined ? Buffer.from(base64 ?? '', 'base64') : Buffer.from(text));
    } finally {
      clearTimeout(timer);
    }
    const problem = stream.end?.error?.message;
    return {
      text: tail.text(),
      dropped: tail.dropped,
      ...(problem !== undefined && { problem }),
      capturedAt: new Date().toISOString(),
    };
  }

  /** Guarded by the instance: nothing is kept for one that was given up meanwhile. */
  async #keep(tenant: TenantStore, stored: Stored<InstanceRecord>, log: JobLog): Promise<void> {
    const { record, id } = stored;
    const { kind, name } = ownerOf(record.deployment);
    if (kind !== 'job' || record.once === undefined) return;
    const { runId, attempt } = record.once;
    const transaction = tenant
      .transaction()
      .expect('instances', id, stored)
      .expect('job-captures', id, undefined)
      .put('job-captures', id, {
        bytes: Buffer.byteLength(log.text),
        ...(log.problem !== undefined && { problem: log.problem }),
      });
    transaction.putCold('job-logs', idOf('job-logs', ...jobLogSegments(name, runId, attempt)), log);
    await tenant.commit(transaction);
  }
}

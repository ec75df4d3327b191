import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { InstanceRecord } from '../../../core/model/instance.ts';
import {
  boundedLines,
  type FailureLog,
  KEPT_OF_TENANT,
  type KeptFailure,
  type KeptFailures,
  withFailure,
} from '../../../core/model/kept-failure.ts';
import { isOfDeployment } from '../../../core/model/owner.ts';
import type { Report, ReportedFailure } from '../../../core/protocol/agent-protocol.ts';
import type { Clock } from '../../clock.ts';
import type { Stored } from '../../store/collection.ts';
import { idOf, segmentsOf } from '../../store/record-ids.ts';
import type { Store, TenantStore } from '../../store/store.ts';
import type { Transaction } from '../../store/transaction.ts';
import type { PlacedInstances } from '../assignments/placed-instances.ts';
import type { KeyedRate } from '../sessions/keyed-rate.ts';
import type { AgentSession, SessionIdentity } from '../sessions/session.ts';
import { expectSession } from '../sessions/session-guard.ts';
import { BatchWriter } from './batch-writer.ts';

/** Told and not stored yet: more of a tenant is dropped, so that the others' are stored in time. */
const WAITING_OF_TENANT = 32;
const TRIES = 5;
const CONFLICT_PAUSE_MS = 20;

interface Waiting {
  readonly session: SessionIdentity;
  readonly record: InstanceRecord;
  readonly failure: ReportedFailure;
  tries: number;
}

interface FailuresOptions {
  readonly store: Store;
  readonly placed: PlacedInstances;
  readonly clock: Clock;
  /** By node: one that fails all the time, or says so, writes no more than this. */
  readonly rate: KeyedRate;
  readonly log: Logger;
}

/** The only writer of failures and of what failed runs printed. What is too much goes, the oldest first. */
export class Failures {
  readonly #options: FailuresOptions;
  readonly #waiting: Waiting[] = [];
  readonly #writer: BatchWriter;

  constructor(options: FailuresOptions) {
    this.#options = options;
    this.#writer = new BatchWriter({
      waiting: () => this.#waiting.length > 0,
      commit: () => this.#storeNext(),
      onFault: (error) => options.log.warn({ err: error }, 'a failure could not be stored; trying again'),
    });
  }

  close(): void {
    this.#writer.close();
  }

  take({ identity, key }: AgentSession, { failures = [] }: Report): void {
    const { placed, rate } = this.#options;
    for (const failure of failures) {
      // A node speaks of what was assigned to it and of nothing else.
      const record = placed.find(identity.tenantId, identity.node, failure.instanceId)?.record;
      if (record === undefined || record.once !== undefined || !rate.take(key)) continue;
      const ofTenant = this.#waiting.filter(({ session }) => session.tenantId === identity.tenantId);
      if (ofTenant.length < WAITING_OF_TENANT)
        this.#waiting.push({ session: identity, record, failure, tries: 0 });
    }
    this.#writer.write();
  }

  async #storeNext(): Promise<void> {
    const next = this.#waiting[0];
    if (next === undefined) return;
    const tenant = this.#options.store.forTenant(next.session.tenantId);
    const transaction = this.#transaction(tenant, next);
    const isStored = transaction === undefined || (await tenant.commit(transaction)).ok;
    next.tries += 1;
    if (isStored || next.tries >= TRIES) this.#waiting.shift();
    // The view knows before long what was changed meanwhile.
    else await pause(CONFLICT_PAUSE_MS * next.tries, undefined, { ref: false });
  }

  /** Undefined: there is nothing to store it with, or it is there. */
  #transaction(tenant: TenantStore, { session, record, failure }: Waiting): Transaction | undefined {
    const { deployment: name, id: instance, nodeId, specHash, canary } = record;
    if (!isOfDeployment(name)) return undefined;
    const id = idOf('failures', name);
    const deployment = tenant.get('deployments', id);
    const transaction = expectSession(tenant, session, tenant.transaction());
    if (deployment === undefined || transaction === undefined) return undefined;
    const stored = tenant.get('failures', id);
    const before = stored?.record.deploymentId === deployment.record.id ? stored.record.kept : [];
    if (before.some((one) => one.instance === instance && one.key === failure.key)) return undefined;
    const log = logOf(failure);
    const { kept, gone } = withFailure(before, {
      key: failure.key,
      instance,
      nodeId,
      specHash,
      ...(canary === true && { canary }),
      at: this.#options.clock.now().toISOString(),
      reason: failure.reason,
      message: failure.message,
      ...(failure.exitCode !== undefined && { exitCode: failure.exitCode }),
      ...(failure.ranMs !== undefined && { ranMs: failure.ranMs }),
      lines: log.lines.length,
    });
    const lost = stored === undefined || before.length > 0 ? gone : [...stored.record.kept, ...gone];
    transaction
      .expect('deployments', id, deployment)
      .expect('failures', id, stored)
      .put('failures', id, { deploymentId: deployment.record.id, kept })
      .putCold('failure-logs', idOf('failure-logs', name, instance, failure.key), log);
    for (const one of lost) deleteLog(transaction, name, one);
    this.#makeRoom(tenant, id, kept.length, transaction);
    return transaction;
  }

  /** Of all deployments of the tenant the oldest one goes, when there are too many. */
  #makeRoom(tenant: TenantStore, id: string, added: number, transaction: Transaction): void {
    const others = tenant
      .collection('failures')
      .list()
      .filter((stored) => stored.id !== id);
    const count = others.reduce((sum, { record }) => sum + record.kept.length, added);
    if (count <= KEPT_OF_TENANT) return;
    const oldest = others
      .filter(({ record }) => record.kept.length > 0)
      .toSorted((a, b) => ((a.record.kept[0]?.at ?? '') < (b.record.kept[0]?.at ?? '') ? -1 : 1))[0];
    if (oldest !== undefined) dropOldest(oldest, transaction);
  }
}

function dropOldest(stored: Stored<KeptFailures>, transaction: Transaction): void {
  const [first, ...kept] = stored.record.kept;
  const [name] = segmentsOf('failures', stored.id);
  if (first === undefined) return;
  transaction.expect('failures', stored.id, stored);
  if (kept.length === 0) transaction.delete('failures', stored.id);
  else transaction.put('failures', stored.id, { ...stored.record, kept });
  deleteLog(transaction, name, first);
}

function deleteLog(transaction: Transaction, name: string, { instance, key }: KeptFailure): void {
  transaction.deleteCold('failure-logs', idOf('failure-logs', name, instance, key));
}

/** Within its bounds, whatever the agent's are. */
function logOf({ lines, dropped = 0, health }: ReportedFailure): FailureLog {
  const bounded = boundedLines(lines);
  const lost = dropped + (bounded.dropped ?? 0);
  return {
    lines: bounded.lines,
    ...(lost > 0 && { dropped: lost }),
    ...(health !== undefined && { health }),
  };
}

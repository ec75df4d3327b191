import { hash } from 'node:crypto';
import type { nothing } from '../../core/contract/order-bodies.ts';
import type { Exact, Exactly } from '../../core/schema/shape.ts';
import { canonicalJson } from '../../core/model/canonical.ts';
import type { ContainerDefaults } from '../../core/model/container-defaults.ts';
import type { Workload } from '../../core/model/deployment.ts';
import { labelledIngress } from '../../core/model/ingress.ts';
import { NOT_HASHED } from '../../core/model/spec-snapshot.ts';
import type { ParseSchedule } from '../../core/model/schedule.ts';
import type { Region, UnstatedCountry } from '../../core/model/region.ts';
import type { AnswerOf, Operation, StatusOf } from '../../core/operations/operation.ts';
import { reject } from '../../core/rejections/reject.ts';
import type { Rejection } from '../../core/rejections/rejection.ts';
import type { Limits } from '../../core/rules/rule.ts';
import type { Clock } from '../clock.ts';
import type { Ids } from '../ids.ts';
import type { Actor, Journal } from '../journal/journal.ts';
import type { FirstPlan, PlanEnd } from '../placement/first-plan.ts';
import type { TenantClusters } from '../placement/tenant-clusters.ts';
import type { ImageCheck } from '../registry/check.ts';
import type { Stored } from '../store/collection.ts';
import type { IdempotentAnswer } from '../store/records.ts';
import type { CommitResult } from '../store/kv.ts';
import type { NetworkPrefixes } from '../../core/model/mesh.ts';
import type { Store, TenantStore } from '../store/store.ts';
import type { Transaction } from '../store/transaction.ts';
import type { Growth } from '../store/usage.ts';
import { type CommitProof, unproven } from './commit-proof.ts';
import type { StorageQuota } from './storage-quota.ts';
import type { TenantEraser } from './tenants/erase-tenants.ts';
import type { SecretAdmission } from './secrets/credential-facts.ts';

/** What every use case of the write path needs; built once in the composition root. */
export interface Admission {
  readonly store: Store;
  readonly clock: Clock;
  /** When this process began, on its monotonic clock; absent: long ago. */
  readonly startedMs?: number;
  readonly ids: Ids;
  readonly journal: Journal;
  readonly clusters: TenantClusters;
  /** Absent: controllers plan what is stored, for tests of single parts. */
  readonly firstPlan?: FirstPlan;
  readonly limits: Limits;
  /** What containers are bounded by where neither workload nor tenant says otherwise. */
  readonly containerDefaults: ContainerDefaults;
  readonly prefixes: NetworkPrefixes;
  readonly parseSchedule: ParseSchedule;
  readonly imageCheck: ImageCheck;
  /** Why a webhook may not be sent to this URL, whatever its name resolves to; absent: nothing is known against any. */
  readonly mayCall?: (url: string) => string | undefined;
  readonly secrets: SecretAdmission;
  /** Absent: no quota and no brake, for tests of single parts. */
  readonly storageQuota?: StorageQuota;
  readonly eraser: Pick<TenantEraser, 'eraseAll' | 'problemOf'>;
  readonly residency: {
    readonly enforcement: boolean;
    readonly regions: readonly Region[];
    /** Absent: `keep`. */
    readonly unstated?: UnstatedCountry;
  };
}

/** One request, authenticated and bound to the tenant it acts for. */
export interface Caller extends Actor {
  readonly tenant: TenantStore;
  readonly tenantSlug: string;
  readonly idempotency?: { readonly id: string; readonly requestDigest: string };
  /** Absent: it is answered when the use case has returned. */
  readonly answering?: Answering;
  /** Absent: it is judged by what was newest when it came. */
  readonly proof?: CommitProof;
  /** Of dry runs of one set: what those before this one would add. */
  readonly supposed?: Growth[];
}

/**
 * Told what a write answers while its commit is on its way to the disk, where this thread has nothing else to do; returns what sends it. That is called with the
 * revision once the commit is durable, as early as the view allows, and perhaps never: the use case returns its answer all the same.
 */
export type Answering = (answer: {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}) => (revision: number) => void;

/** What a use case says of an answer: its `revision` is that of the commit. */
type Unrevised<A> = Omit<A, 'revision'> & { readonly revision?: number };

interface AcceptedAs<A, S extends number> {
  readonly status: S;
  readonly body: Exactly<Unrevised<A>>;
  readonly revision?: number;
  /** The answer of an earlier request with the same Idempotency-Key. */
  readonly replayed?: boolean;
}

export type Accepted<O extends Operation> = AcceptedAs<AnswerOf<O>, StatusOf<O>>;

/** Where a commit is a step of a use case, and its answer is not shown. */
export interface Silent extends Operation {
  readonly success: {
    readonly status: number;
    readonly description: string;
    readonly answer: typeof nothing;
  };
}

export interface WriteOptions {
  readonly dryRun: boolean;
  /** Names of what the caller creates together with this. */
  readonly alongside?: readonly string[];
  /** The plan that the caller was shown: nothing is stored when it would be another one now. */
  readonly plan?: string;
}

export type Outcome<O extends Operation> = Accepted<O> | Rejection;

/** The only way to an answer of the operation: with its statuses, and its fields exactly. */
export function acceptedOf<O extends Operation>(): <const V extends Unrevised<AnswerOf<O>>>(
  status: StatusOf<O>,
  body: V & Exact<V, Unrevised<AnswerOf<O>>>,
) => Accepted<O>;
export function acceptedOf() {
  return (status: number, body: object) => ({ status, body });
}

export function specHash(spec: Workload): string {
  const hashed: Record<string, unknown> = { ...spec };
  // Not deleted: that would turn the copy into a dictionary. Members without a value are left out of the text.
  for (const field of NOT_HASHED) hashed[field] = undefined;
  hashed['ingress'] = hashedIngress(spec);
  if (spec.healthCheck !== undefined)
    hashed['healthCheck'] = { ...spec.healthCheck, restartAfter: undefined };
  return hash('sha256', canonicalJson(hashed), 'hex');
}

/** Labels for Traefik, in the form in which they were hashed when they were all there was: an upgrade recreates nothing. */
function hashedIngress(spec: Workload): object | undefined {
  const labelled = labelledIngress(spec);
  return labelled && { host: labelled.host, port: labelled.port };
}

const MAX_ATTEMPTS = 16;
const NOBODY: Pick<Caller, 'answering'> = {};
const IDEMPOTENCY_TTL_MS = 24 * 3_600_000;

type StoredAnswer = Stored<IdempotentAnswer> | undefined;

async function readStoredAnswer({ idempotency, tenant }: Caller): Promise<StoredAnswer> {
  return idempotency && tenant.getCold('idempotency', idempotency.id);
}

/** Replays the stored answer; the digest proves that the request is the same. */
function replay<O extends Operation>(
  admission: Admission,
  { idempotency }: Caller,
  stored: StoredAnswer,
): Outcome<O> | undefined {
  if (idempotency === undefined || stored === undefined) return undefined;
  if (Date.parse(stored.record.expiresAt) <= admission.clock.now().getTime()) return undefined;
  if (stored.record.requestDigest !== idempotency.requestDigest) {
    return reject('idempotency_key_conflict', {
      field: 'Idempotency-Key',
      received: '(in use)',
      why: 'This key was used for another request in the last 24 hours.',
    });
  }
  return {
    status: stored.record.status as StatusOf<O>,
    body: JSON.parse(stored.record.body) as Accepted<O>['body'],
    revision: stored.modRevision,
    replayed: true,
  };
}

export type Attempt<O extends Operation> =
  | Rejection
  /** Nothing to store (a dry run), and what it would have stored. */
  | { readonly answer: Accepted<O>; readonly would?: () => Transaction }
  | {
      readonly answer: Accepted<O>;
      readonly transaction: Transaction;
      /** Adds what is decided last, with nothing awaited between it and the commit. */
      readonly lastly?: () => PlanEnd | undefined;
    };

/**
 * Decide, commit under guards, and decide again when something moved in between: a rejection that depends on stored
 * state is thus always true of the state the write would have met.
 */
export async function commitAttempts<O extends Operation>(
  admission: Admission,
  caller: Caller,
  attempt: () => Promise<Attempt<O>> | Attempt<O>,
): Promise<Outcome<O>> {
  try {
    return await attemptAndCommit(admission, caller, attempt);
  } finally {
    const finished = admission.secrets.writes.finish(caller.tenant, caller);
    if (finished) await finished;
  }
}

async function attemptAndCommit<O extends Operation>(
  admission: Admission,
  caller: Caller,
  attempt: () => Promise<Attempt<O>> | Attempt<O>,
): Promise<Outcome<O>> {
  const { idempotency, tenant } = caller;
  for (let tries = 0; tries < MAX_ATTEMPTS; tries += 1) {
    const stored = idempotency && (await readStoredAnswer(caller));
    const earlier = replay<O>(admission, caller, stored);
    if (earlier !== undefined) return earlier;
    const result = await attempt();
    if (!('answer' in result)) {
      if (result.moved && tries < MAX_ATTEMPTS - 1) continue;
      // The first request with this key may have been stored since, and what it made be the reason for the rejection.
      return replay<O>(admission, caller, await readStoredAnswer(caller)) ?? result;
    }
    if (!('transaction' in result))
      return (result.would && (await suppose(admission, caller, result.would()))) ?? result.answer;
    const { answer, transaction } = result;
    const gone = expectTenant(admission, caller, transaction);
    if (gone) return gone;
    if (caller.proof?.include(transaction) === false) return unproven();
    if (idempotency !== undefined)
      transaction.include(storeAnswer(admission, caller, idempotency, stored, answer).toCommit());
    const growth = admission.storageQuota?.growth(transaction.toCommit()) ?? [];
    // Room is made by a commit of its own.
    if (caller.proof && admission.storageQuota?.fits(growth) === false) return unproven();
    const judged = admission.storageQuota?.refusal(growth, caller);
    const crowded = judged instanceof Promise ? await judged : judged;
    if (crowded) return crowded;
    // Only once: what moved may be what it relied on, such as the shard of this process.
    const ended = tries === 0 ? result.lastly?.() : undefined;
    let send: ((revision: number) => void) | undefined;
    // What is written to another store is finished first, and may fail. Beside other commits there is no time to be won, and a text that waits costs memory.
    const isLone = !admission.store.isBusy && !admission.secrets.writes.isOpen(caller);
    const { answering } = isLone ? caller : NOBODY;
    if (answering !== undefined) transaction.whenDurable((revision) => send?.(revision));
    caller.proof?.sent();
    const committing = commitPlanned(tenant, transaction, ended);
    send = answering?.(answer);
    const committed = await committing;
    if (!committed.ok) {
      if (caller.proof) return caller.proof.failed();
      continue;
    }
    caller.proof?.stored();
    send?.(committed.revision);
    admission.storageQuota?.committed(growth);
    return { ...answer, revision: committed.revision };
  }
  return reject('store_unavailable', {
    field: 'store',
    received: '(busy)',
    why: `The record changed under this request ${MAX_ATTEMPTS} times in a row; send it again.`,
  });
}

/** A dry run is refused what its commit would be, but for documents of secrets that come along: those are made by the write alone. Only what is not refused is there for others of its set. */
async function suppose(
  { storageQuota }: Admission,
  { tenant, supposed }: Caller,
  would: Transaction,
): Promise<Rejection | undefined> {
  const growth = storageQuota?.growth(would.toCommit()) ?? [];
  const crowded = await storageQuota?.supposedRefusal(growth, supposed);
  if (crowded) return crowded;
  supposed?.push(...growth);
  tenant.suppose(would);
  return undefined;
}

async function commitPlanned(
  tenant: TenantStore,
  transaction: Transaction,
  ended: PlanEnd | undefined,
): Promise<CommitResult> {
  let stored = false;
  try {
    const committed = await tenant.commit(transaction);
    stored = committed.ok;
    return committed;
  } finally {
    ended?.(stored);
  }
}

/** A tenant that is deleted meanwhile gets no further records: they would have no owner. */
function expectTenant(admission: Admission, caller: Caller, transaction: Transaction): Rejection | undefined {
  const { tenantId } = caller.tenant;
  const stored = admission.store.getGlobal('tenants', tenantId);
  if (stored === undefined) {
    return reject('tenant_not_found', {
      field: 'tenant',
      received: tenantId,
      why: 'The tenant was deleted.',
    });
  }
  transaction.expectGlobal('tenants', tenantId, stored);
  return undefined;
}

/**
 * Guarded by what was read: of two requests with one key at once, the second finds the answer of the first. Kept under
 * the tenant that is acted for, where it is looked for: the change itself may be another tenant's.
 */
function storeAnswer<O extends Operation>(
  admission: Admission,
  caller: Caller,
  { id, requestDigest }: NonNullable<Caller['idempotency']>,
  stored: StoredAnswer,
  answer: Accepted<O>,
): Transaction {
  return caller.tenant
    .transaction()
    .expectCold('idempotency', id, stored)
    .putCold('idempotency', id, {
      requestDigest,
      status: answer.status,
      body: JSON.stringify(answer.body),
      expiresAt: new Date(admission.clock.now().getTime() + IDEMPOTENCY_TTL_MS).toISOString(),
    });
}

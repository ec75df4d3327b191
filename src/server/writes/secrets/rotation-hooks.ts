import { keysOf } from '../../../core/model/values.ts';
import type { CredentialRecord, CredentialRotation } from '../../../core/model/credential.ts';
import type { RotationPhase } from '../../../core/model/deployment.ts';
import { type JobRecord, jobLogSegments } from '../../../core/model/job.ts';
import { isFinished, type JobRunState, type StoredRun } from '../../../core/model/job-run.ts';
import {
  askedFor,
  type HookName,
  type HookRun,
  hookOf,
  hooksBefore,
  type RotationHooks,
} from '../../../core/model/rotation-hook.ts';
import { secretPathText, splitSecretPath } from '../../../core/model/secret-path.ts';
import { received } from '../../../core/rejections/redaction.ts';
import { isRejection, reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import { actorName } from '../../journal/journal.ts';
import { credentialRecord } from '../../secrets/credential-holders.ts';
import { readInService } from '../../secrets/resolve.ts';
import type { Stored } from '../../store/collection.ts';
import { idOf } from '../../store/record-ids.ts';
import type { TenantStore } from '../../store/store.ts';
import type { Transaction } from '../../store/transaction.ts';
import type { Admission, Caller } from '../admission.ts';
import type { CredentialFacts } from './credential-facts.ts';
import { includeOrder } from '../jobs/job-orders.ts';
import { findJob, runUnderWay } from '../../reads/job.ts';
import { readsCredential } from '../jobs/job-stored.ts';

type Slot = keyof RotationHooks;

/** A hook as it is shown to people: the run that a phase waits for. */
export interface HookView {
  readonly hook: HookName;
  readonly job: string;
  readonly run?: string;
  readonly state: JobRunState | 'Waiting';
  readonly message: string;
  /** The way back: the old values are made valid again. */
  readonly swapped?: true;
}

/** What a phase waits for; `include` adds the order of the run to a commit, where one is made now. */
export interface HookWait {
  readonly view: HookView;
  readonly record: CredentialRecord;
  readonly include?: (transaction: Transaction) => void;
}

export interface HookRequest {
  readonly facts: CredentialFacts;
  readonly rotation: CredentialRotation;
  readonly phase: RotationPhase;
  /** Run again what failed. */
  readonly retry: boolean;
}

/**
 * The hook that a phase still waits for; nothing: it may go on. A run that failed refuses the phase until it is asked for
 * again. A run without a record is ordered again too: hooks run at least once.
 */
export async function awaitHooks(
  admission: Admission,
  caller: Caller,
  request: HookRequest,
): Promise<HookWait | Rejection | undefined> {
  const { facts, rotation, phase, retry } = request;
  const hooks = facts.record.hooks ?? {};
  const asked = rotation.hooks ?? {};
  for (const slot of hooksBefore(phase, hooks, asked)) {
    const name = hookOf(slot);
    const job = hookJob(caller.tenant, request, name, hooks[name] ?? '');
    if (isRejection(job)) return job;
    const view = {
      hook: name,
      job: job.record.spec.name,
      ...(slot === 'undone' && { swapped: true as const }),
    };
    const run = askedRun(caller.tenant, job, asked[slot]);
    if (run?.state === 'Succeeded') continue;
    if (run !== undefined && !isFinished(run)) return waiting(facts, { ...view, ...shown(run) });
    if (run !== undefined && !retry) return failedRejection(admission, caller, request, job, run);
    const busy = runUnderWay(caller.tenant, job);
    if (busy !== undefined) {
      const message = `run ${busy} of the job is under way; the hook comes after it`;
      return waiting(facts, { ...view, state: 'Waiting', message });
    }
    return order(admission, caller, request, slot, job, view);
  }
  return undefined;
}

/** What the rotation under way has asked of its hooks. */
export function hookViews(tenant: TenantStore, { rotation }: CredentialRecord): readonly HookView[] {
  return keysOf(rotation?.hooks ?? {}).flatMap((slot) => {
    const asked = rotation?.hooks?.[slot];
    if (asked === undefined) return [];
    const job = findJob(tenant, asked.job);
    const run = job === undefined ? undefined : askedRun(tenant, job, asked);
    const swapped = slot === 'undone' && { swapped: true as const };
    return run === undefined ? [] : [{ hook: hookOf(slot), job: asked.job, ...shown(run), ...swapped }];
  });
}

function waiting({ record }: CredentialFacts, view: HookView): HookWait {
  return { view, record };
}

function shown({ id, state, message }: Pick<StoredRun, 'id' | 'state' | 'message'>) {
  return { run: id, state, message };
}

/** The job of a hook, as it is now: it may have been deleted, or made again without the credential. */
function hookJob(
  tenant: TenantStore,
  { facts, phase }: HookRequest,
  hook: HookName,
  name: string,
): Stored<JobRecord> | Rejection {
  const job = findJob(tenant, name);
  const text = secretPathText(facts.path);
  if (job !== undefined && readsCredential(job.record, text)) return job;
  const why = job === undefined ? 'does not exist' : `has no secrets entry for ${text}`;
  return reject('rotation_hook_failed', {
    field: 'phase',
    received: received(phase),
    expected: `a job ${name} that reads ${text}, or other hooks: PUT /api/v1/secrets/${text}/hooks`,
    why: `The job ${name} of the hook ${hook} ${why}, so ${phase} cannot be prepared.`,
  });
}

/** The run that was asked for, taken up or not. Of another job, or of one that was made again: none. */
function askedRun(
  tenant: TenantStore,
  { id, record }: Stored<JobRecord>,
  asked: HookRun | undefined,
): Pick<StoredRun, 'id' | 'state' | 'message' | 'attempts'> | undefined {
  if (asked === undefined || asked.jobId !== record.id || asked.job !== record.spec.name) return undefined;
  const status = tenant.get('job-status', id)?.record;
  const found = status?.jobId === record.id ? status.runs.find((run) => run.id === asked.run) : undefined;
  if (found !== undefined) return found;
  const isOrdered = tenant.get('job-orders', id)?.record.run?.runId === asked.run;
  if (!isOrdered || status?.takenRun === asked.run) return undefined;
  return { id: asked.run, state: 'Pending', message: 'asked for', attempts: 0 };
}

function order(
  admission: Admission,
  caller: Caller,
  { facts, rotation, phase }: HookRequest,
  slot: Slot,
  job: Stored<JobRecord>,
  view: Pick<HookView, 'hook' | 'job' | 'swapped'>,
): HookWait {
  const runId = admission.ids.next('run');
  const { next, previous } = rotation;
  const path = secretPathText(facts.path);
  const versions = slot === 'undone' ? { current: previous, previous: next } : { current: next, previous };
  const hooks = askedFor(rotation.hooks ?? {}, slot, {
    job: view.job,
    jobId: job.record.id,
    run: runId,
  });
  return {
    view: { ...view, run: runId, state: 'Pending', message: 'asked for' },
    record: { ...facts.record, rotation: { ...rotation, hooks } },
    include: (transaction) =>
      includeOrder(admission, caller, job, transaction, {
        action: 'run_requested',
        message: `${view.job}: run ${runId} was asked for by ${phase} of ${path} (hook ${view.hook})`,
        runId,
        change: {
          run: {
            runId,
            trigger: 'hook',
            at: admission.clock.now().toISOString(),
            by: actorName(caller),
            hook: { hook: view.hook, path, ...versions },
          },
        },
      }),
  };
}

const SHOWN_OUTPUT = 600;

async function failedRejection(
  admission: Admission,
  caller: Caller,
  request: HookRequest,
  { record }: Stored<JobRecord>,
  run: Pick<StoredRun, 'id' | 'state' | 'message' | 'attempts'>,
): Promise<Rejection> {
  const { name } = record.spec;
  const output = await lastOutput(admission, caller, request, record, run);
  const said = output === '' ? 'It printed nothing that was kept.' : `Its output ends with: ${output}`;
  return reject('rotation_hook_failed', {
    field: 'phase',
    received: received(request.phase),
    expected: `${request.phase} with retryHook: true, which runs the job again`,
    why: `Run ${run.id} of the job ${name} ${run.state === 'Cancelled' ? 'was cancelled' : `failed: ${run.message}`}. ${said}`,
  });
}

/** The end of what the last attempt printed, without the values that its container was given. */
async function lastOutput(
  { secrets }: Admission,
  { tenant }: Caller,
  { facts, rotation }: HookRequest,
  { spec }: JobRecord,
  { id, attempts }: Pick<StoredRun, 'id' | 'attempts'>,
): Promise<string> {
  const kept = await tenant.getCold('job-logs', idOf('job-logs', ...jobLogSegments(spec.name, id, attempts)));
  let text = kept?.record.text.trimEnd() ?? '';
  if (text === '') return '';
  const own = secretPathText(facts.path);
  const others = new Set(spec.secrets.map(({ vault_path }) => vault_path).filter((path) => path !== own));
  const documents = await Promise.all([
    ...[rotation.next, rotation.previous].map((version) =>
      secrets.store.read(tenant.tenantId, facts.path, version),
    ),
    ...[...others].flatMap((other) => {
      const path = splitSecretPath(other);
      const record = path && credentialRecord(secrets.references, tenant, path);
      return record ? [readInService(secrets.store, tenant.tenantId, path, record)] : [];
    }),
  ]);
  const values: string[] = [];
  for (const [index, document] of documents.entries()) {
    // What cannot be compared is not shown.
    if (!document.ok) return '';
    const minted = index < 2 ? facts.record.minted : undefined;
    for (const [key, value] of document.values)
      if (minted?.[key]?.alternate === undefined) values.push(value.reveal());
  }
  // The longest first: one value may be a part of another.
  for (const value of values.sort((a, b) => b.length - a.length))
    if (value !== '') text = text.replaceAll(value, '(redacted)');
  return text.length <= SHOWN_OUTPUT ? text : `…${text.slice(-SHOWN_OUTPUT)}`;
}

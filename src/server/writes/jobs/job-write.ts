import { asSent } from '../../../core/alterations/as-sent.ts';
import { type JobDraft, jobSpecOfDraft, removedFromJob } from '../../../core/contract/job-body.ts';
import { canonicalJson } from '../../../core/model/canonical.ts';
import { fieldDifferences } from '../../../core/contract/diff.ts';
import { jobView } from '../../../core/contract/job-view.ts';
import type { Alteration, Warning } from '../../../core/model/announcement.ts';
import { type BeforeCommand, type JobRecord, type JobSpec, jobWorkload } from '../../../core/model/job.ts';
import { jobOwner } from '../../../core/model/owner.ts';
import { pinOf, snapshotOf } from '../../../core/model/spec-snapshot.ts';
import { isRejection } from '../../../core/rejections/reject.ts';
import { type Announced, attachmentWarnings, withoutUnknown } from '../../../core/rules/attachment-facts.ts';
import { type JobFacts, jobFactsRejection } from '../../../core/rules/job.ts';
import { isJudged, type Judged } from '../../../core/rules/rule.ts';
import { checkNothingPersists } from '../../../core/rules/secrets/persist-guard.ts';
import type { JOBS } from '../../../core/operations/jobs.ts';
import { actorName } from '../../journal/journal.ts';
import { countedWarnings } from '../../placement/counted.ts';
import { supposeInstances } from '../../placement/supposed-instances.ts';
import { claimVolumes } from '../../placement/volume-claims.ts';
import { volumeWarnings } from '../../placement/volume-residency.ts';
import { runUnderWay, storedJobView } from '../../reads/job.ts';
import type { Stored } from '../../store/collection.ts';
import { containerDefaultsOf } from '../../store/container-defaults.ts';
import { idOf } from '../../store/record-ids.ts';
import type { TenantStore } from '../../store/store.ts';
import type { Transaction } from '../../store/transaction.ts';
import { acceptedOf, type Admission, type Attempt, type Caller } from '../admission.ts';
import { guardPlan, planRejection } from '../plan-guard.ts';
import { residencyWarnings, SECRET_FIELDS } from '../deployments/deployment-write.ts';
import { digestAlterations, identityOf, imageAnswer } from '../images/image-answer.ts';
import { planMaterial } from '../secrets/secret-material.ts';
import {
  claimLabels,
  knownKeys,
  referenceWarnings,
  secretRejection,
  supposeDocuments,
} from '../secrets/secret-references.ts';
import { planJob } from './job-plan.ts';
import { jobFacts, missingHooks, readsCredential } from './job-stored.ts';

export interface JobWrite {
  readonly draft: JobDraft;
  readonly altered: readonly Alteration[];
  /** Of an update: the fields that it is judged by. */
  readonly judged?: Judged;
  /** What is replaced; absent on create. */
  readonly previous?: Stored<JobRecord>;
  readonly dryRun: boolean;
  /** The plan that the caller was shown. */
  readonly plan?: string;
  readonly isAnnounced: Announced;
}

const accepted = acceptedOf<typeof JOBS.create>();

/** What POST and PUT share: the same path as a deployment's, with facts, the registry's answer and one guarded commit. */
export async function attemptJobWrite(
  admission: Admission,
  caller: Caller,
  write: JobWrite & { readonly previous: Stored<JobRecord> },
): Promise<Attempt<typeof JOBS.update>>;
export async function attemptJobWrite(
  admission: Admission,
  caller: Caller,
  write: JobWrite,
): Promise<Attempt<typeof JOBS.create>>;
export async function attemptJobWrite(
  admission: Admission,
  caller: Caller,
  { draft, altered, judged, previous, dryRun, plan: shown, isAnnounced }: JobWrite,
): Promise<Attempt<typeof JOBS.create>> {
  const { tenant } = caller;
  const spec = jobSpecOfDraft(draft);
  const workload = jobWorkload(spec);
  const before = previous && jobWorkload(previous.record.spec);
  const newBefore = isSame(spec.before, previous?.record.spec.before) ? undefined : spec.before;
  const facts = (): JobFacts => jobFacts(admission, caller, spec.name, isAnnounced);
  const known = isJudged(judged, SECRET_FIELDS)
    ? await knownKeys(admission.secrets, tenant, workload)
    : undefined;
  const stateful =
    (known && (await secretRejection(admission.secrets, tenant, draft, workload, before, known))) ??
    jobFactsRejection(workload, facts(), judged, newBefore);
  if (stateful) return asSent(stateful, altered);
  const image = await imageAnswer(admission, caller, spec.image, {
    ...(previous && { before: { ...previous.record, image: previous.record.spec.image } }),
    sent: isJudged(judged, ['image']),
  });
  if (isRejection(image)) return image;
  const material = await planMaterial(admission.secrets, caller, draft, workload);
  if (isRejection(material)) return material;
  const guard = checkNothingPersists(spec.secrets);
  if (guard) return guard;

  const record = nextRecord(admission, tenant, spec, image.imageDigest, previous?.record);
  const alterations = [
    ...digestAlterations(altered, spec.image, record, previous?.record),
    ...material.alterations,
  ];
  // As for deployments: the registry and the secrets store were asked meanwhile.
  const moved = jobFactsRejection(workload, facts(), judged, newBefore);
  if (moved) return asSent(moved, altered);
  const warnings = [
    ...image.warnings,
    ...attachmentWarnings(workload, facts()),
    ...residencyWarnings(admission, caller, workload),
    ...volumeWarnings(tenant, admission.residency, workload),
    ...countedWarnings(tenant, admission.clusters.defaultRequest, workload),
    ...(known === undefined ? [] : referenceWarnings(draft, known)),
    ...(previous === undefined ? [] : updateWarnings(tenant, previous, record)),
  ];
  const view =
    previous === undefined
      ? jobView(record, 0, undefined, containerDefaultsOf(tenant, admission.containerDefaults))
      : storedJobView(admission, tenant, { ...previous, record });
  const removed = previous === undefined ? [] : removedFromJob(previous.record.spec, spec);
  const body = { ...view, removed, alterations, warnings };
  const plan =
    dryRun || shown !== undefined
      ? planJob(admission, caller, previous, record, withoutUnknown(workload, facts()))
      : undefined;
  const outdated = plan && planRejection(shown, plan.id);
  if (outdated) return outdated;
  if (dryRun && plan) {
    const diff = previous && { diff: fieldDifferences(described(previous.record), described(record)) };
    const would = () => {
      supposeDocuments(admission.secrets, draft, known);
      const transaction = tenant.transaction().put('jobs', idOf('jobs', spec.name), record);
      const snapshot = snapshotOf({ ...record, spec: workload });
      supposeInstances(transaction, snapshot, record.specHash, plan.actions);
      claimVolumes(tenant, workload.name, { before, after: workload }, transaction);
      return transaction;
    };
    return { answer: accepted(200, { ...body, plan: { ...plan, ...diff } }), would };
  }
  const transaction = jobTransaction(admission, caller, record, previous);
  claimVolumes(tenant, workload.name, { before, after: workload }, transaction);
  if (plan) guardPlan(tenant, workload, plan.actions, transaction);
  const split = await claimLabels(admission.secrets, tenant, workload, transaction, known);
  if (split) return split;
  const failed = await material.apply();
  if (failed) return failed;
  material.include(transaction);
  return { answer: accepted(previous === undefined ? 201 : 200, body), transaction };
}

function isSame(before: BeforeCommand | undefined, stored: BeforeCommand | undefined): boolean {
  return canonicalJson(before ?? null) === canonicalJson(stored ?? null);
}

function described({ spec, imageDigest }: JobRecord): object {
  return { ...spec, ...pinOf(imageDigest) };
}

function nextRecord(
  { ids, clock }: Admission,
  tenant: TenantStore,
  spec: JobSpec,
  imageDigest: string | undefined,
  previous: JobRecord | undefined,
): JobRecord {
  const now = clock.now().toISOString();
  const since = previous?.spec.schedule === spec.schedule ? previous?.scheduledSince : now;
  return {
    id: previous?.id ?? ids.next('job'),
    tenantId: tenant.tenantId,
    spec,
    ...identityOf(tenant, jobWorkload(spec), imageDigest),
    createdAt: previous?.createdAt ?? now,
    ...(previous && { updatedAt: now, ...(since !== undefined && { scheduledSince: since }) }),
  };
}

/** What a change of the description alone does not do. */
function updateWarnings(
  tenant: TenantStore,
  previous: Stored<JobRecord>,
  { spec }: JobRecord,
): readonly Warning[] {
  const { name } = spec;
  const run = runUnderWay(tenant, previous);
  return [
    ...(run === undefined
      ? []
      : [
          {
            code: 'job_run_under_way',
            field: 'name',
            why: `Run ${run} goes on with what it was begun with, its further attempts too; the next run takes the change.`,
          },
        ]),
    ...(spec.schedule === undefined
      ? [
          {
            code: 'job_runs_when_asked',
            field: 'schedule',
            why: `${name} has no schedule: it runs with the change when it is asked to (POST /api/v1/jobs/${name}/run).`,
          },
        ]
      : []),
    ...missingHooks(tenant, name, (path) => !readsCredential({ spec }, path)),
  ];
}

/** The record with its snapshot, event and audit line: one commit, guarded by what was read. */
function jobTransaction(
  admission: Admission,
  caller: Caller,
  record: JobRecord,
  previous: Stored<JobRecord> | undefined,
): Transaction {
  const { tenant } = caller;
  const { spec, specHash: hash } = record;
  const { name, schedule } = spec;
  const id = idOf('jobs', name);
  const subject = { kind: 'Job', name } as const;
  const kind = previous === undefined ? 'job.created' : 'job.updated';
  const transaction = tenant
    .transaction()
    .expect('jobs', id, previous)
    .put('jobs', id, record)
    .put('specs', idOf('specs', jobOwner(name), hash), snapshotOf({ ...record, spec: jobWorkload(spec) }));
  if (previous === undefined && schedule === undefined) {
    const runId = admission.ids.next('run');
    const { createdAt: at } = record;
    transaction.put('job-orders', id, {
      run: { runId, trigger: 'created', at, by: actorName(caller) },
    });
  }
  admission.journal.event(transaction, tenant.tenantId, {
    kind,
    subject,
    message: previous === undefined ? createdMessage(spec) : updatedMessage(spec),
    details: { specHash: hash, ...(schedule !== undefined && { schedule }) },
  });
  admission.journal.audit(transaction, tenant.tenantId, caller, kind, subject);
  return transaction;
}

function createdMessage({ name, schedule }: JobSpec): string {
  return schedule === undefined ? `${name} created: runs once` : `${name} created: runs at ${schedule} (UTC)`;
}

function updatedMessage({ name, schedule }: JobSpec): string {
  return schedule === undefined
    ? `${name} updated: runs when it is asked to`
    : `${name} updated: runs at ${schedule} (UTC)`;
}

import { volumeIdIn } from '../../reads/volume.ts';
import { asSent } from '../../../core/alterations/as-sent.ts';
import { alterJob } from '../../../core/alterations/deployment.ts';
import { jobBody, type JobDraft, jobSpecOfDraft } from '../../../core/contract/job-body.ts';
import { jobView } from '../../../core/contract/job-view.ts';
import { draftOf, readBody, type Sent } from '../../../core/schema/shape.ts';
import type { Alteration } from '../../../core/model/announcement.ts';
import { type JobRecord, type JobSpec, jobWorkload } from '../../../core/model/job.ts';
import { jobOwner } from '../../../core/model/owner.ts';
import { isRecord } from '../../../core/model/values.ts';
import { snapshotOf } from '../../../core/model/spec-snapshot.ts';
import { received } from '../../../core/rejections/redaction.ts';
import { isRejection, reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import {
  type Announced,
  announcedBy,
  attachmentWarnings,
  withoutUnknown,
} from '../../../core/rules/attachment-facts.ts';
import { type JobFacts, jobFactsRejection, jobRules } from '../../../core/rules/job.ts';
import { firstRejection } from '../../../core/rules/rule.ts';
import { checkNothingPersists } from '../../../core/rules/secrets/persist-guard.ts';
import type { JOBS } from '../../../core/operations/jobs.ts';
import { actorName } from '../../journal/journal.ts';
import { countedWarnings } from '../../placement/counted.ts';
import { planPlacement } from '../../placement/explanation.ts';
import { claimVolumes } from '../../placement/volume-claims.ts';
import { volumeWarnings } from '../../placement/volume-residency.ts';
import { containerDefaultsOf } from '../../store/container-defaults.ts';
import { idOf } from '../../store/record-ids.ts';
import type { Transaction } from '../../store/transaction.ts';
import {
  acceptedOf,
  type Admission,
  type Attempt,
  type Caller,
  commitAttempts,
  type Outcome,
  type WriteOptions,
} from '../admission.ts';
import { documentRejections } from '../found-rejections.ts';
import { residencyWarnings } from '../deployments/deployment-write.ts';
import { digestAlterations, identityOf, imageAnswer } from '../images/image-answer.ts';
import { findJob } from '../../reads/job.ts';
import { jobFacts } from './job-stored.ts';
import { planMaterial } from '../secrets/secret-material.ts';
import { claimLabels, knownKeys, referenceWarnings, secretRejection } from '../secrets/secret-references.ts';

/** Shape and kind; as for deployments, the kind is judged before the fields. */
function readJob(body: unknown): Sent<typeof jobBody> | Rejection {
  const kind = isRecord(body) ? body['kind'] : undefined;
  if (kind !== undefined && kind !== null && kind !== 'Job') {
    return reject('job_invalid', {
      field: 'kind',
      received: received(kind),
      expected: 'Job',
      why: `This route takes documents of kind Job${kind === 'Deployment' ? '; send a Deployment to /api/v1/deployments' : ''}.`,
    });
  }
  return readBody(jobBody, body);
}

const accepted = acceptedOf<typeof JOBS.create>();

/** The same write path as a deployment's: shape, alterations, rules, facts, the registry's answer, one guarded commit. */
export async function createJob(
  admission: Admission,
  caller: Caller,
  body: unknown,
  { dryRun, alongside = [] }: WriteOptions,
): Promise<Outcome<typeof JOBS.create>> {
  const sent = readJob(body);
  if (isRejection(sent)) return sent;
  const { draft, alterations } = alterJob(draftOf(jobBody, sent), sent, volumeIdIn(caller.tenant));
  const { limits, parseSchedule, clock } = admission;
  const refused = firstRejection(jobRules, { draft, limits, parseSchedule, nowMs: clock.now().getTime() });
  if (refused) return asSent(refused, alterations);
  return commitAttempts(admission, caller, () =>
    attemptCreate(admission, caller, {
      draft,
      altered: alterations,
      dryRun,
      isAnnounced: announcedBy(alongside, dryRun),
    }),
  );
}

/** Beside the first one, all that is refused in a job by its shape and by each rule. */
export async function jobRejections(
  { limits, parseSchedule, clock }: Admission,
  body: unknown,
  first: Rejection,
): Promise<readonly Rejection[]> {
  if (first.field === 'kind') return [first];
  const nowMs = clock.now().getTime();
  const rules = jobRules.map((rule) => (sent: Sent<typeof jobBody>) => {
    const { draft, alterations } = alterJob(draftOf(jobBody, sent), sent);
    const refused = rule({ draft, limits, parseSchedule, nowMs });
    return refused && asSent(refused, alterations);
  });
  return documentRejections(first, body, readJob, rules);
}

interface JobWrite {
  readonly draft: JobDraft;
  readonly altered: readonly Alteration[];
  readonly dryRun: boolean;
  readonly isAnnounced: Announced;
}

async function attemptCreate(
  admission: Admission,
  caller: Caller,
  { draft, altered, dryRun, isAnnounced }: JobWrite,
): Promise<Attempt<typeof JOBS.create>> {
  const { tenant } = caller;
  const spec = jobSpecOfDraft(draft);
  if (findJob(tenant, spec.name) !== undefined) {
    return reject('job_already_exists', {
      field: 'name',
      received: received(spec.name),
      why: 'The tenant already has a job of this name; run it again, or delete it first.',
    });
  }
  const workload = jobWorkload(spec);
  const facts = (): JobFacts => jobFacts(admission, caller, spec.name, isAnnounced);
  const known = await knownKeys(admission.secrets, tenant, workload);
  const stateful =
    (await secretRejection(admission.secrets, tenant, draft, workload, undefined, known)) ??
    jobFactsRejection(workload, facts());
  if (stateful) return asSent(stateful, altered);
  const image = await imageAnswer(admission, caller, spec.image, { sent: true });
  if (isRejection(image)) return image;
  const material = await planMaterial(admission.secrets, caller, draft, workload);
  if (isRejection(material)) return material;
  const guard = checkNothingPersists(spec.secrets);
  if (guard) return guard;

  const record: JobRecord = {
    id: admission.ids.next('job'),
    tenantId: tenant.tenantId,
    spec,
    ...identityOf(tenant, workload, image.imageDigest),
    createdAt: admission.clock.now().toISOString(),
  };
  const alterations = [...digestAlterations(altered, spec.image, record, undefined), ...material.alterations];
  // As for deployments: the registry and the secrets store were asked meanwhile.
  const moved = jobFactsRejection(workload, facts());
  if (moved) return moved;
  const warnings = [
    ...image.warnings,
    ...attachmentWarnings(workload, facts()),
    ...residencyWarnings(admission, caller, workload),
    ...volumeWarnings(tenant, admission.residency, workload),
    ...countedWarnings(tenant, admission.clusters.defaultRequest, workload),
    ...referenceWarnings(draft, known),
  ];
  const defaults = containerDefaultsOf(tenant, admission.containerDefaults);
  const body = { ...jobView(record, 0, undefined, defaults), removed: [], alterations, warnings };
  if (dryRun) {
    const plan = planPlacement(
      admission.clusters,
      tenant,
      withoutUnknown(workload, facts()),
      record.specHash,
    );
    return { answer: accepted(200, { ...body, plan }) };
  }
  const transaction = createTransaction(admission, caller, record);
  claimVolumes(tenant, workload.name, { before: undefined, after: workload }, transaction);
  const split = claimLabels(admission.secrets, tenant, workload, transaction);
  if (split) return split;
  const failed = await material.apply();
  if (failed) return failed;
  for (const alteration of alterations)
    admission.logAlteration({ requestId: caller.requestId, job: spec.name, ...alteration });
  material.include(transaction);
  return { answer: accepted(201, body), transaction };
}

function createTransaction(admission: Admission, caller: Caller, record: JobRecord): Transaction {
  const { tenant } = caller;
  const { spec, specHash: hash } = record;
  const id = idOf('jobs', spec.name);
  const subject = { kind: 'Job', name: spec.name } as const;
  const transaction = tenant
    .transaction()
    .expect('jobs', id, undefined)
    .put('jobs', id, record)
    .put(
      'specs',
      idOf('specs', jobOwner(spec.name), hash),
      snapshotOf({ ...record, spec: jobWorkload(spec) }),
    );
  if (spec.schedule === undefined) {
    const runId = admission.ids.next('run');
    const { createdAt: at } = record;
    transaction.put('job-orders', id, {
      run: { runId, trigger: 'created', at, by: actorName(caller) },
    });
  }
  admission.journal.event(transaction, tenant.tenantId, {
    kind: 'job.created',
    subject,
    message: createdMessage(spec),
    details: { specHash: hash, ...(spec.schedule !== undefined && { schedule: spec.schedule }) },
  });
  admission.journal.audit(transaction, tenant.tenantId, caller, 'job.created', subject);
  return transaction;
}

function createdMessage({ name, schedule }: JobSpec): string {
  return schedule === undefined ? `${name} created: runs once` : `${name} created: runs at ${schedule} (UTC)`;
}

import { asSent } from '../../../core/alterations/as-sent.ts';
import { alterJob } from '../../../core/alterations/deployment.ts';
import type { job } from '../../../core/contract/answers/job.ts';
import { sentFields } from '../../../core/contract/deployment-merge.ts';
import { jobBody, type JobDraft, mergeJobDraft, type SentJob } from '../../../core/contract/job-body.ts';
import type { Alteration } from '../../../core/model/announcement.ts';
import type { JobRecord } from '../../../core/model/job.ts';
import { isRecord } from '../../../core/model/values.ts';
import { received } from '../../../core/rejections/redaction.ts';
import { reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import { jobRules } from '../../../core/rules/job.ts';
import type { Judged } from '../../../core/rules/rule.ts';
import { type Answer, draftOf, readBody } from '../../../core/schema/shape.ts';
import { storedJobView } from '../../reads/job.ts';
import { volumeIdIn } from '../../reads/volume.ts';
import type { Stored } from '../../store/collection.ts';
import type { Admission, Caller } from '../admission.ts';
import { documentRejections } from '../found-rejections.ts';

/** Shape and kind; as for deployments, the kind is judged before the fields. */
export function readJob(body: unknown): SentJob | Rejection {
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

export interface DraftedJob {
  readonly draft: JobDraft;
  readonly alterations: readonly Alteration[];
  /** Of an update: the fields that it is judged by. */
  readonly judged?: Judged;
}

/** The job as it would be, with what the server fills in; of an update, what is not sent stays. */
export function draftedJob(
  admission: Admission,
  { tenant }: Pick<Caller, 'tenant'>,
  sent: SentJob,
  stored: Stored<JobRecord> | undefined,
): DraftedJob {
  const volumeIdOf = volumeIdIn(tenant);
  if (stored === undefined) return alterJob({ draft: draftOf(jobBody, sent), body: sent, volumeIdOf });
  // `null` clears a field to its default; a name has none, so it stays.
  const { name: _cleared, ...rest } = sent;
  const view: Answer<typeof job> = storedJobView(admission, tenant, stored);
  const altered = alterJob({
    draft: mergeJobDraft(stored.record.spec, rest),
    body: sent,
    storedView: view,
    volumeIdOf,
  });
  return { ...altered, judged: new Set(sentFields(sent)) };
}

/** Beside the first one, all that is refused in a job by its shape and by each rule. */
export async function jobRejections(
  admission: Admission,
  caller: Caller,
  body: unknown,
  first: Rejection,
  stored?: Stored<JobRecord>,
): Promise<readonly Rejection[]> {
  if (first.field === 'kind') return [first];
  const { limits, parseSchedule, clock } = admission;
  const nowMs = clock.now().getTime();
  const rules = jobRules.map((rule) => (sent: SentJob) => {
    const { draft, alterations, judged } = draftedJob(admission, caller, sent, stored);
    const refused = rule({ draft, limits, parseSchedule, nowMs, judged });
    return refused && asSent(refused, alterations, sent);
  });
  return documentRejections(first, body, readJob, rules);
}

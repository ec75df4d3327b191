import { asSent } from '../../../core/alterations/as-sent.ts';
import { received } from '../../../core/rejections/redaction.ts';
import { isRejection, reject } from '../../../core/rejections/reject.ts';
import { announcedBy } from '../../../core/rules/attachment-facts.ts';
import { jobRules } from '../../../core/rules/job.ts';
import { firstRejection } from '../../../core/rules/rule.ts';
import type { JOBS } from '../../../core/operations/jobs.ts';
import { findJob } from '../../reads/job.ts';
import {
  type Admission,
  type Caller,
  commitAttempts,
  type Outcome,
  type WriteOptions,
} from '../admission.ts';
import { draftedJob, readJob } from './job-draft.ts';
import { attemptJobWrite } from './job-write.ts';

export async function createJob(
  admission: Admission,
  caller: Caller,
  body: unknown,
  { dryRun, alongside = [], plan }: WriteOptions,
): Promise<Outcome<typeof JOBS.create>> {
  const sent = readJob(body);
  if (isRejection(sent)) return sent;
  const { draft, alterations } = draftedJob(admission, caller, sent, undefined);
  const { limits, parseSchedule, clock } = admission;
  const refused = firstRejection(jobRules, { draft, limits, parseSchedule, nowMs: clock.now().getTime() });
  if (refused) return asSent(refused, alterations, sent);
  const name = draft.name ?? '';
  return commitAttempts(admission, caller, () => {
    if (findJob(caller.tenant, name) !== undefined) {
      return reject('job_already_exists', {
        field: 'name',
        received: received(name),
        why: 'The tenant already has a job of this name; change it with PUT, or run it again.',
      });
    }
    return attemptJobWrite(admission, caller, {
      draft,
      altered: alterations,
      dryRun,
      ...(plan !== undefined && { plan }),
      isAnnounced: announcedBy(alongside, dryRun),
    });
  });
}

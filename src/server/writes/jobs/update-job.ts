import { asSent } from '../../../core/alterations/as-sent.ts';
import { received } from '../../../core/rejections/redaction.ts';
import { isRejection, reject } from '../../../core/rejections/reject.ts';
import { announcedBy } from '../../../core/rules/attachment-facts.ts';
import { jobRules } from '../../../core/rules/job.ts';
import { firstRejection } from '../../../core/rules/rule.ts';
import type { JOBS } from '../../../core/operations/jobs.ts';
import { findJob, jobNotFound } from '../../reads/job.ts';
import { type Admission, type Caller, commitAttempts, type Outcome } from '../admission.ts';
import type { UpdateOptions } from '../deployments/update-deployment.ts';
import { revisionRejection } from '../if-match.ts';
import { draftedJob, readJob } from './job-draft.ts';
import { attemptJobWrite } from './job-write.ts';

/** The job stays itself, with its runs and their logs; runs that begin from now on take what is stored now. */
export async function updateJob(
  admission: Admission,
  caller: Caller,
  name: string,
  body: unknown,
  { dryRun, alongside = [], plan, ifMatch }: UpdateOptions,
): Promise<Outcome<typeof JOBS.update>> {
  const sent = readJob(body);
  if (isRejection(sent)) return sent;
  return commitAttempts(admission, caller, () => {
    const stored = findJob(caller.tenant, name);
    if (stored === undefined) return jobNotFound(name);
    if (sent.name !== undefined && sent.name !== null && sent.name !== name) {
      return reject('name_mismatch', {
        field: 'name',
        received: received(sent.name),
        expected: name,
        why: 'The body names another job than the path; a job cannot be renamed.',
      });
    }
    const outdated = revisionRejection(ifMatch, stored.modRevision);
    if (outdated) return outdated;
    const { draft, alterations, judged } = draftedJob(admission, caller, sent, stored);
    const { limits, parseSchedule, clock } = admission;
    const nowMs = clock.now().getTime();
    const refused = firstRejection(jobRules, { draft, limits, parseSchedule, nowMs, judged });
    if (refused) return asSent(refused, alterations, sent);
    return attemptJobWrite(admission, caller, {
      draft,
      altered: alterations,
      ...(judged && { judged }),
      previous: stored,
      dryRun,
      ...(plan !== undefined && { plan }),
      isAnnounced: announcedBy(alongside, dryRun),
    });
  });
}

import { type BodyFor, unjudged } from '../sdk/index.ts';
import { type Client, type Json, named } from './client.ts';
import { alongsideQuery } from './deploying.ts';
import type { JobWritten } from './records.ts';

/** One job on its way to the control plane. */
export interface SentJob {
  readonly name: string;
  readonly body: Json;
  readonly alongside: readonly string[];
  /** The plan that was shown to whoever applies it now. */
  readonly plan?: string | undefined;
}

function said({ body, alongside, plan }: SentJob) {
  return {
    query: { ...(plan !== undefined && { plan }), ...alongsideQuery(body, alongside) },
    body: unjudged<BodyFor<'POST /api/v1/jobs'>>(body),
  };
}

export function createJob(client: Client, job: SentJob): Promise<JobWritten> {
  return client.written('POST /api/v1/jobs', said(job));
}

/** Refused when another change came first. */
export function updateJob(client: Client, job: SentJob, revision: number | undefined): Promise<JobWritten> {
  return client.written('PUT /api/v1/jobs/{name}', {
    ...named(job.name),
    ...said(job),
    ...(revision !== undefined && { ifMatch: revision }),
  });
}

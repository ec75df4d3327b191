import { type BodyFor, unjudged } from '../sdk/index.ts';
import { type Client, type Json, named } from './client.ts';
import { alongsideQuery, carriesMaterial } from './deploying.ts';
import type { Job, JobWritten } from './records.ts';

/** One job on its way to the control plane. */
export interface SentJob {
  readonly name: string;
  readonly body: Json;
  readonly alongside: readonly string[];
}

function said({ body, alongside }: SentJob, query: { readonly dryRun?: true }) {
  return {
    query: { ...query, ...alongsideQuery(body, alongside) },
    body: unjudged<BodyFor<'POST /api/v1/jobs'>>(body),
  };
}

export function createJob(
  client: Client,
  job: SentJob,
  query: { readonly dryRun?: true },
): Promise<JobWritten> {
  return client.written('POST /api/v1/jobs', said(job, query));
}

/** Refused when another change came first. */
export function updateJob(
  client: Client,
  job: SentJob,
  { revision }: Job,
  query: { readonly dryRun?: true } = {},
): Promise<JobWritten> {
  return client.written('PUT /api/v1/jobs/{name}', {
    ...named(job.name),
    ...said(job, query),
    ...(revision !== undefined && { ifMatch: revision }),
  });
}

export function changesJob({ body }: SentJob, { plan, removed }: JobWritten): boolean {
  return (plan?.diff ?? []).length > 0 || (removed ?? []).length > 0 || carriesMaterial(body);
}

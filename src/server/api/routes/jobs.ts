import { job as jobAnswer, jobWritten } from '../../../core/contract/answers/job.ts';
import { listOf } from '../../../core/contract/answers/words.ts';
import { jobBody } from '../../../core/contract/job-body.ts';
import { isRejection } from '../../../core/rejections/reject.ts';
import type { Admission, Outcome } from '../../admission/admission.ts';
import { createJob } from '../../admission/create-job.ts';
import { parseIfMatch } from '../../admission/if-match.ts';
import { cancelJob, deleteJob, runJob } from '../../admission/job-orders.ts';
import { findJob, jobNotFound, storedJobView } from '../../admission/job-stored.ts';
import type { Dispatch } from '../../dispatch/dispatch.ts';
import { booleanParameter, pageReply, pageRequest } from '../paging.ts';
import { LIST_QUERY, type Reply, type Route, type RouteRequest, route } from '../route.ts';
import { writeReply } from '../write-reply.ts';
import { JOB_CODES } from './deployment-codes.ts';
import { DRY_RUN } from './deployments.ts';
import { JOB_LOG_QUERY, jobLogs } from './job-logs.ts';

const PATH = '/api/v1/jobs';

/** The order is stored beside the job: its revision is not that of the commit. */
function orderReply(outcome: Outcome): Reply {
  if (isRejection(outcome)) return outcome;
  const { status, body, replayed } = outcome;
  return { status, body, ...(replayed ? { headers: { 'idempotency-replayed': 'true' } } : {}) };
}

function list(admission: Admission, { store, query }: RouteRequest): Reply {
  const page = pageRequest(query);
  if (isRejection(page)) return page;
  const read = store.list('jobs', { ...page, limit: page.limit + 1 });
  return pageReply(
    page,
    PATH,
    query,
    read,
    ({ id }) => id,
    (stored) => storedJobView(admission, store, stored, 1),
  );
}

function read(admission: Admission, { store, params }: RouteRequest): Reply {
  const name = params['name'] ?? '';
  const stored = findJob(store, name);
  if (stored === undefined) return jobNotFound(name);
  return {
    status: 200,
    body: storedJobView(admission, store, stored),
    headers: { etag: `"${stored.modRevision}"` },
  };
}

async function create(admission: Admission, { caller, body, query }: RouteRequest): Promise<Reply> {
  const dryRun = booleanParameter(query, 'dryRun');
  if (isRejection(dryRun)) return dryRun;
  return writeReply(await createJob(admission, caller, body, { dryRun }));
}

async function remove(admission: Admission, { headers, caller, params }: RouteRequest): Promise<Reply> {
  const ifMatch = parseIfMatch(headers['if-match']);
  if (isRejection(ifMatch)) return ifMatch;
  return writeReply(await deleteJob(admission, caller, params['name'] ?? '', ifMatch));
}

function readRoutes(admission: Admission, dispatch: Dispatch): Route[] {
  const shared = { method: 'GET', tag: 'Jobs', permission: 'read', tenant: 'credential' } as const;
  return [
    route({
      ...shared,
      path: PATH,
      summary: 'List the jobs of the tenant, by name, each with its newest run',
      query: LIST_QUERY,
      codes: [],
      success: {
        status: 200,
        description: 'Jobs; the next page is in the Link header.',
        answer: listOf(jobAnswer),
      },
      handle: (request) => list(admission, request),
    }),
    route({
      ...shared,
      path: `${PATH}/{name}`,
      summary: 'Read one job with its runs, newest first',
      codes: ['job_not_found'],
      success: { status: 200, description: 'The stored job with its status.', answer: jobAnswer },
      handle: (request) => read(admission, request),
    }),
    route({
      ...shared,
      path: `${PATH}/{name}/logs`,
      summary: 'What a run printed: live while it runs, the kept end of it afterwards',
      query: JOB_LOG_QUERY,
      codes: ['job_not_found', 'job_run_not_found', 'agent_unreachable', 'query_parameter_invalid'],
      lasts: () => true,
      success: {
        status: 200,
        description: 'Lines as text; with follow=true, server-sent events.',
        media: ['text/plain', 'text/event-stream'],
      },
      handle: (request) => jobLogs(dispatch, request),
    }),
  ];
}

export function jobRoutes(admission: Admission, dispatch: Dispatch): Route[] {
  const shared = { tag: 'Jobs', permission: 'deploy', tenant: 'credential' } as const;
  return [
    ...readRoutes(admission, dispatch),
    route({
      ...shared,
      method: 'POST',
      path: PATH,
      summary: 'Create a job: it runs once, or at the times of its schedule',
      query: DRY_RUN,
      body: { shape: jobBody, yaml: true, unchecked: true },
      codes: JOB_CODES,
      success: {
        status: 201,
        description: 'Stored; what the server changed is announced.',
        answer: jobWritten,
      },
      handle: (request) => create(admission, request),
    }),
    route({
      ...shared,
      method: 'POST',
      path: `${PATH}/{name}/run`,
      summary: 'Run a job now, beside its schedule if it has one',
      codes: ['job_not_found', 'job_already_running', 'idempotency_key_conflict', 'header_invalid'],
      success: { status: 200, description: 'The job; `run` is the id of the new run.', answer: jobWritten },
      handle: async ({ caller, params }) => orderReply(await runJob(admission, caller, params['name'] ?? '')),
    }),
    route({
      ...shared,
      method: 'POST',
      path: `${PATH}/{name}/cancel`,
      summary: 'End the run that is under way; it is not tried again',
      codes: ['job_not_found', 'job_not_running', 'idempotency_key_conflict', 'header_invalid'],
      success: { status: 200, description: 'The job; `run` is the id of the run.', answer: jobWritten },
      handle: async ({ caller, params }) =>
        orderReply(await cancelJob(admission, caller, params['name'] ?? '')),
    }),
    route({
      ...shared,
      method: 'DELETE',
      path: `${PATH}/{name}`,
      summary: 'Delete a job with its runs and their logs; a run under way is ended',
      codes: ['job_not_found', 'revision_mismatch', 'header_invalid'],
      success: { status: 200, description: 'Deleted; the last stored record.', answer: jobWritten },
      handle: (request) => remove(admission, request),
    }),
  ];
}

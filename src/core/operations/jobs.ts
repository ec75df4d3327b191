import { job, jobWritten } from '../contract/answers/job.ts';
import { listOf } from '../contract/answers/field-shapes.ts';
import { jobBody, jobChange } from '../contract/job-body.ts';
import { JOB_LOG_QUERY, LIST_QUERY, WRITE_QUERY } from './queries.ts';
import { JOB_CODES } from './workload-codes.ts';
import { operation } from './operation.ts';

export const JOBS = {
  list: operation({
    method: 'GET',
    path: '/api/v1/jobs',
    summary: 'List the jobs of the tenant, by name, each with its newest run',
    tag: 'Jobs',
    permission: 'read',
    tenant: 'credential',
    query: LIST_QUERY,
    codes: [],
    success: {
      status: 200,
      description: 'Jobs; the next page is in the Link header.',
      answer: listOf(job),
    },
  }),
  read: operation({
    method: 'GET',
    path: '/api/v1/jobs/{name}',
    summary: 'Read one job with its runs, newest first',
    tag: 'Jobs',
    permission: 'read',
    tenant: 'credential',
    codes: ['job_not_found'],
    success: { status: 200, description: 'The stored job with its status.', answer: job },
  }),
  logs: operation({
    method: 'GET',
    path: '/api/v1/jobs/{name}/logs',
    summary: 'What a run printed: live while it runs, the kept end of it afterwards',
    tag: 'Jobs',
    permission: 'read',
    tenant: 'credential',
    query: JOB_LOG_QUERY,
    codes: ['job_not_found', 'job_run_not_found', 'agent_unreachable', 'query_parameter_invalid'],
    lasts: 'always',
    success: {
      status: 200,
      description: 'Lines as text; with follow=true, server-sent events.',
      media: ['text/plain', 'text/event-stream'],
    },
  }),
  create: operation({
    method: 'POST',
    path: '/api/v1/jobs',
    summary: 'Create a job: it runs once, or at the times of its schedule',
    tag: 'Jobs',
    permission: 'deploy',
    tenant: 'credential',
    query: WRITE_QUERY,
    body: { shape: jobBody, yaml: true, unchecked: true },
    codes: JOB_CODES.create,
    success: {
      status: 201,
      description: 'Stored; what the server changed is announced.',
      answer: jobWritten,
    },
  }),
  update: operation({
    method: 'PUT',
    path: '/api/v1/jobs/{name}',
    summary: 'Update a job: each field that is sent replaces the stored one whole; its runs stay',
    tag: 'Jobs',
    permission: 'deploy',
    tenant: 'credential',
    query: WRITE_QUERY,
    body: { shape: jobChange, yaml: true, unchecked: true },
    codes: JOB_CODES.update,
    success: {
      status: 200,
      description:
        'Stored; what was lost is listed in removed. The next run takes it, one that is under way goes on as it was begun.',
      answer: jobWritten,
    },
  }),
  run: operation({
    method: 'POST',
    path: '/api/v1/jobs/{name}/run',
    summary: 'Run a job now, beside its schedule if it has one',
    tag: 'Jobs',
    permission: 'deploy',
    tenant: 'credential',
    codes: ['job_not_found', 'job_already_running', 'idempotency_key_conflict', 'header_invalid'],
    success: { status: 200, description: 'The job; `run` is the id of the new run.', answer: jobWritten },
  }),
  cancel: operation({
    method: 'POST',
    path: '/api/v1/jobs/{name}/cancel',
    summary: 'End the run that is under way; it is not tried again',
    tag: 'Jobs',
    permission: 'deploy',
    tenant: 'credential',
    codes: ['job_not_found', 'job_not_running', 'idempotency_key_conflict', 'header_invalid'],
    success: { status: 200, description: 'The job; `run` is the id of the run.', answer: jobWritten },
  }),
  remove: operation({
    method: 'DELETE',
    path: '/api/v1/jobs/{name}',
    summary: 'Delete a job with its runs and their logs; a run under way is ended',
    tag: 'Jobs',
    permission: 'deploy',
    tenant: 'credential',
    codes: ['job_not_found', 'revision_mismatch', 'header_invalid'],
    success: { status: 200, description: 'Deleted; the last stored record.', answer: jobWritten },
  }),
};

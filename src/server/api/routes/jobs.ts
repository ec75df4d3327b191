import { JOBS } from '../../../core/operations/jobs.ts';
import { isRejection } from '../../../core/rejections/reject.ts';
import type { Admission } from '../../writes/admission.ts';
import { createJob } from '../../writes/jobs/create-job.ts';
import { jobRejections } from '../../writes/jobs/job-draft.ts';
import { updateJob } from '../../writes/jobs/update-job.ts';
import { parseIfMatch } from '../../writes/if-match.ts';
import { cancelJob, deleteJob, runJob } from '../../writes/jobs/job-orders.ts';
import { findJob, jobNotFound, storedJobView } from '../../reads/job.ts';
import type { Dispatch } from '../../agents/dispatch.ts';
import { pageReply, pageRequest, writeOptions } from '../paging.ts';
import { type ReplyTo, type RequestFor, type Route, serve } from '../route.ts';
import { updateOptions } from './deployments.ts';
import { fullReply, orderReply, writeReply } from '../write-reply.ts';
import { jobLogs } from './job-logs.ts';

function list(
  admission: Admission,
  { store, query }: RequestFor<typeof JOBS.list>,
): ReplyTo<typeof JOBS.list> {
  const page = pageRequest(query);
  if (isRejection(page)) return page;
  const read = store.list('jobs', { ...page, limit: page.limit + 1 });
  return pageReply(
    page,
    JOBS.list.path,
    query,
    read,
    ({ id }) => id,
    (stored) => storedJobView(admission, store, stored, 1),
  );
}

function read(
  admission: Admission,
  { store, params }: RequestFor<typeof JOBS.read>,
): ReplyTo<typeof JOBS.read> {
  const name = params.name;
  const stored = findJob(store, name);
  if (stored === undefined) return jobNotFound(name);
  return {
    status: 200,
    body: storedJobView(admission, store, stored),
    headers: { etag: `"${stored.modRevision}"` },
  };
}

async function create(
  admission: Admission,
  request: RequestFor<typeof JOBS.create>,
): Promise<ReplyTo<typeof JOBS.create>> {
  const { caller, body, query } = request;
  const options = writeOptions(query);
  if (isRejection(options)) return options;
  return fullReply(
    request,
    () => createJob(admission, caller, body, options),
    (first) => jobRejections(admission, caller, body, first),
  );
}

async function update(
  admission: Admission,
  request: RequestFor<typeof JOBS.update>,
): Promise<ReplyTo<typeof JOBS.update>> {
  const options = updateOptions(request);
  if (isRejection(options)) return options;
  const { caller, body, params } = request;
  return fullReply(
    request,
    () => updateJob(admission, caller, params.name, body, options),
    async (first) => {
      const stored = findJob(caller.tenant, params.name);
      // Nothing is known of what the fields that are not sent would be.
      return stored === undefined ? [first] : jobRejections(admission, caller, body, first, stored);
    },
  );
}

async function remove(
  admission: Admission,
  { headers, caller, params }: RequestFor<typeof JOBS.remove>,
): Promise<ReplyTo<typeof JOBS.remove>> {
  const ifMatch = parseIfMatch(headers['if-match']);
  if (isRejection(ifMatch)) return ifMatch;
  return writeReply(await deleteJob(admission, caller, params.name, ifMatch));
}

function readRoutes(admission: Admission, dispatch: Dispatch): Route[] {
  return [
    serve(JOBS.list, (request) => list(admission, request)),
    serve(JOBS.read, (request) => read(admission, request)),
    serve(JOBS.logs, (request) => jobLogs(dispatch, request)),
  ];
}

export function jobRoutes(admission: Admission, dispatch: Dispatch): Route[] {
  return [
    ...readRoutes(admission, dispatch),
    serve(JOBS.create, (request) => create(admission, request)),
    serve(JOBS.update, (request) => update(admission, request)),
    serve(JOBS.run, async ({ caller, params }) => orderReply(await runJob(admission, caller, params.name))),
    serve(JOBS.cancel, async ({ caller, params }) =>
      orderReply(await cancelJob(admission, caller, params.name)),
    ),
    serve(JOBS.remove, (request) => remove(admission, request)),
  ];
}

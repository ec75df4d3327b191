import { AGENT_LOST } from '../../../core/contract/log-end.ts';
import type { JOBS } from '../../../core/operations/jobs.ts';
import { setTimeout as pause } from 'node:timers/promises';
import { jobLogSegments, type JobLog, type JobRecord } from '../../../core/model/job.ts';
import { isFinished, type StoredRun } from '../../../core/model/job-run.ts';
import { type JobName, jobOwner } from '../../../core/model/owner.ts';
import type { InstanceRecord } from '../../../core/model/instance.ts';
import { received } from '../../../core/rejections/redaction.ts';
import { isRejection, reject } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import { findJob, jobNotFound, runUnderWay } from '../../reads/job.ts';
import type { Dispatch } from '../../agents/dispatch.ts';
import type { Stored } from '../../store/collection.ts';
import { idOf, prefixOf } from '../../store/record-ids.ts';
import type { TenantStore } from '../../store/store.ts';
import { integerParameter } from '../paging.ts';
import type { ReplyTo, RequestFor, StreamReply } from '../route.ts';
import { logRequest, streamLogs } from './instance-logs.ts';

interface Chosen {
  readonly run: StoredRun;
  readonly attempt: number;
}

function runNotFound(field: 'run' | 'attempt', value: string): Rejection {
  return reject('job_run_not_found', {
    field,
    received: received(value),
    why: `The job has no such ${field}.`,
  });
}

/** Undefined: nothing has run yet. */
function choose(
  store: TenantStore,
  { id, record }: Stored<JobRecord>,
  query: RequestFor<typeof JOBS.logs>['query'],
): Chosen | Rejection | undefined {
  const status = store.get('job-status', id)?.record;
  const runs = status?.jobId === record.id ? status.runs : [];
  const wanted = query.run;
  const run = wanted === undefined ? runs.at(-1) : runs.find((one) => one.id === wanted);
  if (wanted !== undefined && run === undefined) return runNotFound('run', wanted);
  const attempt = integerParameter(query, 'attempt', 1, 99);
  if (isRejection(attempt)) return attempt;
  if (attempt !== undefined && attempt > (run?.attempts ?? 0)) return runNotFound('attempt', String(attempt));
  if (run === undefined || run.attempts === 0) return undefined;
  return { run, attempt: attempt ?? run.attempts };
}

/** The container of an attempt, while it is there. */
function instanceOf(store: TenantStore, job: JobName, { run, attempt }: Chosen): InstanceRecord | undefined {
  const owner = prefixOf('instances', jobOwner(job));
  return store
    .collection('instances')
    .listUnder(owner)
    .find(
      ({ id, record }) =>
        record.once?.runId === run.id &&
        record.once.attempt === attempt &&
        store.get('observations', id)?.record.containerId !== undefined,
    )?.record;
}

function hasEnded(store: TenantStore, instance: InstanceRecord | undefined): boolean {
  if (instance === undefined) return false;
  return (
    store.get('observations', idOf('observations', instance.deployment, instance.id))?.record.phase ===
    'exited'
  );
}

const LOOK_MS = 100;
/** Then it is asked of the node: keeping it takes long there, or fails. */
const KEPT_WITHIN_MS = 2_000;

/** What has ended is kept within moments, and its container is removed then: a reader at the node would come too late. */
async function keptSoon(
  find: () => Promise<JobLog | undefined>,
  ended: () => boolean,
): Promise<JobLog | undefined> {
  for (let waitedMs = 0; ended() && waitedMs < KEPT_WITHIN_MS; waitedMs += LOOK_MS) {
    await pause(LOOK_MS);
    const kept = await find();
    if (kept !== undefined) return kept;
  }
  return undefined;
}

function keptLines({ text, dropped, problem }: JobLog, tail: number): readonly string[] {
  const lines = text.split('\n');
  if (lines.at(-1) === '') lines.pop();
  const cut = dropped > 0 ? [`(${dropped} bytes before this were not kept)`] : [];
  const gap = problem === undefined ? [] : [`(the log is not whole: ${problem})`];
  return tail === 0 ? [] : [...cut, ...lines, ...gap].slice(-tail);
}

function send(lines: readonly string[], follow: boolean, run: string, ended: object = {}): StreamReply {
  const frame = (event: string, data: unknown): string =>
    `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
  return {
    status: 200,
    contentType: follow ? 'text/event-stream; charset=utf-8' : 'text/plain; charset=utf-8',
    stream: async (sink) => {
      for (const line of lines) {
        if (!sink.write(follow ? frame('log', { run, line }) : `${line}\n`)) await sink.drained();
        if (sink.signal.aborted) return;
      }
      if (follow) sink.write(frame('end', ended));
    },
  };
}

/**
 * What is kept is answered from the store; an attempt under way, or not fetched yet, from its agent. Undefined: nothing was
 * printed yet, but a run is under way.
 */
async function logsNow(
  dispatch: Dispatch,
  request: RequestFor<typeof JOBS.logs>,
): Promise<StreamReply | Rejection | undefined> {
  const { store, params, query } = request;
  const name = params.name;
  const job = findJob(store, name);
  if (job === undefined) return jobNotFound(name);
  const wanted = logRequest(query);
  if (isRejection(wanted)) return wanted;
  const chosen = choose(store, job, query);
  const waits = runUnderWay(store, job) !== undefined;
  if (chosen === undefined) return waits ? undefined : send([], wanted.follow, '');
  if (isRejection(chosen)) return chosen;
  const { run, attempt } = chosen;
  const find = async (): Promise<JobLog | undefined> =>
    (await store.getCold('job-logs', idOf('job-logs', ...jobLogSegments(name, run.id, attempt))))?.record;
  const kept =
    (await find()) ?? (await keptSoon(find, () => hasEnded(store, instanceOf(store, name, chosen))));
  if (kept !== undefined) return send(keptLines(kept, wanted.tail), wanted.follow, run.id);
  const instance = instanceOf(store, name, chosen);
  if (instance !== undefined) return streamLogs(dispatch, request, [instance]);
  return waits && !isFinished(run) ? undefined : send([], wanted.follow, run.id);
}

function endOf({ code }: Rejection): StreamReply {
  return send([], true, '', code === 'agent_unreachable' ? AGENT_LOST : {});
}

/** A follower waits for the container of the run under way; a reader that does not follow gets an empty answer. */
export async function jobLogs(
  dispatch: Dispatch,
  request: RequestFor<typeof JOBS.logs>,
): Promise<ReplyTo<typeof JOBS.logs>> {
  const now = await logsNow(dispatch, request);
  if (now !== undefined) return now;
  const empty = send([], request.query.follow === 'true', '');
  if (request.query.follow !== 'true') return empty;
  const stream: StreamReply['stream'] = async (sink) => {
    while (!sink.signal.aborted) {
      const next = await logsNow(dispatch, request);
      // A job that is deleted, or an agent that goes away, meanwhile: the answer has begun, so it ends.
      if (next !== undefined) return await ('stream' in next ? next : endOf(next)).stream(sink);
      await pause(LOOK_MS, undefined, { signal: sink.signal }).catch(() => undefined);
    }
  };
  return { ...empty, stream };
}

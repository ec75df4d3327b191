import type { INSTANCES } from '../../../core/operations/instances.ts';
import type { DeploymentRecord } from '../../../core/model/deployment.ts';
import type { FailureLog, KeptFailure } from '../../../core/model/kept-failure.ts';
import type { DeploymentName } from '../../../core/model/owner.ts';
import { isRejection } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import { asFailure, failuresOf } from '../../reads/failure.ts';
import { findDeployment } from '../../reads/deployment.ts';
import { deploymentNotFound } from '../../writes/deployments/deployment-write.ts';
import { idOf } from '../../store/record-ids.ts';
import type { TenantStore } from '../../store/store.ts';
import { booleanParameter, invalidParameter, pageReply, pageRequest } from '../paging.ts';
import type { ReplyTo, RequestFor } from '../route.ts';
import { instanceNotFound } from '../../reads/instance.ts';
import { logRequest } from './instance-logs.ts';

type LogsRequest = RequestFor<typeof INSTANCES.logs>;

export async function failures({
  store,
  params,
  query,
}: RequestFor<typeof INSTANCES.failures>): Promise<ReplyTo<typeof INSTANCES.failures>> {
  const withOutput = booleanParameter(query, 'output');
  if (isRejection(withOutput)) return withOutput;
  const { stored, field } = findDeployment(store, params.name);
  if (stored === undefined) return deploymentNotFound(field, params.name);
  const page = pageRequest(query);
  if (isRejection(page)) return page;
  const { name } = stored.record.spec;
  const read = olderThan(page.after, failuresOf(store, stored.record).toReversed())
    .slice(0, page.limit + 1)
    .map(async (failure) => {
      const { key, ...one } = failure;
      if (!withOutput) return { id: failureId(failure), one };
      const { lines = [], ...more } = (await logOf(store, name, one.instance, key)) ?? {};
      return { id: failureId(failure), one: { ...one, output: [...lines], ...more } };
    });
  return pageReply(
    page,
    `/api/v1/deployments/${name}/failures`,
    query,
    await Promise.all(read),
    ({ id }) => id,
    ({ one }) => asFailure(one),
  );
}

function failureId({ at, instance, key }: KeptFailure): string {
  return `${at} ${instance} ${key}`;
}

/** Behind the one that the last page ended with, or, when it is gone meanwhile, what is not newer. */
function olderThan(after: string | undefined, newestFirst: readonly KeptFailure[]): readonly KeptFailure[] {
  if (after === undefined) return newestFirst;
  const last = newestFirst.findIndex((one) => failureId(one) === after);
  return last === -1 ? newestFirst.filter((one) => failureId(one) < after) : newestFirst.slice(last + 1);
}

async function logOf(
  store: TenantStore,
  name: DeploymentName,
  instance: string,
  key: string,
): Promise<FailureLog | undefined> {
  return (await store.getCold('failure-logs', idOf('failure-logs', name, instance, key)))?.record;
}

/** The newest of each instance, oldest first: what came before it says the same. */
function newestOfEach(kept: readonly KeptFailure[]): readonly KeptFailure[] {
  return kept.filter((one, at) => !kept.slice(at + 1).some((later) => later.instance === one.instance));
}

function chosen(
  store: TenantStore,
  record: DeploymentRecord,
  instance: string | undefined,
  sinceSeconds: number | undefined,
): readonly KeptFailure[] | Rejection {
  const kept = failuresOf(store, record);
  if (instance !== undefined) {
    const isThere = store.get('instances', idOf('instances', record.spec.name, instance)) !== undefined;
    if (!isThere && !kept.some((one) => one.instance === instance)) return instanceNotFound(instance);
  }
  const oldestMs = sinceSeconds === undefined ? -Infinity : Date.now() - sinceSeconds * 1000;
  return newestOfEach(kept).filter(
    (one) => (instance === undefined || one.instance === instance) && Date.parse(one.at) >= oldestMs,
  );
}

/** Of instances that failed, from the store: their containers may be gone, and their nodes too. */
export async function previousLogs(
  { store, query }: LogsRequest,
  record: DeploymentRecord,
): Promise<ReplyTo<typeof INSTANCES.logs>> {
  const wanted = logRequest(query);
  if (isRejection(wanted)) return wanted;
  if (wanted.follow)
    return invalidParameter('follow', 'true', 'no follow with previous, which has ended and grows no more');
  const found = chosen(store, record, query.instance, wanted.sinceSeconds);
  if (isRejection(found)) return found;
  const { name } = record.spec;
  const logs = await Promise.all(
    found.map(async ({ instance, key }) => ({
      instance,
      log: await logOf(store, name, instance, key),
    })),
  );
  const texts = logs.map(({ instance, log }) =>
    text(log, found.length > 1 ? `${instance} | ` : '', wanted.tail, wanted.timestamps),
  );
  return {
    status: 200,
    contentType: 'text/plain; charset=utf-8',
    stream: async (sink) => {
      for (const one of texts) if (!sink.write(one)) await sink.drained();
    },
  };
}

function text(log: FailureLog | undefined, prefix: string, tail: number, timestamps: boolean): string {
  const { lines = [], dropped = 0, health } = log ?? {};
  const before = dropped > 0 ? [`(${dropped} lines before these were not kept)`] : [];
  const check = health === undefined ? [] : health.split('\n').map((line) => `(health check) ${line}`);
  const printed = lines.map(({ at, text: line }) =>
    timestamps && at !== undefined ? `${at} ${line}` : line,
  );
  const shown = tail === 0 ? [] : [...before, ...printed, ...check].slice(-tail);
  return shown.map((line) => `${prefix}${line}\n`).join('');
}

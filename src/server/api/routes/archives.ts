import { exactly } from '../../../core/schema/shape.ts';
import type { AnswerOf } from '../../../core/operations/operation.ts';
import { DEPLOYMENTS } from '../../../core/operations/deployments.ts';
import { ARCHIVES } from '../../../core/operations/history.ts';
import { fieldDifferences } from '../../../core/contract/diff.ts';
import { isRejection } from '../../../core/rejections/reject.ts';
import type { Admission } from '../../writes/admission.ts';
import {
  archiveVersionNotFound,
  findArchiveVersion,
  rollbackDeployment,
} from '../../writes/deployments/rollback-deployment.ts';
import { invalidParameter } from '../paging.ts';
import { type ReplyTo, type RequestFor, type Route, serve } from '../route.ts';
import { writeReply } from '../write-reply.ts';
import { updateOptions } from './deployments.ts';

const asVersion = exactly<AnswerOf<typeof ARCHIVES.read>>();
const asDifference = exactly<AnswerOf<typeof ARCHIVES.compare>>();

function versionNumber(text: string): number {
  return /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
}

async function oneVersion({
  store,
  params,
}: RequestFor<typeof ARCHIVES.read>): Promise<ReplyTo<typeof ARCHIVES.read>> {
  const { version } = params;
  const archived = await findArchiveVersion(store, params.name, versionNumber(version));
  return archived === undefined
    ? archiveVersionNotFound('version', version)
    : { status: 200, body: asVersion(archived) };
}

async function difference({
  store,
  params,
  query,
}: RequestFor<typeof ARCHIVES.compare>): Promise<ReplyTo<typeof ARCHIVES.compare>> {
  const { name } = params;
  const end = async (field: 'from' | 'to') => {
    const text = query[field] ?? '';
    const version = versionNumber(text);
    return Number.isNaN(version)
      ? invalidParameter(field, text, 'a version listed by GET /api/v1/archives/deployments/{name}')
      : ((await findArchiveVersion(store, name, version)) ?? archiveVersionNotFound(field, text));
  };
  const older = await end('from');
  if (isRejection(older)) return older;
  const newer = await end('to');
  if (isRejection(newer)) return newer;
  const { spec: before, ...from } = older;
  const { spec: after, ...to } = newer;
  return {
    status: 200,
    body: asDifference({ name, from, to, differences: fieldDifferences(before, after) }),
  };
}

export function archiveRoutes(admission: Admission): Route[] {
  return [
    serve(DEPLOYMENTS.rollback, async (request) => {
      const options = updateOptions(request);
      if (isRejection(options)) return options;
      return writeReply(
        await rollbackDeployment(admission, request.caller, request.params.name, request.body, options),
      );
    }),
    serve(ARCHIVES.read, oneVersion),
    serve(ARCHIVES.compare, difference),
  ];
}

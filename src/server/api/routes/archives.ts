import type { rollbackBody } from '../../../core/contract/order-bodies.ts';
import { DEPLOYMENTS } from '../../../core/operations/deployments.ts';
import { ARCHIVES } from '../../../core/operations/history.ts';
import { fieldDifferences } from '../../../core/contract/diff.ts';
import type { Draft } from '../../../core/contract/shape.ts';
import { isRejection } from '../../../core/rejections/reject.ts';
import type { Admission } from '../../admission/admission.ts';
import {
  archiveVersionNotFound,
  findArchiveVersion,
  rollbackDeployment,
} from '../../admission/rollback-deployment.ts';
import { invalidParameter } from '../paging.ts';
import { type Reply, type Route, type RouteRequest, serve } from '../route.ts';
import { writeReply } from '../write-reply.ts';
import { updateOptions } from './deployments.ts';

function versionNumber(text: string): number {
  return /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
}

async function oneVersion({ store, params }: RouteRequest): Promise<Reply> {
  const version = params['version'] ?? '';
  const archived = await findArchiveVersion(store, params['name'] ?? '', versionNumber(version));
  return archived === undefined
    ? archiveVersionNotFound('version', version)
    : { status: 200, body: archived };
}

async function difference({ store, params, query }: RouteRequest): Promise<Reply> {
  const name = params['name'] ?? '';
  const ends = [];
  for (const field of ['from', 'to'] as const) {
    const text = query[field] ?? '';
    const version = versionNumber(text);
    if (Number.isNaN(version)) {
      return invalidParameter(field, text, 'a version listed by GET /api/v1/archives/deployments/{name}');
    }
    const archived = await findArchiveVersion(store, name, version);
    if (archived === undefined) return archiveVersionNotFound(field, text);
    ends.push(archived);
  }
  const [from, to] = ends.map(({ spec: _spec, ...heading }) => heading);
  return {
    status: 200,
    body: { name, from, to, differences: fieldDifferences(ends[0]?.spec, ends[1]?.spec) },
  };
}

export function archiveRoutes(admission: Admission): Route[] {
  return [
    serve(DEPLOYMENTS.rollback, async (request) => {
      const options = updateOptions(request);
      if (isRejection(options)) return options;
      const body = request.body as Draft<typeof rollbackBody>;
      return writeReply(
        await rollbackDeployment(admission, request.caller, request.params['name'] ?? '', body, options),
      );
    }),
    serve(ARCHIVES.read, oneVersion),
    serve(ARCHIVES.compare, difference),
  ];
}

import { deploymentWritten } from '../../../core/contract/answers/deployment.ts';
import { archive, archiveDifference } from '../../../core/contract/answers/history.ts';
import { fieldDifferences } from '../../../core/contract/diff.ts';
import type { Draft } from '../../../core/contract/shape.ts';
import { isRejection } from '../../../core/rejections/reject.ts';
import type { Admission } from '../../admission/admission.ts';
import {
  archiveVersionNotFound,
  findArchiveVersion,
  rollbackBody,
  rollbackDeployment,
} from '../../admission/rollback-deployment.ts';
import { invalidParameter } from '../paging.ts';
import { type Reply, type Route, type RouteRequest, route } from '../route.ts';
import { writeReply } from '../write-reply.ts';
import { DEPLOYMENT_CODES } from './deployment-codes.ts';
import { DRY_RUN, updateOptions } from './deployments.ts';

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
  const version = { type: 'integer', minimum: 1 } as const;
  return [
    route({
      method: 'POST',
      path: '/api/v1/deployments/{name}/rollback',
      summary: 'Store the spec of an archived version again; every rule is asked anew',
      tag: 'Deployments',
      permission: 'deploy',
      tenant: 'credential',
      query: DRY_RUN,
      body: { shape: rollbackBody },
      codes: [...DEPLOYMENT_CODES.update, 'archive_version_not_found', 'idempotency_key_conflict'],
      success: {
        status: 200,
        description: 'Stored as a new version; what was lost is listed in removed.',
        answer: deploymentWritten,
      },
      handle: async (request) => {
        const options = updateOptions(request);
        if (isRejection(options)) return options;
        const body = request.body as Draft<typeof rollbackBody>;
        return writeReply(
          await rollbackDeployment(admission, request.caller, request.params['name'] ?? '', body, options),
        );
      },
    }),
    route({
      method: 'GET',
      path: '/api/v1/archives/deployments/{name}/{version}',
      summary: 'One version of a deployment, also after its deletion',
      tag: 'Archives',
      permission: 'read',
      tenant: 'credential',
      codes: ['archive_version_not_found'],
      success: {
        status: 200,
        description: 'The version.',
        answer: archive,
      },
      handle: oneVersion,
    }),
    route({
      method: 'GET',
      path: '/api/v1/archives/deployments/{name}/diff',
      summary: 'What differs between two versions, field by field',
      tag: 'Archives',
      permission: 'read',
      tenant: 'credential',
      query: {
        from: { description: 'The older version.', schema: version, required: true },
        to: { description: 'The newer version.', schema: version, required: true },
      },
      codes: ['archive_version_not_found'],
      success: {
        status: 200,
        description: 'Differences; absent is null, lists are compared whole.',
        answer: archiveDifference,
      },
      handle: difference,
    }),
  ];
}

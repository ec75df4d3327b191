import { deployment, deploymentWritten } from '../../../core/contract/answers/deployment.ts';
import { explanation } from '../../../core/contract/answers/placement.ts';
import { listOf } from '../../../core/contract/answers/words.ts';
import { deploymentBody } from '../../../core/contract/deployment-body.ts';
import { isRejection } from '../../../core/rejections/reject.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import type { Admission } from '../../admission/admission.ts';
import { createDeployment } from '../../admission/create-deployment.ts';
import { deleteDeployment } from '../../admission/delete-deployment.ts';
import { findDeployment, storedDeploymentView } from '../../admission/deployment-stored.ts';
import { deploymentNotFound } from '../../admission/deployment-write.ts';
import { parseIfMatch } from '../../admission/if-match.ts';
import { type UpdateOptions, updateDeployment } from '../../admission/update-deployment.ts';
import { explainDeployment } from '../../placement/explanation.ts';
import { booleanParameter, pageReply, pageRequest } from '../paging.ts';
import { LIST_QUERY, type Reply, type Route, type RouteRequest, route } from '../route.ts';
import { writeReply } from '../write-reply.ts';
import { DEPLOYMENT_CODES } from './deployment-codes.ts';

export const DRY_RUN = {
  dryRun: {
    description: 'Run every rule and the scheduler, store nothing, and answer with the plan.',
    schema: { type: 'boolean', default: false },
  },
} as const;

export function updateOptions(request: RouteRequest): UpdateOptions | Rejection {
  const dryRun = booleanParameter(request.query, 'dryRun');
  if (isRejection(dryRun)) return dryRun;
  const ifMatch = parseIfMatch(request.headers['if-match']);
  if (isRejection(ifMatch)) return ifMatch;
  return { dryRun, ...(ifMatch === undefined ? {} : { ifMatch }) };
}

async function update(admission: Admission, request: RouteRequest, name: string | undefined): Promise<Reply> {
  const options = updateOptions(request);
  if (isRejection(options)) return options;
  return writeReply(await updateDeployment(admission, request.caller, name, request.body, options));
}

export function deploymentRoutes(admission: Admission): Route[] {
  const body = { shape: deploymentBody, yaml: true, unchecked: true } as const;
  return [
    route({
      method: 'GET',
      path: '/api/v1/deployments',
      summary: 'List the deployments of the tenant, by name',
      tag: 'Deployments',
      permission: 'read',
      tenant: 'credential',
      query: LIST_QUERY,
      codes: [],
      success: {
        status: 200,
        description: 'Deployments; the next page is in the Link header.',
        answer: listOf(deployment),
      },
      handle: ({ store, query }) => {
        const page = pageRequest(query);
        if (isRejection(page)) return page;
        const read = store.list('deployments', { ...page, limit: page.limit + 1 });
        return pageReply(
          page,
          '/api/v1/deployments',
          query,
          read,
          ({ id }) => id,
          (stored) => storedDeploymentView(admission, store, stored),
        );
      },
    }),
    route({
      method: 'POST',
      path: '/api/v1/deployments',
      summary: 'Create a deployment',
      tag: 'Deployments',
      permission: 'deploy',
      tenant: 'credential',
      query: DRY_RUN,
      body,
      codes: DEPLOYMENT_CODES.create,
      success: {
        status: 201,
        description: 'Stored; what the server changed is announced.',
        answer: deploymentWritten,
      },
      handle: async (request) => {
        const dryRun = booleanParameter(request.query, 'dryRun');
        if (isRejection(dryRun)) return dryRun;
        return writeReply(await createDeployment(admission, request.caller, request.body, { dryRun }));
      },
    }),
    route({
      method: 'GET',
      path: '/api/v1/deployments/{name}',
      summary: 'Read one deployment, by name or typed id',
      tag: 'Deployments',
      permission: 'read',
      tenant: 'credential',
      codes: ['deployment_not_found'],
      success: {
        status: 200,
        description: 'The stored deployment with its status.',
        answer: deployment,
      },
      handle: ({ store, params }) => {
        const name = params['name'] ?? '';
        const { stored, field } = findDeployment(store, name);
        if (stored === undefined) return deploymentNotFound(field, name);
        return {
          status: 200,
          body: storedDeploymentView(admission, store, stored),
          headers: { etag: `"${stored.modRevision}"` },
        };
      },
    }),
    route({
      method: 'PUT',
      path: '/api/v1/deployments/{name}',
      summary: 'Update an existing deployment: each field that is sent replaces the stored one whole',
      tag: 'Deployments',
      permission: 'deploy',
      tenant: 'credential',
      query: DRY_RUN,
      body,
      codes: DEPLOYMENT_CODES.update,
      success: {
        status: 200,
        description: 'Stored; what was lost is listed in removed.',
        answer: deploymentWritten,
      },
      handle: (request) => update(admission, request, request.params['name']),
    }),
    route({
      method: 'PUT',
      path: '/api/v1/deployments',
      summary: 'Update an existing deployment, named in the body',
      tag: 'Deployments',
      permission: 'deploy',
      tenant: 'credential',
      query: DRY_RUN,
      body,
      codes: DEPLOYMENT_CODES.update,
      success: {
        status: 200,
        description: 'Stored; what was lost is listed in removed.',
        answer: deploymentWritten,
      },
      handle: (request) => update(admission, request, undefined),
    }),
    route({
      method: 'GET',
      path: '/api/v1/deployments/{name}/explain',
      summary: 'Placement, node by node and filter by filter',
      tag: 'Deployments',
      permission: 'read',
      tenant: 'credential',
      codes: ['deployment_not_found'],
      success: {
        status: 200,
        description:
          'Every node with every filter: what is required, what the node reports, and why it fits or not.',
        answer: explanation,
      },
      handle: ({ store, params }) => {
        const name = params['name'] ?? '';
        const { stored, field } = findDeployment(store, name);
        if (stored === undefined) return deploymentNotFound(field, name);
        return { status: 200, body: explainDeployment(admission.clusters, store, stored.record) };
      },
    }),
    route({
      method: 'DELETE',
      path: '/api/v1/deployments/{name}',
      summary: 'Delete a deployment; its archive stays',
      tag: 'Deployments',
      permission: 'deploy',
      tenant: 'credential',
      codes: ['deployment_not_found', 'revision_mismatch', 'header_invalid'],
      success: {
        status: 200,
        description: 'Deleted; the last stored record.',
        answer: deploymentWritten,
      },
      handle: async (request) => {
        const ifMatch = parseIfMatch(request.headers['if-match']);
        if (isRejection(ifMatch)) return ifMatch;
        return writeReply(
          await deleteDeployment(admission, request.caller, request.params['name'] ?? '', ifMatch),
        );
      },
    }),
  ];
}

import { deployment, deploymentWritten } from '../contract/answers/deployment.ts';
import { explanation } from '../contract/answers/placement.ts';
import { listOf } from '../contract/answers/field-shapes.ts';
import { deploymentBody, deploymentChange, namedDeploymentChange } from '../contract/deployment-body.ts';
import { restartBody, rollbackBody } from '../contract/order-bodies.ts';
import { NAME, NODE_NAME } from '../contract/forms.ts';
import { DRY_RUN, LIST_QUERY, PLAN, WRITE_QUERY } from './queries.ts';
import { DEPLOYMENT_CODES } from './workload-codes.ts';
import { operation } from './operation.ts';

const described = { yaml: true, unchecked: true } as const;

export const DEPLOYMENTS = {
  list: operation({
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
  }),
  create: operation({
    method: 'POST',
    path: '/api/v1/deployments',
    summary: 'Create a deployment',
    tag: 'Deployments',
    permission: 'deploy',
    tenant: 'credential',
    query: WRITE_QUERY,
    body: { ...described, shape: deploymentBody },
    codes: DEPLOYMENT_CODES.create,
    success: {
      status: 201,
      description: 'Stored; what the server changed is announced.',
      answer: deploymentWritten,
    },
  }),
  read: operation({
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
  }),
  update: operation({
    method: 'PUT',
    path: '/api/v1/deployments/{name}',
    summary: 'Update an existing deployment: each field that is sent replaces the stored one whole',
    tag: 'Deployments',
    permission: 'deploy',
    tenant: 'credential',
    query: WRITE_QUERY,
    body: { ...described, shape: deploymentChange },
    codes: DEPLOYMENT_CODES.update,
    success: {
      status: 200,
      description: 'Stored; what was lost is listed in removed.',
      answer: deploymentWritten,
    },
  }),
  updateNamed: operation({
    method: 'PUT',
    path: '/api/v1/deployments',
    summary: 'Update an existing deployment, named in the body',
    tag: 'Deployments',
    permission: 'deploy',
    tenant: 'credential',
    query: WRITE_QUERY,
    body: { ...described, shape: namedDeploymentChange },
    codes: DEPLOYMENT_CODES.update,
    success: {
      status: 200,
      description: 'Stored; what was lost is listed in removed.',
      answer: deploymentWritten,
    },
  }),
  explain: operation({
    method: 'GET',
    path: '/api/v1/deployments/{name}/explain',
    summary: 'Placement, node by node and filter by filter',
    tag: 'Deployments',
    permission: 'read',
    tenant: 'credential',
    query: {
      ...LIST_QUERY,
      node: { description: 'Only this node.', schema: { type: 'string', ...NODE_NAME } },
      failed: {
        description: 'Only nodes that refuse.',
        schema: { type: 'boolean', default: false },
      },
      from: {
        description:
          'A deployment, a job, or ingress: says also whether it may connect to this one, and on which way.',
        schema: { type: 'string', ...NAME },
      },
    },
    codes: ['deployment_not_found', 'access_source_unknown'],
    success: {
      status: 200,
      description:
        'What keeps how many nodes, and a page of nodes, by name, with every filter: what is required, what the node reports, and why it fits or not. A page is about 50 kB at most; its instances are those on its nodes.',
      answer: explanation,
    },
  }),
  remove: operation({
    method: 'DELETE',
    path: '/api/v1/deployments/{name}',
    summary: 'Delete a deployment; its archive stays',
    tag: 'Deployments',
    permission: 'deploy',
    tenant: 'credential',
    query: { ...DRY_RUN, ...PLAN },
    codes: ['deployment_not_found', 'revision_mismatch', 'plan_outdated', 'header_invalid'],
    success: {
      status: 200,
      description: 'Deleted; the last stored record.',
      answer: deploymentWritten,
    },
  }),
  restart: operation({
    method: 'POST',
    path: '/api/v1/deployments/{name}/restart',
    summary: 'Replace the instances by others of the same spec, by the rule of updates',
    tag: 'Deployments',
    permission: 'deploy',
    tenant: 'credential',
    body: { shape: restartBody, optional: true },
    codes: ['deployment_not_found', 'instance_not_found', 'revision_mismatch', 'idempotency_key_conflict'],
    success: {
      status: 200,
      description: 'Ordered; instances that were there are replaced one after the other.',
      answer: deploymentWritten,
    },
  }),
  rollback: operation({
    method: 'POST',
    path: '/api/v1/deployments/{name}/rollback',
    summary: 'Store the spec of an archived version again; all rules are re-checked',
    tag: 'Deployments',
    permission: 'deploy',
    tenant: 'credential',
    query: { ...DRY_RUN, ...PLAN },
    body: { shape: rollbackBody },
    codes: [...DEPLOYMENT_CODES.update, 'archive_version_not_found', 'idempotency_key_conflict'],
    success: {
      status: 200,
      description: 'Stored as a new version; what was lost is listed in removed.',
      answer: deploymentWritten,
    },
  }),
};

import { canary, canaryWritten, deploymentWritten } from '../contract/answers/deployment.ts';
import { canaryBody } from '../contract/canary-body.ts';
import { nothing } from '../contract/order-bodies.ts';
import { DEPLOYMENT_CODES } from './workload-codes.ts';
import { operation } from './operation.ts';

export const CANARIES = {
  read: operation({
    method: 'GET',
    path: '/api/v1/deployments/{name}/canary',
    summary: 'The canary that runs beside a deployment',
    tag: 'Deployments',
    permission: 'read',
    tenant: 'credential',
    codes: ['deployment_not_found', 'canary_not_found'],
    success: { status: 200, description: 'The canary.', answer: canary },
  }),
  start: operation({
    method: 'POST',
    path: '/api/v1/deployments/{name}/canary',
    summary: 'Run instances of a changed spec beside the stable ones',
    tag: 'Deployments',
    permission: 'deploy',
    tenant: 'credential',
    body: { shape: canaryBody },
    codes: [
      ...DEPLOYMENT_CODES.update,
      'canary_invalid',
      'canary_already_exists',
      'idempotency_key_conflict',
    ],
    success: {
      status: 201,
      description: 'Started; what the server changed is announced.',
      answer: canaryWritten,
    },
  }),
  promote: operation({
    method: 'POST',
    path: '/api/v1/deployments/{name}/canary/promote',
    summary: "Make the canary's spec the deployment's, with a normal rollout",
    tag: 'Deployments',
    permission: 'deploy',
    tenant: 'credential',
    body: { shape: nothing, optional: true },
    codes: [...DEPLOYMENT_CODES.update, 'canary_not_found', 'idempotency_key_conflict'],
    success: {
      status: 200,
      description: 'Stored as a new version.',
      answer: deploymentWritten,
    },
  }),
  abort: operation({
    method: 'POST',
    path: '/api/v1/deployments/{name}/canary/abort',
    summary: 'Stop the canary; the stable instances are left alone',
    tag: 'Deployments',
    permission: 'deploy',
    tenant: 'credential',
    body: { shape: nothing, optional: true },
    codes: ['deployment_not_found', 'canary_not_found', 'idempotency_key_conflict'],
    success: {
      status: 200,
      description: 'The canary that was aborted.',
      answer: canaryWritten,
    },
  }),
};

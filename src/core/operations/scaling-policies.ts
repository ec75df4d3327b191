import { scalingPolicy, scalingPolicyWritten } from '../contract/answers/deployment.ts';
import { scalingPolicyBody } from '../contract/scaling-policy-body.ts';
import { operation } from './operation.ts';

export const SCALING_POLICIES = {
  read: operation({
    method: 'GET',
    path: '/api/v1/deployments/{name}/scaling-policy',
    summary: 'The scaling policy of a deployment, and what it last saw',
    tag: 'Deployments',
    permission: 'read',
    tenant: 'credential',
    codes: ['deployment_not_found', 'scaling_policy_not_found'],
    success: {
      status: 200,
      description: 'The policy; its status is null until the control plane has looked.',
      answer: scalingPolicy,
    },
  }),
  set: operation({
    method: 'PUT',
    path: '/api/v1/deployments/{name}/scaling-policy',
    summary: 'Set the scaling policy of a deployment, whole',
    tag: 'Deployments',
    permission: 'deploy',
    tenant: 'credential',
    body: { shape: scalingPolicyBody },
    codes: ['deployment_not_found', 'scaling_policy_invalid', 'revision_mismatch', 'header_invalid'],
    success: {
      status: 200,
      description: 'Stored.',
      answer: scalingPolicyWritten,
      also: { 201: 'There was none.' },
    },
  }),
  remove: operation({
    method: 'DELETE',
    path: '/api/v1/deployments/{name}/scaling-policy',
    summary: 'Delete the scaling policy of a deployment; its number of instances stays',
    tag: 'Deployments',
    permission: 'deploy',
    tenant: 'credential',
    codes: ['deployment_not_found', 'scaling_policy_not_found', 'revision_mismatch', 'header_invalid'],
    success: { status: 200, description: 'Deleted; the last stored policy.', answer: scalingPolicyWritten },
  }),
};

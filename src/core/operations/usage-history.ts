import { usageHistory } from '../contract/answers/usage-history.ts';
import { DURATION } from '../contract/forms.ts';
import { operation } from './operation.ts';

const QUERY = {
  since: {
    description: 'How far back, from 1m to 24h; up to 1h in steps of 30 s, beyond that of 5 min.',
    schema: { type: 'string', ...DURATION, default: '1h' },
  },
  step: {
    description:
      'Longer steps than those that are kept: the next multiple of them. Means stay means, and the most stays the most.',
    schema: { type: 'string', ...DURATION },
  },
} as const;

export const USAGE_HISTORY = {
  ofDeployment: operation({
    method: 'GET',
    path: '/api/v1/deployments/{name}/history',
    summary:
      'What the instances of a deployment took, how many ran and how many failed, of the last 24 hours',
    tag: 'Deployments',
    permission: 'read',
    tenant: 'credential',
    query: QUERY,
    codes: ['deployment_not_found', 'query_parameter_invalid'],
    success: {
      status: 200,
      description: 'Columns of figures, at most 289 of each.',
      answer: usageHistory,
    },
  }),
  ofNode: operation({
    method: 'GET',
    path: '/api/v1/nodes/{name}/history',
    summary: 'What the containers of Berth took on a node, and how many failed there, of the last 24 hours',
    tag: 'Nodes',
    permission: 'read',
    tenant: 'credential',
    query: QUERY,
    codes: ['node_not_found', 'query_parameter_invalid'],
    success: {
      status: 200,
      description: 'Columns of figures, at most 289 of each.',
      answer: usageHistory,
    },
  }),
};

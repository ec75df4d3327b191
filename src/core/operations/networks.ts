import { network, networkWritten } from '../contract/answers/volume.ts';
import { listOf } from '../contract/answers/field-shapes.ts';
import { networkBody } from '../contract/network-body.ts';
import { ALL, LIST_QUERY } from './queries.ts';
import { operation } from './operation.ts';

export const NETWORKS = {
  list: operation({
    method: 'GET',
    path: '/api/v1/networks',
    summary: 'List the networks of the tenant, by name',
    tag: 'Networks',
    permission: 'read',
    tenant: 'credential',
    query: LIST_QUERY,
    codes: [],
    success: {
      status: 200,
      description: 'Networks; the next page is in the Link header.',
      answer: listOf(network),
    },
  }),
  read: operation({
    method: 'GET',
    path: '/api/v1/networks/{name}',
    summary: 'Read one network',
    tag: 'Networks',
    permission: 'read',
    tenant: 'credential',
    codes: ['network_not_found'],
    success: { status: 200, description: 'The network.', answer: network },
  }),
  create: operation({
    method: 'POST',
    path: '/api/v1/networks',
    summary: 'Create a network on one node; its agent makes it, and the status says how that went',
    tag: 'Networks',
    permission: 'deploy',
    tenant: 'credential',
    query: {
      dryRun: {
        description: 'Run every rule and choose the node, but store nothing.',
        schema: { type: 'boolean', default: false },
      },
      ...ALL,
    },
    body: { shape: networkBody, yaml: true, unchecked: true },
    codes: [
      'network_option_unsupported_on_agent',
      'network_name_invalid',
      'network_driver_unsupported',
      'labels_invalid',
      'label_reserved',
      'network_already_exists',
      'network_node_candidates_unresolvable',
      'network_node_not_a_candidate',
      'network_node_required',
      'idempotency_key_conflict',
      'header_invalid',
    ],
    success: { status: 201, description: 'The network.', answer: networkWritten },
  }),
  remove: operation({
    method: 'DELETE',
    path: '/api/v1/networks/{name}',
    summary: 'Delete a network that no container is attached to',
    tag: 'Networks',
    permission: 'deploy',
    tenant: 'credential',
    codes: [
      'network_not_found',
      'network_in_use',
      'agent_unreachable',
      'revision_mismatch',
      'header_invalid',
    ],
    success: { status: 200, description: 'Deleted; the last stored record.', answer: networkWritten },
  }),
};

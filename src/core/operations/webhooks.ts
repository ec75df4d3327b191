import { listOf } from '../contract/answers/field-shapes.ts';
import { deadLetter, redelivery, webhook, webhookWritten } from '../contract/answers/webhook.ts';
import { redeliverBody, webhookBody, webhookChange } from '../contract/webhook-body.ts';
import { operation } from './operation.ts';
import { ALL, LIST_QUERY } from './queries.ts';

const WRITE = {
  dryRun: {
    description: 'Run every rule, but store nothing.',
    schema: { type: 'boolean', default: false },
  },
  ...ALL,
} as const;

const RULES = [
  'manifest_wrong_kind',
  'webhook_invalid',
  'secret_vault_path_required',
  'secret_vault_path_not_relative',
  'secret_path_shape',
  'secret_path_namespace',
  'secret_path_name',
  'secrets_store_unavailable',
  'header_invalid',
] as const;

export const WEBHOOKS = {
  list: operation({
    method: 'GET',
    path: '/api/v1/webhooks',
    summary: 'List the webhooks of the tenant, by name, with how their deliveries go',
    tag: 'Webhooks',
    permission: 'read',
    tenant: 'credential',
    query: LIST_QUERY,
    codes: [],
    success: {
      status: 200,
      description: 'Webhooks; the next page is in the Link header.',
      answer: listOf(webhook),
    },
  }),
  read: operation({
    method: 'GET',
    path: '/api/v1/webhooks/{name}',
    summary: 'Read one webhook',
    tag: 'Webhooks',
    permission: 'read',
    tenant: 'credential',
    codes: ['webhook_not_found'],
    success: { status: 200, description: 'The webhook with its status.', answer: webhook },
  }),
  create: operation({
    method: 'POST',
    path: '/api/v1/webhooks',
    summary:
      'Create a webhook: events of the tenant are sent to its URL from now on, at least once and in order',
    tag: 'Webhooks',
    permission: 'deploy',
    tenant: 'credential',
    query: WRITE,
    body: { shape: webhookBody, yaml: true, unchecked: true },
    codes: [...RULES, 'webhook_already_exists', 'idempotency_key_conflict'],
    success: { status: 201, description: 'Stored.', answer: webhookWritten },
  }),
  update: operation({
    method: 'PUT',
    path: '/api/v1/webhooks/{name}',
    summary:
      'Update a webhook: each field that is sent replaces the stored one whole; what waits is sent as it says now',
    tag: 'Webhooks',
    permission: 'deploy',
    tenant: 'credential',
    query: WRITE,
    body: { shape: webhookChange, yaml: true, unchecked: true },
    codes: [...RULES, 'webhook_not_found', 'name_mismatch', 'revision_mismatch'],
    success: {
      status: 200,
      description: 'Stored; what was lost is listed in removed.',
      answer: webhookWritten,
    },
  }),
  deadLetters: operation({
    method: 'GET',
    path: '/api/v1/webhooks/{name}/dead-letters',
    summary: 'Events that could not be delivered and were given up, oldest first',
    tag: 'Webhooks',
    permission: 'read',
    tenant: 'credential',
    query: LIST_QUERY,
    codes: ['webhook_not_found'],
    success: {
      status: 200,
      description: 'Dead letters; the next page is in the Link header.',
      answer: listOf(deadLetter),
    },
  }),
  redeliver: operation({
    method: 'POST',
    path: '/api/v1/webhooks/{name}/redeliver',
    summary: 'Send dead letters again, each once; those that are not taken stay dead letters',
    tag: 'Webhooks',
    permission: 'deploy',
    tenant: 'credential',
    body: { shape: redeliverBody, optional: true },
    codes: [
      'webhook_not_found',
      'webhook_dead_letter_not_found',
      'idempotency_key_conflict',
      'header_invalid',
    ],
    success: { status: 202, description: 'Ordered.', answer: redelivery },
  }),
  remove: operation({
    method: 'DELETE',
    path: '/api/v1/webhooks/{name}',
    summary: 'Delete a webhook with its dead letters; events that wait are not sent',
    tag: 'Webhooks',
    permission: 'deploy',
    tenant: 'credential',
    codes: ['webhook_not_found', 'revision_mismatch', 'header_invalid'],
    success: { status: 200, description: 'Deleted; the last stored record.', answer: webhookWritten },
  }),
};

import { deploymentWritten } from '../contract/answers/deployment.ts';
import {
  credentialHooked,
  credentialRotated,
  listedSecret,
  referencedSecret,
  secret,
  secretApplied,
  secretConsumer,
  secretWritten,
} from '../contract/answers/secret.ts';
import { listOf } from '../contract/answers/field-shapes.ts';
import {
  hooksBody,
  rotateBody,
  rotateCredentialBody,
  secretDocumentBody,
  secretWriteBody,
} from '../contract/secret-bodies.ts';
import { operation } from './operation.ts';
import { ALL, LIST_QUERY } from './queries.ts';
import { MATERIAL_CODES, STORE_CODES } from './workload-codes.ts';

const ROTATION_CODES = [
  'rotation_transition_invalid',
  'rotation_rollout_incomplete',
  'secret_rotation_in_progress',
  'secret_environment_collision',
] as const;
const WRITE_CODES = [
  'secret_path_namespace',
  'secret_path_name',
  'secret_path_namespace_split',
  'secret_write_empty',
  'secret_anchor_invalid',
  ...MATERIAL_CODES,
  ...STORE_CODES,
  'revision_mismatch',
  'header_invalid',
] as const;

/** A document has no values, and does not say what it replaces. */
const NOT_OF_DOCUMENTS: ReadonlySet<string> = new Set([
  'secret_write_empty',
  'secret_anchor_invalid',
  'secret_value_empty',
  'secret_key_provided_and_generated',
  'revision_mismatch',
]);

export const SECRETS = {
  list: operation({
    method: 'GET',
    path: '/api/v1/secrets',
    summary: 'List the secret documents of the tenant, by path, with who refers to them; never a value',
    tag: 'Secrets',
    permission: 'secrets.read',
    tenant: 'credential',
    query: {
      ...LIST_QUERY,
      unreferenced: {
        description: 'Only those that nothing refers to.',
        schema: { type: 'boolean', default: false },
      },
    },
    codes: [...STORE_CODES],
    success: {
      status: 200,
      description:
        'Documents, and what is referenced without being there; the next page is in the Link header.',
      answer: listOf(listedSecret),
    },
  }),
  listReferenced: operation({
    method: 'GET',
    path: '/api/v1/secrets/resources',
    summary: 'Every secret path that is referenced in the tenant',
    tag: 'Secrets',
    permission: 'secrets.read',
    tenant: 'credential',
    query: LIST_QUERY,
    codes: [],
    success: {
      status: 200,
      description: 'Referenced paths, in their order.',
      answer: listOf(referencedSecret),
    },
  }),
  listConsumers: operation({
    method: 'GET',
    path: '/api/v1/secrets/resources/{name}/consumers',
    summary: 'Deployments that read a path, whatever its namespace',
    tag: 'Secrets',
    permission: 'secrets.read',
    tenant: 'credential',
    query: LIST_QUERY,
    codes: ['secret_path_shape'],
    success: {
      status: 200,
      description: 'Consumers; the next page is in the Link header.',
      answer: listOf(secretConsumer),
    },
  }),
  apply: operation({
    method: 'POST',
    path: '/api/v1/secrets',
    summary:
      'Make the keys that a document of kind Secret names and that are missing; what exists is left alone',
    tag: 'Secrets',
    permission: 'secrets.write',
    tenant: 'credential',
    query: {
      dryRun: {
        description: 'Run every rule and say what is missing, but make nothing.',
        schema: { type: 'boolean', default: false },
      },
      ...ALL,
    },
    body: { shape: secretDocumentBody, yaml: true, unchecked: true },
    codes: [
      'field_unknown',
      'field_type_invalid',
      'manifest_wrong_kind',
      'secret_values_in_document',
      ...WRITE_CODES.filter((code) => !NOT_OF_DOCUMENTS.has(code)),
      'secret_rotation_in_progress',
      'idempotency_key_conflict',
    ],
    success: {
      status: 200,
      description: 'Metadata only; `minted` names what was missing.',
      answer: secretApplied,
      also: { 201: 'The document is new.' },
    },
  }),
  write: operation({
    method: 'PUT',
    path: '/api/v1/secrets/{namespace}/{name}',
    summary: 'Write a secret document; its values can never be read back',
    tag: 'Secrets',
    permission: 'secrets.write',
    tenant: 'credential',
    body: { shape: secretWriteBody },
    codes: [...WRITE_CODES, 'secret_rotation_in_progress', 'anchored_secret_overwritten'],
    success: {
      status: 200,
      description: 'Metadata only: path, keys, version.',
      answer: secretWritten,
      also: { 201: 'The document is new.' },
    },
  }),
  read: operation({
    method: 'GET',
    path: '/api/v1/secrets/{namespace}/{name}',
    summary: 'Metadata of a secret document',
    tag: 'Secrets',
    permission: 'secrets.read',
    tenant: 'credential',
    codes: ['secret_path_namespace', 'secret_path_name', 'secret_not_found', ...STORE_CODES],
    success: {
      status: 200,
      description: 'Keys and versions, never values.',
      answer: secret,
    },
  }),
  remove: operation({
    method: 'DELETE',
    path: '/api/v1/secrets/{namespace}/{name}',
    summary: 'Delete a secret document with all its versions, unless something refers to it',
    tag: 'Secrets',
    permission: 'secrets.write',
    tenant: 'credential',
    codes: [
      'secret_path_namespace',
      'secret_path_name',
      'secret_not_found',
      'secret_in_use',
      'revision_mismatch',
      'header_invalid',
      ...STORE_CODES,
    ],
    success: { status: 200, description: 'Deleted; its last keys and version.', answer: secretWritten },
  }),
  rotate: operation({
    method: 'POST',
    path: '/api/v1/secrets/{namespace}/{name}/rotate',
    summary: 'Take every consumer of a credential through one phase of its rotation',
    tag: 'Secrets',
    permission: 'secrets.write',
    tenant: 'credential',
    body: { shape: rotateCredentialBody },
    codes: [
      'secret_path_namespace',
      'secret_path_name',
      'secret_not_found',
      'rotation_hook_failed',
      ...ROTATION_CODES,
      ...WRITE_CODES.slice(3),
    ],
    success: {
      status: 200,
      description:
        'The phase, the version in service and the deployments that were moved; with `hook`, what the phase waits for.',
      answer: credentialRotated,
    },
  }),
  setHooks: operation({
    method: 'PUT',
    path: '/api/v1/secrets/{namespace}/{name}/hooks',
    summary: 'Replace the jobs that the rotation of a credential runs',
    tag: 'Secrets',
    permission: 'secrets.write',
    tenant: 'credential',
    body: { shape: hooksBody },
    codes: [
      'secret_path_namespace',
      'secret_path_name',
      'secret_not_found',
      'job_not_found',
      'rotation_hook_invalid',
      'revision_mismatch',
      'header_invalid',
      'secrets_sealed',
      'secrets_store_unavailable',
    ],
    success: {
      status: 200,
      description: 'The hooks as stored.',
      answer: credentialHooked,
    },
  }),
  rotateDeployment: operation({
    method: 'POST',
    path: '/api/v1/deployments/{name}/secrets/rotate',
    summary: "Advance the rotation of a deployment's secrets: stage, promote, retire, or abort",
    tag: 'Secrets',
    permission: 'secrets.write',
    tenant: 'credential',
    body: { shape: rotateBody },
    codes: [
      'deployment_not_found',
      'secret_name_invalid',
      'secret_not_found',
      'rotation_whole_credential',
      ...ROTATION_CODES,
      ...WRITE_CODES.slice(3),
    ],
    success: {
      status: 200,
      description: 'The deployment, with the rotation in its status.',
      answer: deploymentWritten,
    },
  }),
};

import { deploymentWritten } from '../../../core/contract/answers/deployment.ts';
import {
  credentialHooked,
  credentialRotated,
  referencedSecret,
  secret,
  secretConsumer,
  secretWritten,
} from '../../../core/contract/answers/secret.ts';
import { listOf } from '../../../core/contract/answers/words.ts';
import type { SecretWriteDraft } from '../../../core/contract/secret-draft.ts';
import type { Draft } from '../../../core/contract/shape.ts';
import { isRejection } from '../../../core/rejections/reject.ts';
import { checkResourceName } from '../../../core/rules/secrets/path.ts';
import type { Admission, Outcome } from '../../admission/admission.ts';
import { hooksBody, setHooks } from '../../admission/credential-hooks.ts';
import { rotateCredential, rotateCredentialBody } from '../../admission/rotate-credential.ts';
import { rotateBody, rotateSecrets } from '../../admission/rotate-secrets.ts';
import { readSecretMetadata, secretWriteBody, writeSecret } from '../../admission/write-secret.ts';
import { secretFailureRejection } from '../../admission/credential-facts.ts';
import type { DescribedSecret } from '../../secrets/port.ts';
import { pageReply, pageRequest } from '../paging.ts';
import { LIST_QUERY, type Reply, type Route, type RouteRequest, route } from '../route.ts';
import { guardedReply, writeReply } from '../write-reply.ts';
import { MATERIAL_CODES } from './deployment-codes.ts';

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
  'secrets_sealed',
  'secrets_store_forbidden',
  'secrets_store_unavailable',
  'secrets_store_unusable',
  'revision_mismatch',
  'header_invalid',
] as const;

/** The revision of a document is its version, in whichever store it is kept. */
function versionReply(outcome: Outcome): Reply {
  if (isRejection(outcome)) return outcome;
  const { status, body } = outcome;
  const { version } = body;
  return {
    status,
    body: outcome.revision === undefined ? body : { ...body, revision: version },
    headers: { etag: `"${String(version)}"` },
  };
}

function pathOf({ params }: RouteRequest) {
  return { namespace: params['namespace'] ?? '', label: params['name'] ?? '' };
}

async function listReferenced(admission: Admission, { store, query }: RouteRequest): Promise<Reply> {
  const page = pageRequest(query);
  if (isRejection(page)) return page;
  const { secrets } = admission;
  const read = secrets.references
    .paths(store.tenantId)
    .filter(({ label }) => page.after === undefined || label > page.after)
    .slice(0, page.limit + 1);
  const known = new Map<string, DescribedSecret>();
  const denied = new Map<string, string>();
  for (const namespace of new Set(read.map((entry) => entry.namespace))) {
    const labels = read.filter((entry) => entry.namespace === namespace).map(({ label }) => label);
    const described = await secrets.store.describe(store.tenantId, namespace, labels);
    if (!described.ok) return secretFailureRejection(described, 'name');
    for (const [label, document] of described.documents) known.set(label, document);
    for (const [label, { message }] of described.denied ?? []) denied.set(label, message);
  }
  const described = read.map(({ label, namespace, consumers }) => {
    const document = known.get(label);
    const path = `${namespace}/${label}`;
    const problem = denied.get(label);
    return {
      name: label,
      namespace,
      path,
      // Nobody may look: whether it is there is not known.
      exists: problem === undefined ? document !== undefined : null,
      keys: document?.keys ?? [],
      version: document?.version ?? 0,
      consumers,
      ...(problem === undefined ? {} : { problem }),
    };
  });
  return pageReply(
    page,
    '/api/v1/secrets/resources',
    query,
    described,
    ({ name }) => name,
    (entry) => entry,
  );
}

export function secretRoutes(admission: Admission): Route[] {
  return [
    route({
      method: 'GET',
      path: '/api/v1/secrets/resources',
      summary: "Every secret path that the tenant's deployments reference",
      tag: 'Secrets',
      permission: 'secrets.read',
      tenant: 'credential',
      query: LIST_QUERY,
      codes: [],
      success: {
        status: 200,
        description: 'Referenced paths, by name.',
        answer: listOf(referencedSecret),
      },
      handle: (request) => listReferenced(admission, request),
    }),
    route({
      method: 'GET',
      path: '/api/v1/secrets/resources/{name}/consumers',
      summary: 'Deployments that read a path, whatever its namespace',
      tag: 'Secrets',
      permission: 'secrets.read',
      tenant: 'credential',
      codes: ['secret_path_shape'],
      success: {
        status: 200,
        description: 'Consumers.',
        answer: listOf(secretConsumer),
      },
      handle: ({ store, params }) => {
        const name = params['name'] ?? '';
        return (
          checkResourceName(name) ?? {
            status: 200,
            body: admission.secrets.references.consumers(store.tenantId, name),
          }
        );
      },
    }),
    route({
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
      handle: (request) =>
        guardedReply(
          request,
          (ifMatch) =>
            writeSecret(
              admission,
              request.caller,
              pathOf(request),
              request.body as SecretWriteDraft,
              ifMatch,
            ),
          versionReply,
        ),
    }),
    route({
      method: 'GET',
      path: '/api/v1/secrets/{namespace}/{name}',
      summary: 'Metadata of a secret document',
      tag: 'Secrets',
      permission: 'secrets.read',
      tenant: 'credential',
      codes: [
        'secret_path_namespace',
        'secret_path_name',
        'secret_not_found',
        'secrets_sealed',
        'secrets_store_forbidden',
        'secrets_store_unavailable',
        'secrets_store_unusable',
      ],
      success: {
        status: 200,
        description: 'Keys and versions, never values.',
        answer: secret,
      },
      handle: async (request) =>
        versionReply(await readSecretMetadata(admission, request.caller, pathOf(request))),
    }),
    route({
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
      handle: async (request) =>
        writeReply(
          await rotateCredential(
            admission,
            request.caller,
            pathOf(request),
            request.body as Draft<typeof rotateCredentialBody>,
          ),
        ),
    }),
    route({
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
      handle: (request) =>
        guardedReply(
          request,
          (ifMatch) =>
            setHooks(
              admission,
              request.caller,
              pathOf(request),
              request.body as Draft<typeof hooksBody>,
              ifMatch,
            ),
          versionReply,
        ),
    }),
    route({
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
      handle: async ({ caller, params, body }) =>
        writeReply(
          await rotateSecrets(admission, caller, params['name'] ?? '', body as Draft<typeof rotateBody>),
        ),
    }),
  ];
}

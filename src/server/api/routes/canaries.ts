import {
  canary as canaryAnswer,
  canaryWritten,
  deploymentWritten,
} from '../../../core/contract/answers/deployment.ts';
import { type CanaryDraft, canaryBody } from '../../../core/contract/canary-body.ts';
import { shape } from '../../../core/contract/shape.ts';
import type { Admission } from '../../admission/admission.ts';
import { canaryNotFound } from '../../admission/canary-stored.ts';
import { canaryView } from '../../admission/canary-view.ts';
import { findDeployment } from '../../admission/deployment-stored.ts';
import { deploymentNotFound } from '../../admission/deployment-write.ts';
import { abortCanary, promoteCanary } from '../../admission/end-canary.ts';
import { startCanary } from '../../admission/start-canary.ts';
import { idOf } from '../../store/record-ids.ts';
import { type Reply, type Route, type RouteRequest, route } from '../route.ts';
import { writeReply } from '../write-reply.ts';
import { DEPLOYMENT_CODES } from './deployment-codes.ts';

const PATH = '/api/v1/deployments/{name}/canary';
/** An empty object, or no body at all. */
const nothing = shape({ type: 'object', fields: {} });

function read({ store, params }: RouteRequest): Reply {
  const nameOrId = params['name'] ?? '';
  const { stored, field } = findDeployment(store, nameOrId);
  if (stored === undefined) return deploymentNotFound(field, nameOrId);
  const { name } = stored.record.spec;
  const canary = store.get('canaries', idOf('canaries', name));
  if (canary === undefined) return canaryNotFound(nameOrId);
  const revision = canary.modRevision;
  return {
    status: 200,
    body: { ...canaryView(store, name, canary.record), revision },
    headers: { etag: `"${revision}"` },
  };
}

export function canaryRoutes(admission: Admission): Route[] {
  const common = { tag: 'Deployments', tenant: 'credential' } as const;
  const own = DEPLOYMENT_CODES.update.filter((code) => code !== 'revision_mismatch');
  return [
    route({
      ...common,
      method: 'GET',
      path: PATH,
      summary: 'The canary that runs beside a deployment',
      permission: 'read',
      codes: ['deployment_not_found', 'canary_not_found'],
      success: { status: 200, description: 'The canary.', answer: canaryAnswer },
      handle: read,
    }),
    route({
      ...common,
      method: 'POST',
      path: PATH,
      summary: 'Run instances of a changed spec beside the stable ones',
      permission: 'deploy',
      body: { shape: canaryBody },
      codes: [...own, 'canary_invalid', 'canary_already_exists', 'idempotency_key_conflict'],
      success: {
        status: 201,
        description: 'Started; what the server changed is announced.',
        answer: canaryWritten,
      },
      handle: async ({ caller, params, body }) =>
        writeReply(await startCanary(admission, caller, params['name'] ?? '', body as CanaryDraft)),
    }),
    route({
      ...common,
      method: 'POST',
      path: `${PATH}/promote`,
      summary: "Make the canary's spec the deployment's, with a normal rollout",
      permission: 'deploy',
      body: { shape: nothing, optional: true },
      codes: [...own, 'canary_not_found', 'idempotency_key_conflict'],
      success: {
        status: 200,
        description: 'Stored as a new version.',
        answer: deploymentWritten,
      },
      handle: async ({ caller, params }) =>
        writeReply(await promoteCanary(admission, caller, params['name'] ?? '')),
    }),
    route({
      ...common,
      method: 'POST',
      path: `${PATH}/abort`,
      summary: 'Stop the canary; the stable instances are left alone',
      permission: 'deploy',
      body: { shape: nothing, optional: true },
      codes: ['deployment_not_found', 'canary_not_found', 'idempotency_key_conflict'],
      success: {
        status: 200,
        description: 'The canary that was aborted.',
        answer: canaryWritten,
      },
      handle: async ({ caller, params }) =>
        writeReply(await abortCanary(admission, caller, params['name'] ?? '')),
    }),
  ];
}

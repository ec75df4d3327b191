import { scalingPolicy, scalingPolicyWritten } from '../../../core/contract/answers/deployment.ts';
import { type ScalingPolicyDraft, scalingPolicyBody } from '../../../core/contract/scaling-policy-body.ts';
import type { TenantId } from '../../../core/model/ids.ts';
import type { ScalingView } from '../../../core/model/scaling.ts';
import { isRejection } from '../../../core/rejections/reject.ts';
import type { Admission } from '../../admission/admission.ts';
import { findDeployment } from '../../admission/deployment-stored.ts';
import { deploymentNotFound } from '../../admission/deployment-write.ts';
import { parseIfMatch } from '../../admission/if-match.ts';
import {
  deleteScalingPolicy,
  scalingPolicyNotFound,
  scalingPolicyView,
  setScalingPolicy,
} from '../../admission/scaling-policy.ts';
import { idOf } from '../../store/record-ids.ts';
import { type Reply, type Route, type RouteRequest, route } from '../route.ts';
import { writeReply } from '../write-reply.ts';

export type ScalingViews = (
  tenantId: TenantId,
  deployment: string,
) => Promise<ScalingView | undefined> | ScalingView | undefined;

const PATH = '/api/v1/deployments/{name}/scaling-policy';

async function read({ store, params }: RouteRequest, views: ScalingViews): Promise<Reply> {
  const nameOrId = params['name'] ?? '';
  const { stored, field } = findDeployment(store, nameOrId);
  if (stored === undefined) return deploymentNotFound(field, nameOrId);
  const { name } = stored.record.spec;
  const policy = store.get('scaling-policies', idOf('scaling-policies', name));
  if (policy === undefined) return scalingPolicyNotFound(nameOrId);
  const revision = policy.modRevision;
  const status = (await views(store.tenantId, name)) ?? null;
  return {
    status: 200,
    body: { ...scalingPolicyView(name, policy.record), revision, status },
    headers: { etag: `"${revision}"` },
  };
}

export function scalingRoutes(admission: Admission, views: ScalingViews): Route[] {
  const common = { path: PATH, tag: 'Deployments', tenant: 'credential' } as const;
  return [
    route({
      ...common,
      method: 'GET',
      summary: 'The scaling policy of a deployment, and what it last saw',
      permission: 'read',
      codes: ['deployment_not_found', 'scaling_policy_not_found'],
      success: {
        status: 200,
        description: 'The policy; its status is null until the control plane has looked.',
        answer: scalingPolicy,
      },
      handle: (request) => read(request, views),
    }),
    route({
      ...common,
      method: 'PUT',
      summary: 'Set the scaling policy of a deployment, whole',
      permission: 'deploy',
      body: { shape: scalingPolicyBody },
      codes: ['deployment_not_found', 'scaling_policy_invalid', 'revision_mismatch', 'header_invalid'],
      success: {
        status: 200,
        description: 'Stored.',
        answer: scalingPolicyWritten,
        also: { 201: 'There was none.' },
      },
      handle: async ({ headers, caller, params, body }) => {
        const ifMatch = parseIfMatch(headers['if-match']);
        if (isRejection(ifMatch)) return ifMatch;
        const draft = body as ScalingPolicyDraft;
        return writeReply(await setScalingPolicy(admission, caller, params['name'] ?? '', draft, ifMatch));
      },
    }),
    route({
      ...common,
      method: 'DELETE',
      summary: 'Delete the scaling policy of a deployment; its number of instances stays',
      permission: 'deploy',
      codes: ['deployment_not_found', 'scaling_policy_not_found', 'revision_mismatch', 'header_invalid'],
      success: { status: 200, description: 'Deleted; the last stored policy.', answer: scalingPolicyWritten },
      handle: async ({ headers, caller, params }) => {
        const ifMatch = parseIfMatch(headers['if-match']);
        if (isRejection(ifMatch)) return ifMatch;
        return writeReply(await deleteScalingPolicy(admission, caller, params['name'] ?? '', ifMatch));
      },
    }),
  ];
}

import { exactly } from '../../../core/schema/shape.ts';
import type { AnswerOf } from '../../../core/operations/operation.ts';
import { SCALING_POLICIES } from '../../../core/operations/scaling-policies.ts';
import type { TenantId } from '../../../core/model/ids.ts';
import type { ScalingView } from '../../../core/model/scaling.ts';
import { isRejection } from '../../../core/rejections/reject.ts';
import type { Admission } from '../../writes/admission.ts';
import { findDeployment } from '../../reads/deployment.ts';
import { deploymentNotFound } from '../../writes/deployments/deployment-write.ts';
import { parseIfMatch } from '../../writes/if-match.ts';
import {
  deleteScalingPolicy,
  scalingPolicyNotFound,
  scalingPolicyView,
  setScalingPolicy,
} from '../../writes/deployments/scaling-policy.ts';
import { idOf } from '../../store/record-ids.ts';
import { type ReplyTo, type RequestFor, type Route, serve } from '../route.ts';
import { writeReply } from '../write-reply.ts';

export type ScalingViews = (
  tenantId: TenantId,
  deployment: string,
) => Promise<ScalingView | undefined> | ScalingView | undefined;

const asPolicy = exactly<AnswerOf<typeof SCALING_POLICIES.read>>();

async function read(
  { store, params }: RequestFor<typeof SCALING_POLICIES.read>,
  views: ScalingViews,
): Promise<ReplyTo<typeof SCALING_POLICIES.read>> {
  const nameOrId = params.name;
  const { stored, field } = findDeployment(store, nameOrId);
  if (stored === undefined) return deploymentNotFound(field, nameOrId);
  const { name } = stored.record.spec;
  const policy = store.get('scaling-policies', idOf('scaling-policies', name));
  if (policy === undefined) return scalingPolicyNotFound(nameOrId);
  const revision = policy.modRevision;
  const status = (await views(store.tenantId, name)) ?? null;
  return {
    status: 200,
    body: asPolicy({ ...scalingPolicyView(name, policy.record), revision, status }),
    headers: { etag: `"${revision}"` },
  };
}

export function scalingRoutes(admission: Admission, views: ScalingViews): Route[] {
  return [
    serve(SCALING_POLICIES.read, (request) => read(request, views)),
    serve(SCALING_POLICIES.set, async ({ headers, caller, params, body }) => {
      const ifMatch = parseIfMatch(headers['if-match']);
      if (isRejection(ifMatch)) return ifMatch;
      const draft = body;
      return writeReply(await setScalingPolicy(admission, caller, params.name, draft, ifMatch));
    }),
    serve(SCALING_POLICIES.remove, async ({ headers, caller, params }) => {
      const ifMatch = parseIfMatch(headers['if-match']);
      if (isRejection(ifMatch)) return ifMatch;
      return writeReply(await deleteScalingPolicy(admission, caller, params.name, ifMatch));
    }),
  ];
}

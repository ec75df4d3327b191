import type { Warning } from '../../../core/model/announcement.ts';
import type { DeploymentSpec } from '../../../core/model/deployment.ts';
import { type ScalingPolicy, withinPolicy } from '../../../core/model/scaling.ts';
import { idOf } from '../../store/record-ids.ts';
import type { TenantStore } from '../../store/store.ts';
import type { AdmittedDraft } from './deployment-draft.ts';

function storedPolicy(tenant: TenantStore, name: unknown): ScalingPolicy | undefined {
  return typeof name === 'string'
    ? tenant.get('scaling-policies', idOf('scaling-policies', name))?.record
    : undefined;
}

/** A number that is written by hand is taken as far as the policy allows, and what it does not is announced; 0 still stops. */
export function withinStoredPolicy(
  tenant: TenantStore,
  admitted: AdmittedDraft,
  stated: ScalingPolicy | null | undefined,
): { readonly admitted: AdmittedDraft; readonly policy: ScalingPolicy | undefined } {
  const { draft, alterations } = admitted;
  const policy = stated === undefined ? storedPolicy(tenant, draft.name) : (stated ?? undefined);
  const sent = Number(draft.replicas);
  const replicas = policy === undefined ? sent : withinPolicy(sent, policy);
  if (policy === undefined || replicas === sent) return { admitted, policy };
  const bounds = `${policy.minReplicas} to ${policy.maxReplicas}`;
  const alteration = {
    field: 'replicas',
    from: String(sent),
    to: String(replicas),
    why: `the scaling policy allows ${bounds}; change the policy to go beyond`,
  };
  return {
    admitted: { ...admitted, draft: { ...draft, replicas }, alterations: [...alterations, alteration] },
    policy,
  };
}

export function scaledWarnings(
  policy: ScalingPolicy | undefined,
  { replicas, name }: DeploymentSpec,
  before: DeploymentSpec | undefined,
): readonly Warning[] {
  if (policy === undefined || before === undefined || before.replicas === replicas) return [];
  const why =
    replicas === 0
      ? `${name} has a scaling policy; it stays stopped until replicas is written again.`
      : `${name} has a scaling policy: this number holds until the load asks for another one.`;
  return [{ code: 'scaling_policy_active', field: 'replicas', why }];
}

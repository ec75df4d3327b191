import { nodeName } from '../../../core/model/ids.ts';
import { type DeploymentName, isOfDeployment, type OwnerName } from '../../../core/model/owner.ts';
import type { Announced } from '../../../core/rules/attachment-facts.ts';
import type { DeploymentFacts } from '../../../core/rules/deployment-facts.ts';
import { ingressHolder } from '../../placement/ingress-claims.ts';
import { otherWriter } from '../../placement/volume-claims.ts';
import { residencyConflict } from '../../placement/volume-residency.ts';
import { idOf } from '../../store/record-ids.ts';
import type { Admission, Caller } from '../admission.ts';

export function deploymentFacts(
  { clusters }: Pick<Admission, 'clusters'>,
  { tenant }: Pick<Caller, 'tenant'>,
  self: OwnerName,
  isAnnounced?: Announced,
): DeploymentFacts {
  const deployment = (name: DeploymentName) =>
    tenant.get('deployments', idOf('deployments', name))?.record.spec;
  return {
    tenantId: tenant.tenantId,
    nodes: () => tenant.list('nodes').map(({ record }) => record),
    node: (name) => tenant.get('nodes', idOf('nodes', name))?.record,
    closedToTenant: (name) => clusters.isReserved(tenant.tenantId, nodeName(name)),
    volume: (id) => tenant.get('volumes', idOf('volumes', id))?.record,
    otherWriter: (volumeId) => otherWriter(tenant, volumeId, self),
    deployment,
    ingressHolder: (key) => ingressHolder(tenant, key, self),
    network: (name) => tenant.get('networks', idOf('networks', name))?.record,
    isWorkload: (name) =>
      deployment(name) !== undefined || tenant.get('jobs', idOf('jobs', name)) !== undefined,
    ...(isAnnounced && { isAnnounced }),
    residencyConflict: (spec) =>
      residencyConflict(
        tenant,
        clusters.residencyTerms,
        spec,
        isOfDeployment(spec.name) ? deployment(spec.name) : undefined,
      ),
  };
}

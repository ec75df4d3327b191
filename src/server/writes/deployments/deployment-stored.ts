import type { Warning } from '../../../core/model/announcement.ts';
import type { DeploymentSpec } from '../../../core/model/deployment.ts';
import { nodeName } from '../../../core/model/ids.ts';
import { type DeploymentName, isOfDeployment, type OwnerName } from '../../../core/model/owner.ts';
import type { Rejection } from '../../../core/rejections/rejection.ts';
import { type Announced, attachmentWarnings } from '../../../core/rules/attachment-facts.ts';
import {
  type DeploymentFacts,
  dependencyWarnings,
  deploymentFactsRejection,
  refersToRecords,
} from '../../../core/rules/deployment-facts.ts';
import { ingressHolder } from '../../placement/ingress-claims.ts';
import { otherWriter } from '../../placement/volume-claims.ts';
import { residencyConflict } from '../../placement/volume-residency.ts';
import { idOf } from '../../store/record-ids.ts';
import type { Admission, Caller } from '../admission.ts';
import type { AdmittedDraft } from './deployment-draft.ts';

/** What the rules of facts have against it, as the tenant's records are now. */
export function storedRejection(
  admission: Admission,
  caller: Caller,
  spec: DeploymentSpec,
  { judged, isAnnounced }: Pick<AdmittedDraft, 'judged' | 'isAnnounced'>,
): Rejection | undefined {
  if (!refersToRecords(spec)) return undefined;
  return deploymentFactsRejection(spec, deploymentFacts(admission, caller, spec.name, isAnnounced), judged);
}

export function storedWarnings(admission: Admission, caller: Caller, spec: DeploymentSpec): Warning[] {
  if (!refersToRecords(spec)) return [];
  const facts = deploymentFacts(admission, caller, spec.name);
  return [...dependencyWarnings(spec, facts), ...attachmentWarnings(spec, facts)];
}

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

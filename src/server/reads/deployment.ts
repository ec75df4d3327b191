import type { ContainerDefaults } from '../../core/model/container-defaults.ts';
import { deploymentView } from '../../core/contract/deployment-view.ts';
import { isOnTenantNetwork } from '../../core/model/network.ts';
import type { DeploymentRecord, InstanceView } from '../../core/model/deployment.ts';
import type { Stored } from '../store/collection.ts';
import { containerDefaultsOf } from '../store/container-defaults.ts';
import { idOf, prefixOf } from '../store/record-ids.ts';
import type { TenantStore } from '../store/store.ts';
import { ingressStatus } from './ingress.ts';
import { canarySummary } from './canary.ts';
import { awayNode } from './instance.ts';

const TYPED_ID = /^dep_[0-9a-z]+$/;

/** `{name}` may be the typed id; a miss of either kind names the field that missed. */
export function findDeployment(
  tenant: TenantStore,
  nameOrId: string,
): { readonly stored?: Stored<DeploymentRecord>; readonly field: 'name' | 'deployment_id' } {
  const byId = TYPED_ID.test(nameOrId);
  const deployments = tenant.collection('deployments');
  const stored = byId ? deployments.find(nameOrId) : deployments.get(idOf('deployments', nameOrId));
  return { ...(stored === undefined ? {} : { stored }), field: byId ? 'deployment_id' : 'name' };
}

function instanceViews(tenant: TenantStore, name: string): InstanceView[] {
  const observations = tenant.collection('observations');
  return tenant
    .collection('instances')
    .listUnder(prefixOf('instances', name))
    .map(({ id, record }) => {
      const seen = observations.get(id)?.record;
      return {
        id: record.id,
        nodeId: record.nodeId,
        specHash: record.specHash,
        state: record.wanted === 'stop' ? 'stopping' : (seen?.phase ?? 'pending'),
        ...(seen?.health === undefined ? {} : { health: seen.health }),
        ...(seen?.message === undefined ? {} : { message: seen.message }),
        ...(seen?.address === undefined ? {} : { address: seen.address }),
        ...(record.canary === true ? { canary: true } : {}),
        ...awayNode(tenant, record.nodeId),
      };
    });
}

export function storedDeploymentView(
  { containerDefaults }: { readonly containerDefaults: ContainerDefaults },
  tenant: TenantStore,
  stored: Stored<DeploymentRecord>,
): ReturnType<typeof deploymentView> {
  const { name } = stored.record.spec;
  const status = tenant.get('deployment-status', idOf('deployment-status', name))?.record;
  const address = tenant.get('virtual-addresses', idOf('virtual-addresses', name));
  const rollout = tenant.get('rollouts', idOf('rollouts', name));
  const canary = tenant.get('canaries', idOf('canaries', name));
  return deploymentView({
    record: stored.record,
    revision: stored.modRevision,
    ...(status === undefined ? {} : { status }),
    instances: instanceViews(tenant, name),
    defaults: containerDefaultsOf(tenant, containerDefaults),
    ingress: ingressStatus(tenant, stored.record.spec),
    ...(address && isOnTenantNetwork(stored.record.spec) && { virtualAddress: address.record.address }),
    ...(rollout && { rollout: rollout.record }),
    ...(canary && { canary: canarySummary(tenant, name, canary.record) }),
  });
}

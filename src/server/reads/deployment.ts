import type { ContainerDefaults } from '../../core/model/container-defaults.ts';
import { deploymentView } from '../../core/contract/deployment-view.ts';
import { servedIngress } from '../../core/model/ingress.ts';
import { isOnTenantNetwork } from '../../core/model/network.ts';
import type { DeploymentRecord, InstanceView } from '../../core/model/deployment.ts';
import type { Stored } from '../store/collection.ts';
import { containerDefaultsOf } from '../store/container-defaults.ts';
import { idOf, prefixOf } from '../store/record-ids.ts';
import { rolloutOf } from '../store/rollout-row.ts';
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

/** The answer about one with more is too long to be kept. */
const MOST_INSTANCES = 256;

/**
 * All that `storedDeploymentView` makes its answer of. A record of the view is replaced when it changes and never altered, so that the same parts make the
 * same answer. Undefined: a canary runs, whose summary is made of more, or there are too many instances.
 */
export function partsOfView(
  { containerDefaults }: { readonly containerDefaults: ContainerDefaults },
  tenant: TenantStore,
  { id, record }: Stored<DeploymentRecord>,
): readonly unknown[] | undefined {
  // Records of a deployment have its id.
  if (tenant.get('canaries', id) !== undefined) return undefined;
  const parts: unknown[] = [
    containerDefaults,
    tenant.get('container-defaults', 'defaults'),
    tenant.get('deployment-status', id),
    tenant.get('virtual-addresses', id),
    tenant.get('rollouts', id),
  ];
  const instances = tenant.collection('instances');
  if (instances.size > 0) {
    const own = instances.listUnder(id);
    if (own.length > MOST_INSTANCES) return undefined;
    for (const instance of own)
      parts.push(
        instance,
        tenant.get('observations', instance.id),
        tenant.get('node-liveness', idOf('node-liveness', instance.record.nodeId)),
      );
  }
  if (servedIngress(record.spec).length > 0)
    parts.push(
      tenant.collection('nodes').changes,
      tenant.collection('node-liveness').changes,
      tenant.collection('ingress-reports').changes,
    );
  return parts;
}

export function storedDeploymentView(
  { containerDefaults }: { readonly containerDefaults: ContainerDefaults },
  tenant: TenantStore,
  stored: Stored<DeploymentRecord>,
): ReturnType<typeof deploymentView> {
  const { name } = stored.record.spec;
  const status = tenant.get('deployment-status', idOf('deployment-status', name))?.record;
  const address = tenant.get('virtual-addresses', idOf('virtual-addresses', name));
  const rollout = rolloutOf(tenant, idOf('rollouts', name));
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

import type { MeshedNode } from '../../core/contract/mesh-standing.ts';
import { reachWarnings, unservedWarning } from '../../core/contract/reach-warnings.ts';
import type { Warning } from '../../core/model/announcement.ts';
import type { DeploymentSpec } from '../../core/model/deployment.ts';
import { servedIngress } from '../../core/model/ingress.ts';
import { idOf } from '../store/record-ids.ts';
import type { TenantStore } from '../store/store.ts';

/** What instances on the nodes of a plan will not reach over the tenant's network. */
export function planReachWarnings(tenant: TenantStore, targets: readonly string[]): Warning[] {
  if (targets.length === 0) return [];
  return reachWarnings(new Set(targets), meshedNodes(tenant));
}

/** What of it nobody outside will reach. */
export function planIngressWarnings(tenant: TenantStore, spec: DeploymentSpec): Warning[] {
  const isServed = tenant.list('nodes').some(({ record }) => record.ingress !== undefined);
  return isServed || servedIngress(spec).length === 0 ? [] : [unservedWarning()];
}

function meshedNodes(tenant: TenantStore): readonly MeshedNode[] {
  return tenant.list('nodes').map(({ record: { name, features, problems, mesh } }) => {
    const subnet = tenant.get('subnets', idOf('subnets', name))?.record.subnet;
    const { peers = [] } = tenant.get('mesh-paths', idOf('mesh-paths', name))?.record ?? {};
    const status = tenant.get('node-liveness', idOf('node-liveness', name))?.record.status;
    const problem = `it has no subnet: berth node show ${name} says why`;
    return {
      name,
      status,
      features,
      problems,
      mesh: mesh && { port: mesh.port, peers, ...(subnet === undefined ? { problem } : { subnet }) },
    };
  });
}

import type { Workload } from '../../core/model/deployment.ts';
import { jobOwner, type OwnerName } from '../../core/model/owner.ts';
import {
  type AccessVerdict,
  accessVerdict,
  type NodePath,
  nodePath,
} from '../../core/plan/network/access.ts';
import { INGRESS_SOURCE } from '../../core/rules/attachment.ts';
import { idOf, prefixOf } from '../store/record-ids.ts';
import type { TenantStore } from '../store/store.ts';

export interface AccessExplanation extends AccessVerdict {
  readonly from: string;
  /** From every node of the one to every node of the other. */
  readonly paths: readonly NodePath[];
}

/** Enough to see what is wrong; a tenant with hundreds of nodes has tens of thousands of pairs. */
const MAX_PATHS = 100;

/** Undefined: the tenant has neither a deployment nor a job of this name. */
export function explainAccess(
  tenant: TenantStore,
  to: Workload,
  from: string,
): AccessExplanation | undefined {
  const deployment = tenant.get('deployments', idOf('deployments', from))?.record.spec;
  const job = tenant.get('jobs', idOf('jobs', from))?.record.spec;
  const isIngress = from === INGRESS_SOURCE;
  if (deployment === undefined && job === undefined && !isIngress) return undefined;
  const sources = isIngress ? [] : [deployment, job].flatMap((spec) => spec ?? []);
  const origins = isIngress
    ? tenant.list('nodes').flatMap(({ record }) => (record.ingress === undefined ? [] : record.name))
    : [...nodesOf(tenant, from), ...nodesOf(tenant, jobOwner(from))];
  const targets = nodesOf(tenant, to.name);
  const pairs = [...new Set(origins)].flatMap((origin) => targets.map((target) => [origin, target] as const));
  return {
    from,
    ...accessVerdict(to, from, sources),
    paths: pairs.slice(0, MAX_PATHS).map(([origin, target]) =>
      nodePath(origin, target, {
        without: (node) => withoutMesh(tenant, node),
        peer: (node, other) =>
          tenant.get('mesh-paths', idOf('mesh-paths', node))?.record.peers.find((one) => one.node === other),
      }),
    ),
  };
}

function nodesOf(tenant: TenantStore, owner: OwnerName): readonly string[] {
  const instances = tenant.collection('instances').listUnder(prefixOf('instances', owner));
  return [...new Set(instances.map(({ record }) => record.nodeId))].sort();
}

function withoutMesh(tenant: TenantStore, node: string): string | undefined {
  const record = tenant.get('nodes', idOf('nodes', node))?.record;
  if (record?.mesh === undefined) return record?.problems?.join('; ') || 'its agent takes no part (--mesh)';
  return tenant.get('subnets', idOf('subnets', node)) === undefined ? 'it has no subnet (yet)' : undefined;
}

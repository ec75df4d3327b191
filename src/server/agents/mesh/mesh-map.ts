import type { NodeName } from '../../../core/model/ids.ts';
import { isWithin } from '../../../core/model/ipv4.ts';
import type { NetworkPrefixes } from '../../../core/model/mesh.ts';
import { isOnTenantNetwork } from '../../../core/model/network.ts';
import { isOfDeployment, type OwnerName } from '../../../core/model/owner.ts';
import { optional } from '../../../core/model/values.ts';
import { canaryShares } from '../../../core/plan/network/canary-share.ts';
import type { MeshMap } from '../../../core/protocol/agent-protocol.ts';
import { type AcmeSettings, ingressMap } from '../ingress/ingress-map.ts';
import { idOf, prefixOf } from '../../store/record-ids.ts';
import type { TenantStore } from '../../store/store.ts';

type MeshNode = MeshMap['nodes'][number];
type Service = MeshMap['services'][number];

/** The tenant's network as its agents are told of it. `told`: as they were told before. */
export function meshMap(
  tenant: TenantStore,
  prefixes: NetworkPrefixes,
  acme?: AcmeSettings,
  told?: MeshMap,
): MeshMap {
  const before = new Map(told?.services.map((service) => [service.name, service]));
  return {
    type: 'mesh',
    prefix: prefixes.nodes,
    virtualPrefix: prefixes.virtual,
    nodes: meshNodes(tenant),
    services: [...ownersOf(tenant)].flatMap((owner) => meshService(tenant, owner, before.get(owner)) ?? []),
    ...ingressMap(tenant, acme),
  };
}

function meshNodes(tenant: TenantStore): readonly MeshNode[] {
  return tenant.list('nodes').flatMap(({ record: { name, mesh } }) => {
    const subnet = tenant.get('subnets', idOf('subnets', name))?.record.subnet;
    if (mesh === undefined || subnet === undefined) return [];
    const { publicKey, port, addresses, seenFrom } = mesh;
    const all = seenFrom === undefined ? addresses : [...new Set([...addresses, seenFrom])];
    return [{ name, publicKey, port, addresses: all, subnet }];
  });
}

/** Deployments, and what has a container: jobs may connect too, and deployments that are deleted until they have ended. */
function ownersOf(tenant: TenantStore): ReadonlySet<OwnerName> {
  const deployments = tenant.list('deployments').map(({ record }) => record.spec.name);
  const running = tenant.list('instances').map(({ record }) => record.deployment);
  return new Set([...deployments, ...running]);
}

/** Undefined: it has no part in the network. `before`: as it was told. */
export function meshService(tenant: TenantStore, owner: OwnerName, before?: Service): Service | undefined {
  const containers = containersOf(tenant, owner);
  const others = containers.filter((one) => !one.takesConnections).map((one) => one.address);
  if (!isOfDeployment(owner)) {
    const all = containers.map(({ address }) => address);
    return all.length === 0 ? undefined : { name: owner, instances: [], others: all };
  }
  const spec = tenant.get('deployments', idOf('deployments', owner))?.record.spec;
  if (spec === undefined) return before && ending(before, containers);
  if (!isOnTenantNetwork(spec)) return undefined;
  const address = tenant.get('virtual-addresses', idOf('virtual-addresses', owner))?.record.address;
  return {
    name: owner,
    ...(address !== undefined && { address }),
    ...(spec.ports !== undefined &&
      spec.ports.length > 0 && { ports: spec.ports.map(({ container }) => container) }),
    instances: withShares(
      containers.filter((one) => one.takesConnections),
      tenant.get('canaries', idOf('canaries', owner))?.record.weight,
    ),
    ...(others.length > 0 && { others }),
    ...(spec.access && { from: spec.access.from }),
  };
}

/** Deleted: nobody finds it any more. What it still does, and who may speak with it, stays as it was until its last container has ended. */
function ending({ name, from }: Service, containers: readonly Container[]): Service | undefined {
  const others = containers.map(({ address }) => address);
  return others.length === 0 ? undefined : { name, instances: [], others, ...optional('from', from) };
}

function withShares(all: readonly Container[], weight: number | undefined): Service['instances'] {
  const shares = canaryShares(all, weight);
  return all.map(({ id, node, address }, at) => ({ id, node, address, ...optional('share', shares?.[at]) }));
}

interface Container {
  readonly id: string;
  readonly node: NodeName;
  readonly address: string;
  readonly takesConnections: boolean;
  readonly isCanary: boolean;
}

/** All that have an address. A node speaks for addresses of its own subnet only. */
function containersOf(tenant: TenantStore, owner: OwnerName): readonly Container[] {
  const observations = tenant.collection('observations');
  const ofNode = nodeFacts(tenant);
  return tenant
    .collection('instances')
    .listUnder(prefixOf('instances', owner))
    .flatMap(({ id, record: { id: own, nodeId: node, wanted, canary = false } }) => {
      const { address, phase, health = 'healthy' } = observations.get(id)?.record ?? {};
      const { failed, subnet } = ofNode(node);
      if (address === undefined || subnet === undefined || !isWithin(address, subnet)) return [];
      // An instance that is to stop leaves first: its connections end while it is still there.
      const takesConnections = wanted === 'run' && phase === 'running' && health === 'healthy' && !failed;
      return [{ id: own, node, address, takesConnections, isCanary: canary }];
    });
}

interface NodeFacts {
  readonly failed: boolean;
  readonly subnet: string | undefined;
}

/** Asked for every instance, looked up for every node. */
function nodeFacts(tenant: TenantStore): (node: NodeName) => NodeFacts {
  const known = new Map<NodeName, NodeFacts>();
  return (node) => {
    const facts = known.get(node) ?? {
      failed: tenant.get('node-liveness', idOf('node-liveness', node))?.record.status === 'failed',
      subnet: tenant.get('subnets', idOf('subnets', node))?.record.subnet,
    };
    known.set(node, facts);
    return facts;
  };
}

import type { NodeName } from '../../../core/model/ids.ts';
import type { NetworkPrefixes } from '../../../core/model/mesh.ts';
import type { MeshMap } from '../../../core/protocol/agent-protocol.ts';
import { type AcmeSettings, ingressMap } from '../ingress/ingress-map.ts';
import { idOf, prefixOf } from '../../store/record-ids.ts';
import type { TenantStore } from '../../store/store.ts';

type MeshNode = MeshMap['nodes'][number];
type Service = MeshMap['services'][number];

/** The tenant's network as its agents are told of it. */
export function meshMap(tenant: TenantStore, prefixes: NetworkPrefixes, acme?: AcmeSettings): MeshMap {
  return {
    type: 'mesh',
    prefix: prefixes.nodes,
    virtualPrefix: prefixes.virtual,
    nodes: meshNodes(tenant),
    services: tenant.list('deployments').map(({ record }) => meshService(tenant, record.spec.name)),
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

export function meshService(tenant: TenantStore, name: string): Service {
  const address = tenant.get('virtual-addresses', idOf('virtual-addresses', name))?.record.address;
  const ports = tenant.get('deployments', idOf('deployments', name))?.record.spec.ports ?? [];
  return {
    name,
    ...(address !== undefined && { address }),
    ...(ports.length > 0 && { ports: ports.map(({ container }) => container) }),
    instances: takingConnections(tenant, name),
  };
}

/** An instance that is to stop leaves first: its connections end while it is still there. */
function takingConnections(tenant: TenantStore, name: string): Service['instances'] {
  const observations = tenant.collection('observations');
  const isFailed = failures(tenant);
  return tenant
    .collection('instances')
    .listUnder(prefixOf('instances', name))
    .flatMap(({ id, record }) => {
      const seen = observations.get(id)?.record;
      if (record.wanted !== 'run' || seen?.phase !== 'running' || seen.address === undefined) return [];
      if (seen.health !== undefined && seen.health !== 'healthy') return [];
      return isFailed(record.nodeId) ? [] : [{ id: record.id, node: record.nodeId, address: seen.address }];
    });
}

/** Asked for every instance, looked up for every node. */
function failures(tenant: TenantStore): (node: NodeName) => boolean {
  const known = new Map<NodeName, boolean>();
  return (node) => {
    const failed =
      known.get(node) ?? tenant.get('node-liveness', idOf('node-liveness', node))?.record.status === 'failed';
    known.set(node, failed);
    return failed;
  };
}

import type { NetworkPrefixes } from '../../../core/model/mesh.ts';
import type { MeshMap } from '../../../core/protocol/agent-protocol.ts';
import { idOf, prefixOf } from '../../store/record-ids.ts';
import type { TenantStore } from '../../store/store.ts';

type MeshNode = MeshMap['nodes'][number];
type Service = MeshMap['services'][number];

/** The tenant's network as its agents are told of it. */
export function meshMap(tenant: TenantStore, prefixes: NetworkPrefixes): MeshMap {
  return {
    type: 'mesh',
    prefix: prefixes.nodes,
    virtualPrefix: prefixes.virtual,
    nodes: meshNodes(tenant),
    services: tenant.list('deployments').map(({ record }) => service(tenant, record.spec.name)),
  };
}

function meshNodes(tenant: TenantStore): readonly MeshNode[] {
  return tenant.list('nodes').flatMap(({ record: { name, mesh } }) => {
    const subnet = tenant.get('subnets', idOf('subnets', name))?.record.subnet;
    if (mesh === undefined || subnet === undefined) return [];
    const { publicKey, port, addresses } = mesh;
    return [{ name, publicKey, port, addresses, subnet }];
  });
}

function service(tenant: TenantStore, name: string): Service {
  const address = tenant.get('virtual-addresses', idOf('virtual-addresses', name))?.record.address;
  return { name, ...(address !== undefined && { address }), instances: takingConnections(tenant, name) };
}

/** An instance that is to stop leaves first: its connections end while it is still there. */
function takingConnections(tenant: TenantStore, name: string): Service['instances'] {
  const observations = tenant.collection('observations');
  return tenant
    .collection('instances')
    .listUnder(prefixOf('instances', name))
    .flatMap(({ id, record }) => {
      const seen = observations.get(id)?.record;
      if (record.wanted !== 'run' || seen?.phase !== 'running' || seen.address === undefined) return [];
      if (seen.health !== undefined && seen.health !== 'healthy') return [];
      const failed =
        tenant.get('node-liveness', idOf('node-liveness', record.nodeId))?.record.status === 'failed';
      return failed ? [] : [{ id: record.id, node: record.nodeId, address: seen.address }];
    });
}

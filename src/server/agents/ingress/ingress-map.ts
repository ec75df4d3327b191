import { type IngressEntry, servedIngress } from '../../../core/model/ingress.ts';
import type { DeploymentRecord } from '../../../core/model/deployment.ts';
import { splitSecretPath } from '../../../core/model/secret-path.ts';
import type { MeshMap } from '../../../core/protocol/agent-protocol.ts';
import { credentialOf } from '../../secrets/credential-writes.ts';
import { idOf } from '../../store/record-ids.ts';
import type { TenantStore } from '../../store/store.ts';

type Route = NonNullable<MeshMap['ingress']>[number];
export type AcmeSettings = NonNullable<MeshMap['acme']>;

/** What ingress nodes serve. Without one there is nothing to say to anybody. */
export function ingressMap(
  tenant: TenantStore,
  acme: AcmeSettings | undefined,
): Pick<MeshMap, 'ingress' | 'ingressNodes' | 'acme'> {
  const ingressNodes = servingNodes(tenant);
  if (ingressNodes.length === 0) return {};
  const ingress = tenant.list('deployments').flatMap(({ record }) => routesOf(tenant, record));
  return { ingress, ingressNodes, ...(acme && { acme }) };
}

/**
 * Those that have Caddy, which serves on while its agent is away. The first does for all what a lost one would not: those come last. One
 * that is silent for a moment stays where it is, since another first one closes open WebSockets on all of them.
 */
export function servingNodes(tenant: TenantStore): readonly string[] {
  const names = tenant
    .list('nodes')
    .flatMap(({ record: { name, ingress } }) => (ingress?.caddy === undefined ? [] : name))
    .sort();
  const isLost = (name: string): boolean =>
    tenant.get('node-liveness', idOf('node-liveness', name))?.record.lost === true;
  return [...names.filter((name) => !isLost(name)), ...names.filter(isLost)];
}

function routesOf(tenant: TenantStore, { spec }: DeploymentRecord): readonly Route[] {
  const served = servedIngress(spec);
  if (served.length === 0) return [];
  const address = tenant.get('virtual-addresses', idOf('virtual-addresses', spec.name))?.record.address;
  if (address === undefined) return [];
  return served.map((entry) => ({
    deployment: spec.name,
    protocol: entry.protocol ?? 'http',
    ...(entry.host !== undefined && { host: entry.host }),
    ...(entry.path !== undefined && entry.path !== '/' && { path: entry.path }),
    ...(entry.listen !== undefined && { listen: entry.listen }),
    address,
    port: entry.port,
    ...tlsOf(tenant, entry),
  }));
}

function tlsOf(tenant: TenantStore, { protocol = 'http', tls = 'auto' }: IngressEntry) {
  if (protocol !== 'http') return { tls: 'off' } as const;
  if (typeof tls === 'string') return { tls } as const;
  const path = splitSecretPath(tls.vault_path);
  const { current = 0, known = 0 } = (path && credentialOf(tenant, path)?.record) ?? {};
  return { tls: 'secret', certificate: `${tls.vault_path}@${current}.${known}` } as const;
}

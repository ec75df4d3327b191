import type { IngressEntry } from '../model/ingress.ts';
import { isRecord } from '../model/values.ts';
import type { DeploymentDraft } from './deployment-body.ts';
import type { IngressEntryDraft } from './workload/ingress.ts';

/** As a list, however it was sent. */
export function ingressDrafts(ingress: DeploymentDraft['ingress']): readonly IngressEntryDraft[] {
  if (ingress === undefined) return [];
  return isList(ingress) ? ingress : [ingress];
}

export function isList(
  ingress: NonNullable<DeploymentDraft['ingress']>,
): ingress is readonly IngressEntryDraft[] {
  return Array.isArray(ingress);
}

/** Of entries that passed their rule. */
export function ingressEntries(ingress: DeploymentDraft['ingress']): readonly IngressEntry[] {
  return ingressDrafts(ingress).map(({ host, path, listen, port = 0, protocol, tls, provider }) => ({
    ...(host !== undefined && { host }),
    ...(path !== undefined && { path }),
    ...(listen !== undefined && { listen }),
    port,
    ...(isProtocol(protocol) && { protocol }),
    ...tlsOf(tls),
    ...(isProvider(provider) && { provider }),
  }));
}

function isProtocol(said: string | undefined): said is 'http' | 'tcp' | 'udp' {
  return said === 'http' || said === 'tcp' || said === 'udp';
}

function isProvider(said: string | undefined): said is 'caddy' | 'traefik' {
  return said === 'caddy' || said === 'traefik';
}

function tlsOf(said: unknown): Pick<IngressEntry, 'tls'> {
  if (said === 'auto' || said === 'off') return { tls: said };
  const path = isRecord(said) ? said['vault_path'] : undefined;
  return typeof path === 'string' ? { tls: { vault_path: path } } : {};
}

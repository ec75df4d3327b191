import { ingressDrafts } from '../contract/ingress-drafts.ts';
import { isOnTenantNetwork, MAX_NETWORKS, TENANT_NETWORK } from '../model/network.ts';
import type { Rejection } from '../rejections/rejection.ts';
import { isName } from './name.ts';
import { type DeploymentInput, invalid } from './rule.ts';

/** In `access.from`: the nodes that take requests from outside. */
export const INGRESS_SOURCE = 'ingress';

function repeated(names: readonly string[]): number {
  return names.findIndex((name, at) => names.indexOf(name) !== at);
}

export function networksRule({ draft: { networks } }: DeploymentInput): Rejection | undefined {
  if (networks === undefined) return undefined;
  const form = `1 to ${MAX_NETWORKS} names of networks, each once; ${TENANT_NETWORK} is the tenant's own`;
  if (networks.length === 0 || networks.length > MAX_NETWORKS)
    return invalid(
      'networks_invalid',
      'networks',
      networks,
      form,
      networks.length === 0
        ? "A container without any network reaches nothing; without the field it is on the tenant's."
        : `A container is on at most ${MAX_NETWORKS} networks.`,
    );
  const bad = networks.findIndex((name) => !isName(name));
  if (bad >= 0)
    return invalid(
      'networks_invalid',
      `networks[${bad}]`,
      networks[bad],
      form,
      'A network is named by its name.',
    );
  const twice = repeated(networks);
  if (twice < 0) return undefined;
  return invalid(
    'networks_invalid',
    `networks[${twice}]`,
    networks[twice],
    form,
    'The network is named twice.',
  );
}

export function accessRule({ draft: { access, networks, ingress } }: DeploymentInput): Rejection | undefined {
  if (access === undefined) return undefined;
  const form = `names of deployments and jobs, each once, and ${INGRESS_SOURCE}; an empty list for nobody`;
  const refused = (field: string, value: unknown, why: string, expected = form): Rejection =>
    invalid('access_invalid', field, value, expected, why);
  const { from } = access;
  if (from === undefined) return refused('access.from', from, 'Who may connect has to be said.');
  const bad = from.findIndex((name) => !isName(name));
  if (bad >= 0) return refused(`access.from[${bad}]`, from[bad], 'No deployment or job has such a name.');
  const twice = repeated(from);
  if (twice >= 0) return refused(`access.from[${twice}]`, from[twice], 'The name is there twice.');
  if (!isOnTenantNetwork({ networks }))
    return refused(
      'access',
      from,
      "Connections are let through or refused on the tenant's network, and the deployment is not on it.",
      `no access, or networks with ${TENANT_NETWORK}`,
    );
  const served = ingressDrafts(ingress).some(({ provider }) => provider !== 'traefik');
  if (!served || from.includes(INGRESS_SOURCE)) return undefined;
  return refused(
    'access.from',
    from,
    'The deployment has an ingress, whose requests would be refused.',
    `access.from with ${INGRESS_SOURCE}, or no ingress`,
  );
}

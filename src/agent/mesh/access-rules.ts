import { addressAt, isWithin, parseCidr } from '../../core/model/ipv4.ts';
import { jobOwner } from '../../core/model/owner.ts';
import type { MeshMap } from '../../core/protocol/agent-protocol.ts';

type Service = MeshMap['services'][number];

export interface AccessRules {
  readonly chains: string;
  /** Of what is forwarded. */
  readonly forwarded: string;
  /**
   * Whom a virtual address refuses, as a condition of a rule: such packets are not translated. A refusal after the translation would not
   * find its way back on the same node, and the client would wait. Undefined: nobody.
   */
  readonly refusedBy: (service: Service) => string | undefined;
}

/**
 * Who may connect to the containers of this node, by the deployments that say so. Every packet of a connection is looked at, not only
 * the first: a source that is allowed no longer is cut, the others notice nothing. Processes of this machine are not asked: who rules it
 * rules its containers.
 *
 * An address that is not in the map yet is that of a container that has just started. What goes there is dropped, because it may be
 * one that is guarded; what comes from there too, and not refused, so that its next try passes.
 */
export function accessRules(
  map: MeshMap,
  { subnet, gateway }: { readonly subnet: string; readonly gateway: string },
): AccessRules {
  const guarded = map.services.filter(({ from }) => from !== undefined);
  if (guarded.length === 0) return { chains: '', forwarded: '', refusedBy: () => undefined };
  const here = guarded.flatMap((service) =>
    addressesOf(service)
      .filter((address) => isWithin(address, subnet))
      .map((address) => `${address} : jump ${chainOf(service)}`),
  );
  const known = [...map.services.flatMap(addressesOf), ...gateways(map, () => true)];
  return {
    chains: `${setOf('known', known)}  chain blocked {
    tcp flags & rst == rst return
    ip saddr != @known drop
    goto refused
  }
${guarded.map((service) => accessChain(map, service)).join('')}`,
    forwarded: `    ct direction reply return
    ip saddr != ${map.prefix} return
    ip daddr ${subnet} ip daddr != ${gateway} ip daddr != @known drop
${here.length === 0 ? '' : `    ip daddr vmap { ${here.join(', ')} }\n`}`,
    refusedBy: ({ from }) => {
      if (from === undefined) return undefined;
      const passing = [...sourcesOf(map, from), gateway];
      return `ip saddr @known ip saddr != { ${[...new Set(passing)].join(', ')} }`;
    },
  };
}

function accessChain(map: MeshMap, service: Service): string {
  const sources = sourcesOf(map, service.from ?? []);
  const pass = sources.length === 0 ? '' : `    ip saddr { ${sources.join(', ')} } return\n`;
  return `  chain ${chainOf(service)} {\n${pass}    goto blocked\n  }\n`;
}

function sourcesOf(map: MeshMap, from: readonly string[]): readonly string[] {
  const names = new Set<string>(from.flatMap((name) => [name, jobOwner(name)]));
  const ingress = new Set(names.has('ingress') ? map.ingressNodes : []);
  return [
    ...new Set([
      ...map.services.filter(({ name }) => names.has(name)).flatMap(addressesOf),
      ...gateways(map, (node) => ingress.has(node)),
    ]),
  ];
}

/** Of a machine's own processes, the ingress among them. */
function gateways({ nodes }: MeshMap, wanted: (node: string) => boolean): readonly string[] {
  return nodes
    .filter(({ name }) => wanted(name))
    .flatMap(({ subnet }) => {
      const network = parseCidr(subnet);
      return (network && addressAt(network, 1)) ?? [];
    });
}

function addressesOf({ instances, others = [] }: Service): readonly string[] {
  return [...instances.map(({ address }) => address), ...others];
}

function chainOf({ name }: Service): string {
  return `access-${name}`;
}

function setOf(name: string, addresses: readonly string[]): string {
  const all = [...new Set(addresses)];
  const elements = all.length === 0 ? '' : `    elements = { ${all.join(', ')} }\n`;
  return `  set ${name} {\n    type ipv4_addr\n${elements}  }\n`;
}

import { isWithin } from '../../core/model/ipv4.ts';
import type { MeshMap } from '../../core/protocol/agent-protocol.ts';
import { accessRules } from './access-rules.ts';
import { choiceOf, withShare } from './choice.ts';
import { MESH_TABLES } from './rule-set.ts';

/** What the rules of a node depend on beside the map. */
export interface MeshPlace {
  /** The engine's bridge of the tenant's network. */
  readonly bridge: { readonly name: string; readonly mac: string };
  readonly subnet: string;
  readonly gateway: string;
  /** Where names are answered. */
  readonly resolver: string;
  /** The mesh's interface. */
  readonly device: string;
}

const TABLE = MESH_TABLES.name;
type Service = MeshMap['services'][number];

/**
 * Everything of the mesh that nftables does; `rule-set.ts` puts it in the place of what was there, in one transaction:
 *
 * - Connections to a virtual address are given to one of its instances, at random. Those that are open keep theirs, because the kernel
 *   remembers them; so an instance that leaves is given nothing new while its connections end.
 * - The source stays what it was: engines translate whatever leaves their bridge, unless it has been translated already, so packets within
 *   the network are translated to themselves. By no set or map: in the moment at which rules are replaced it may have no elements, and the
 *   engine's translation, kept for the whole connection, would lead nowhere. Only an instance that is given its own connection sees the gateway.
 * - Packets between containers of one node are routed instead of bridged. Otherwise answers would pass by the translation.
 * - While the agent is away, questions for names are not refused: clients ask again, and do not fail.
 * - A virtual address without an instance refuses at once, rather than by a timeout. One with instances never does: a packet that meets
 *   the rules in the moment at which they are replaced may find the elements of neither, and stays as it was. The first one of a connection is
 *   dropped then, and the client's next one, a second later, is translated.
 * - Who is not on the network does not get in by way of the machine, whatever sender it writes on its packets: its containers on other
 *   networks, and its neighbours. A container is where its address says.
 * - A deployment that says who may connect is reached by nobody else (`access-rules.ts`).
 */
export function meshRules(map: MeshMap, place: MeshPlace): string {
  const { prefix, virtualPrefix, services } = map;
  const { bridge, subnet, gateway, resolver, device } = place;
  const access = accessRules(map, place);
  const served = services.flatMap((service) => {
    const { address, instances } = service;
    if (address === undefined || withShare(instances).length === 0) return [];
    return [{ address, instances, refused: access.refusedBy(service) }];
  });
  const local = services.flatMap(({ instances }) => instances.filter((one) => isWithin(one.address, subnet)));
  return `table bridge ${TABLE} {
  chain routed {
    type filter hook prerouting priority -300; policy accept;
    ip saddr ${subnet} ip daddr ${subnet} ip daddr != ${gateway} ether daddr set ${bridge.mac} meta pkttype set host
  }
}
table ip ${TABLE} {
  set selves {
    type ipv4_addr . ipv4_addr
${elements(local.map(({ address }) => `${address} . ${address}`))}  }
  set served {
    type ipv4_addr
${elements(served.map(({ address }) => address))}  }
  chain refused {
    meta l4proto tcp reject with tcp reset
    reject with icmp type host-unreachable
  }
${access.chains}${served.map(serviceChain).join('')}  map virtual {
    type ipv4_addr : verdict
${elements(served.map(({ address }) => `${address} : jump ${chainOf(address)}`))}  }
  chain strangers {
    type filter hook prerouting priority -310; policy accept;
    iifname != { "lo", "${device}", "${bridge.name}" } ip daddr { ${prefix}, ${virtualPrefix} } drop
    iifname "${bridge.name}" ip saddr != ${subnet} ip daddr { ${prefix}, ${virtualPrefix} } drop
  }
  chain arriving {
    type nat hook prerouting priority -110; policy accept;
    ip daddr vmap @virtual
  }
  chain leaving {
    type nat hook output priority -110; policy accept;
    ip daddr vmap @virtual
  }
  chain sources {
    type nat hook postrouting priority 90; policy accept;
    ip saddr . ip daddr @selves masquerade
    ip saddr ${prefix} ip daddr ${prefix} snat to ip saddr
  }
  chain untranslated {
${served.map(({ address, refused }) => (refused === undefined ? '' : `    ip daddr ${address} ${refused} goto refused\n`)).join('')}    ip daddr @served tcp flags syn drop
    goto refused
  }
  chain forwarded {
    type filter hook forward priority 0; policy accept;
    ip daddr ${virtualPrefix} jump untranslated
${access.forwarded}  }
  chain sent {
    type filter hook output priority 0; policy accept;
    ip saddr ${resolver} icmp type destination-unreachable drop
    ip daddr ${virtualPrefix} jump untranslated
  }
}
`;
}

function elements(all: readonly string[]): string {
  return all.length === 0 ? '' : `    elements = { ${all.join(', ')} }\n`;
}

function chainOf(address: string): string {
  return `to-${address.replaceAll('.', '-')}`;
}

function serviceChain({
  address,
  instances,
  refused,
}: {
  readonly address: string;
  readonly instances: Service['instances'];
  readonly refused: string | undefined;
}): string {
  const unless = refused === undefined ? '' : `    ${refused} return\n`;
  return `  chain ${chainOf(address)} {\n${unless}    dnat to ${choiceOf(instances, (one) => one.address)}\n  }\n`;
}

import { isWithin } from '../../core/model/ipv4.ts';
import type { MeshMap } from '../../core/protocol/agent-protocol.ts';

interface Advertised {
  readonly node: string;
  readonly port: number;
  readonly addresses: readonly string[];
}

/** What is wrong with an address that this node was told to name, as far as the map shows it. */
export function advertisedProblem(
  { node, port, addresses }: Advertised,
  { prefix, virtualPrefix, nodes }: Pick<MeshMap, 'prefix' | 'virtualPrefix' | 'nodes'>,
): string | undefined {
  for (const address of addresses) {
    const flag = `--advertise-address ${address}`;
    const inside = [prefix, virtualPrefix].find((network) => isWithin(address, network));
    if (inside !== undefined)
      return `${flag} is part of the tenant's network itself (${inside}), by which no machine is found: name an address of the machine, or leave it out`;
    const other = nodes.find(
      (one) => one.name !== node && one.port === port && one.addresses.includes(address),
    );
    if (other !== undefined)
      return `${flag} with UDP ${port} is where ${other.name} is: name the address that leads to this machine, or forward another port to it (--mesh PORT)`;
  }
  return undefined;
}

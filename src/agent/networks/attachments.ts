import { TENANT_NETWORK } from '../../core/model/network.ts';
import type { AssignedContainer } from '../../core/protocol/agent-protocol.ts';
import type { ContainerNetwork } from '../containers/container-spec.ts';
import { QUICK_BACK_OFF, StepError } from '../containers/failures.ts';
import { networkLabels, networkName, OWN_LABELS, type Ownership } from '../containers/own-labels.ts';
import type { Engine, NetworkState } from '../engine/engine.ts';

/** Neither slugs nor names hold a dot, so no two tenants and no tenant's own network can meet in one name. */
export function namedNetworkName(owner: Ownership, name: string): string {
  return `${networkName(owner)}.${name}`;
}

interface Attached {
  readonly engine: Engine;
  readonly owner: Ownership;
}

/** By name, whatever the order in which they are listed: engines take the first for the way out, and it stays the same one. */
function namesOf({ networks = [] }: AssignedContainer): readonly string[] {
  return networks.filter((name) => name !== TENANT_NETWORK).sort();
}

function isOnTenants({ networks }: AssignedContainer): boolean {
  return networks === undefined || networks.includes(TENANT_NETWORK);
}

/** What a container is made with; it is attached to the others before it starts, because older engines take one at a time. */
export async function firstNetwork(
  container: AssignedContainer,
  tenants: ContainerNetwork,
  { engine, owner }: Attached,
): Promise<ContainerNetwork> {
  const names = namesOf(container);
  if (names.length === 0) return tenants;
  const own = await ownNetworks(engine, owner);
  for (const name of names) found(own, name);
  const [first = ''] = names;
  return isOnTenants(container) ? tenants : { name: namedNetworkName(owner, first) };
}

/** May run again after any crash: what is attached already stays. */
export async function attachRest(
  container: AssignedContainer,
  containerId: string,
  { engine, owner }: Attached,
): Promise<void> {
  const names = namesOf(container);
  if (names.length === 0 || (names.length === 1 && !isOnTenants(container))) return;
  const { networks } = await engine.inspect(containerId);
  const there = new Set(networks.map(({ name }) => name));
  const missing = names.filter((name) => !there.has(namedNetworkName(owner, name)));
  if (missing.length === 0) return;
  const own = await ownNetworks(engine, owner);
  for (const name of missing) await engine.connect(found(own, name).id, containerId, [container.alias]);
}

async function ownNetworks(engine: Engine, owner: Ownership): Promise<readonly NetworkState[]> {
  return await engine.listNetworks(networkLabels(owner));
}

function found(own: readonly NetworkState[], name: string): NetworkState {
  const network = own.find(({ labels }) => labels[OWN_LABELS.network] === name);
  if (network !== undefined) return network;
  throw new StepError('network_not_ready', `the network ${name} is not on this node (yet)`, QUICK_BACK_OFF);
}

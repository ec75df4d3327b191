import { networkLabels, networkName, OWN_LABELS, type Ownership } from '../containers/own-labels.ts';
import type { ContainerState } from '../engine/container.ts';
import type { Engine } from '../engine/engine.ts';
import { EngineNotFoundError } from '../engine/errors.ts';
import { run } from '../volumes/program.ts';

const CALL = { deadlineMs: 15_000 };

/** What containers of before are joined to. */
export interface JoinedNetwork {
  readonly name: string;
  readonly gateway: string;
  /** All that lies behind the gateway. */
  readonly prefixes: readonly string[];
  /** It has an address there now. */
  readonly onJoined: (containerId: string) => Promise<void>;
}

/**
 * Containers that were made before this node took part in the mesh are attached to a network of their own. They are not made again for
 * it: they are attached to the tenant's network as well, under the name of their deployment. So they keep finding one another, are
 * found by all that is newer, and find by name what is newer on this node, by the engine's resolver. When the last of them is gone their
 * network goes.
 */
export async function joinEarlier(engine: Engine, owner: Ownership, network: JoinedNetwork): Promise<void> {
  const there = await engine.listNetworks(networkLabels(owner), CALL);
  const earlier = there.find(({ name }) => name === networkName(owner));
  const mesh = there.find(({ name }) => name === network.name);
  if (earlier === undefined || mesh === undefined) return;
  const names = await engine.networkContainers(earlier, CALL);
  if (names.length === 0) return await engine.removeNetwork(earlier.id, CALL);
  for (const name of names) {
    const container = await inspected(engine, name);
    if (container !== undefined && isOwn(container, owner)) await join(engine, mesh.id, network, container);
  }
}

async function inspected(engine: Engine, name: string): Promise<ContainerState | undefined> {
  return await engine.inspect(name, CALL).catch((error: unknown) => {
    if (error instanceof EngineNotFoundError) return undefined;
    throw error;
  });
}

function isOwn({ labels }: ContainerState, owner: Ownership): boolean {
  return labels[OWN_LABELS.node] === owner.node && labels[OWN_LABELS.install] === owner.installId;
}

/** Its way out stays as it was, so the way to other nodes is told to it: again after each start, which forgets it. */
async function join(
  engine: Engine,
  networkId: string,
  { name, gateway, prefixes, onJoined }: JoinedNetwork,
  { id, labels, networks, status }: ContainerState,
): Promise<void> {
  if (status !== 'running') return;
  if (!networks.some((one) => one.name === name)) {
    await engine.connect(networkId, id, [labels[OWN_LABELS.deployment] ?? ''], CALL);
    await onJoined(id);
  }
  const { pid, status: now } = await engine.inspect(id, CALL);
  if (pid === undefined || pid === 0 || now !== 'running') return;
  for (const prefix of prefixes)
    await run('nsenter', [`--net=/proc/${pid}/ns/net`, 'ip', 'route', 'replace', prefix, 'via', gateway]);
}

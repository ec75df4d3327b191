import type { Engine, NetworkSpec } from '../engine/engine.ts';

const CALL = { deadlineMs: 15_000 };

/** The engine's part of the mesh. With another subnet than before it is made again, once nothing is attached to it. */
export async function ensureEngineNetwork(engine: Engine, spec: NetworkSpec): Promise<void> {
  const there = (await engine.listNetworks(spec.labels, CALL)).find(({ name }) => name === spec.name);
  const subnet = spec.addressing?.subnet;
  if (there !== undefined && there.subnet !== subnet) {
    const attached = await engine.networkContainers(there, CALL);
    if (attached.length > 0)
      throw new Error(
        `the engine's network ${spec.name} has ${there.subnet ?? 'no subnet'}, and the node was given ${subnet ?? 'none'}; it moves when nothing is attached to it: drain the node (attached: ${attached.slice(0, 5).join(', ')})`,
      );
    await engine.removeNetwork(there.id, CALL);
  }
  await engine.ensureNetwork(spec, CALL);
}

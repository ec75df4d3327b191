import type { Log } from '../log.ts';
import { BtrfsEngine } from './btrfs-engine.ts';
import { RsyncEngine } from './rsync-engine.ts';
import type { VolumeEngine } from './volume-engine.ts';

/** Those that work here; why the others do not is logged once, with what to install. `only`: this one or none. */
export async function detectVolumeEngines(log: Log, only?: string): Promise<readonly VolumeEngine[]> {
  const found: VolumeEngine[] = [];
  // Best first.
  for (const engine of [new BtrfsEngine(), new RsyncEngine({ log })]) {
    if (only !== undefined && engine.name !== only) continue;
    const missing = await engine.missing();
    if (missing !== undefined) {
      log.info('an engine for replicated volumes does not work here', { engine: engine.name, missing });
      continue;
    }
    found.push(engine);
    const problem = await engine.cannotReceive?.();
    if (problem !== undefined)
      log.warn('copies of volumes cannot be received here', { engine: engine.name, problem });
  }
  return found;
}

/** Why copies from other nodes are not taken in here, one message for each engine that cannot. */
export async function receiveProblems(engines: readonly VolumeEngine[]): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const engine of engines) {
    const problem = await engine.cannotReceive?.();
    if (problem !== undefined)
      problems.push(`copies of volumes cannot be received by ${engine.name} (receive_unsafe): ${problem}`);
  }
  return problems;
}

import type { MeshMap } from '../../core/protocol/agent-protocol.ts';
import { TTL_S } from './names.ts';

/** Clients keep an address for so long, and the maps of other nodes, which are sent together with ours, come within it. */
export const DRAIN_MS = TTL_S * 1_000;
/** From the order to stop, whatever is heard of the map by then. */
export const LONGEST_MS = 3_000;

/**
 * Until when an instance that is to stop is left running: it is given no new connections from the moment at which it leaves the map, and
 * that has to be known everywhere before it ends. Nodes that are away are not waited for.
 */
export class Draining {
  /** By instance: its deployment. */
  #listed: ReadonlyMap<string, string> = new Map();
  readonly #leftMs = new Map<string, number>();
  #beganMs = 0;
  #sinceMs: number | undefined;

  /** A session: its first map comes at once, or the control plane knows of none. */
  begin(nowMs: number): void {
    this.#beganMs = nowMs;
  }

  take(services: MeshMap['services'], nowMs: number): void {
    this.#sinceMs ??= nowMs;
    const before = this.#listed;
    this.#listed = new Map(services.flatMap(({ name, instances }) => instances.map(({ id }) => [id, name])));
    const served = new Set(services.flatMap(({ name, instances }) => (instances.length === 0 ? [] : name)));
    for (const [id, atMs] of this.#leftMs) if (nowMs - atMs > LONGEST_MS) this.#leftMs.delete(id);
    // Where no other instance takes connections nobody is sent elsewhere: it would only be away for longer.
    for (const [id, name] of before)
      if (!this.#listed.has(id) && served.has(name)) this.#leftMs.set(id, nowMs);
  }

  /** An agent that has just started does not know what left before: the rules of this node may still have been those of before. */
  untilMs(instanceId: string, orderedMs: number): number {
    const latestMs = orderedMs + LONGEST_MS;
    if (this.#sinceMs === undefined) return Math.min(latestMs, this.#beganMs + LONGEST_MS);
    if (this.#listed.has(instanceId)) return latestMs;
    return Math.min(latestMs, (this.#leftMs.get(instanceId) ?? this.#sinceMs) + DRAIN_MS);
  }
}

/** Per node slot, how many. */
type Counts = Map<number, number>;
/** A slot: where the one instance is of a deployment that has one, as most have. A map of it would take 400 bytes. */
type Held = Counts | number;

/** Which deployments are where, and whom they refuse to share a node with. */
export class Occupancy {
  private readonly deployments = new Map<string, Held>();
  /** Refused deployment → the deployment that refuses it → where. */
  private readonly refusals = new Map<string, Map<string, Held>>();

  add(slot: number, deployment: string, refused: readonly string[]): void {
    raise(this.deployments, deployment, slot);
    for (const name of refused) {
      const refusers = this.refusals.get(name) ?? new Map<string, Held>();
      this.refusals.set(name, refusers);
      raise(refusers, deployment, slot);
    }
  }

  remove(slot: number, deployment: string, refused: readonly string[]): void {
    lower(this.deployments, deployment, slot);
    for (const name of refused) {
      const refusers = this.refusals.get(name);
      if (refusers === undefined) continue;
      lower(refusers, deployment, slot);
      if (refusers.size === 0) this.refusals.delete(name);
    }
  }

  count(slot: number, deployment: string): number {
    return countIn(this.deployments.get(deployment), slot);
  }

  countsOf(deployment: string): ReadonlyMap<number, number> | undefined {
    const held = this.deployments.get(deployment);
    return typeof held === 'number' ? new Map([[held, 1]]) : held;
  }

  isRefused(slot: number, deployment: string): boolean {
    const refusers = this.refusals.get(deployment);
    if (refusers === undefined) return false;
    for (const held of refusers.values()) if (countIn(held, slot) > 0) return true;
    return false;
  }

  refusers(slot: number, deployment: string): readonly string[] {
    const refusers = this.refusals.get(deployment) ?? new Map<string, Held>();
    return [...refusers]
      .filter(([, held]) => countIn(held, slot) > 0)
      .map(([name]) => name)
      .sort();
  }
}

function countIn(held: Held | undefined, slot: number): number {
  if (typeof held === 'number') return held === slot ? 1 : 0;
  return held?.get(slot) ?? 0;
}

function raise(all: Map<string, Held>, name: string, slot: number): void {
  const held = all.get(name);
  if (held === undefined) {
    all.set(name, slot);
    return;
  }
  const counts: Counts = typeof held === 'number' ? new Map([[held, 1]]) : held;
  if (counts !== held) all.set(name, counts);
  counts.set(slot, (counts.get(slot) ?? 0) + 1);
}

function lower(all: Map<string, Held>, name: string, slot: number): void {
  const held = all.get(name);
  const count = countIn(held, slot);
  if (count === 0) return;
  if (held === undefined || typeof held === 'number') {
    all.delete(name);
    return;
  }
  if (count > 1) held.set(slot, count - 1);
  else held.delete(slot);
  if (held.size === 0) all.delete(name);
}

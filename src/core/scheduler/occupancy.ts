/** Per node slot, how many. */
type Counts = Map<number, number>;

/** Which deployments are where, and whom they refuse to share a node with. */
export class Occupancy {
  private readonly deployments = new Map<string, Counts>();
  /** Where the one instance is of a deployment that has one, as most have: a map of it would take 400 bytes. */
  private readonly single = new Map<string, number>();
  /** Refused deployment → the deployment that refuses it → where. */
  private readonly refusals = new Map<string, Map<string, Counts>>();

  add(slot: number, deployment: string, refused: readonly string[]): void {
    this.raiseOf(deployment, slot);
    for (const name of refused) {
      const refusers = this.refusals.get(name) ?? new Map<string, Counts>();
      this.refusals.set(name, refusers);
      raise(within(refusers, deployment), slot);
    }
  }

  remove(slot: number, deployment: string, refused: readonly string[]): void {
    if (this.single.get(deployment) === slot) this.single.delete(deployment);
    else lower(this.deployments, deployment, slot);
    for (const name of refused) {
      const refusers = this.refusals.get(name);
      if (refusers === undefined) continue;
      lower(refusers, deployment, slot);
      if (refusers.size === 0) this.refusals.delete(name);
    }
  }

  count(slot: number, deployment: string): number {
    const single = this.single.get(deployment);
    if (single !== undefined) return single === slot ? 1 : 0;
    return this.deployments.get(deployment)?.get(slot) ?? 0;
  }

  countsOf(deployment: string): ReadonlyMap<number, number> | undefined {
    const single = this.single.get(deployment);
    return single === undefined ? this.deployments.get(deployment) : new Map([[single, 1]]);
  }

  private raiseOf(deployment: string, slot: number): void {
    const counts = this.deployments.get(deployment);
    if (counts !== undefined) {
      raise(counts, slot);
      return;
    }
    const single = this.single.get(deployment);
    if (single === undefined) {
      this.single.set(deployment, slot);
      return;
    }
    this.single.delete(deployment);
    const both: Counts = new Map([[single, 1]]);
    raise(both, slot);
    this.deployments.set(deployment, both);
  }

  isRefused(slot: number, deployment: string): boolean {
    const refusers = this.refusals.get(deployment);
    if (refusers === undefined) return false;
    for (const counts of refusers.values()) if (counts.has(slot)) return true;
    return false;
  }

  refusers(slot: number, deployment: string): readonly string[] {
    const refusers = this.refusals.get(deployment) ?? new Map<string, Counts>();
    return [...refusers]
      .filter(([, counts]) => counts.has(slot))
      .map(([name]) => name)
      .sort();
  }
}

function within(counted: Map<string, Counts>, name: string): Counts {
  const known = counted.get(name);
  if (known) return known;
  const counts: Counts = new Map();
  counted.set(name, counts);
  return counts;
}

function raise(counts: Counts, slot: number): void {
  counts.set(slot, (counts.get(slot) ?? 0) + 1);
}

function lower(counted: Map<string, Counts>, name: string, slot: number): void {
  const counts = counted.get(name);
  const count = counts?.get(slot) ?? 0;
  if (counts === undefined || count === 0) return;
  if (count > 1) counts.set(slot, count - 1);
  else counts.delete(slot);
  if (counts.size === 0) counted.delete(name);
}

import { SlotCounts } from './slot-counts.ts';

/** A slot: where the one instance is of a deployment that has one, as most have. Counts of it would take 500 bytes. */
export type Held = SlotCounts | number;

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

  /** Where instances of the deployment are; undefined: nowhere. */
  heldBy(deployment: string): Held | undefined {
    return this.deployments.get(deployment);
  }

  isRefused(slot: number, deployment: string): boolean {
    const refusers = this.refusals.get(deployment);
    if (refusers === undefined) return false;
    for (const held of refusers.values()) if (holds(held, slot)) return true;
    return false;
  }

  refusers(slot: number, deployment: string): readonly string[] {
    const refusers = this.refusals.get(deployment) ?? new Map<string, Held>();
    return [...refusers]
      .filter(([, held]) => holds(held, slot))
      .map(([name]) => name)
      .sort();
  }
}

export function holds(held: Held | undefined, slot: number): boolean {
  if (typeof held === 'number') return held === slot;
  return held?.has(slot) === true;
}

/** Slots that hold any, in no order. */
export function slotsIn(held: Held): Iterable<number> {
  return typeof held === 'number' ? [held] : held.slots();
}

function countIn(held: Held | undefined, slot: number): number {
  if (typeof held === 'number') return held === slot ? 1 : 0;
  return held?.get(slot) ?? 0;
}

function raise(all: Map<string, Held>, name: string, slot: number): void {
  const held = all.get(name);
  if (held === undefined) all.set(name, slot);
  else if (typeof held === 'number') {
    const counts = new SlotCounts();
    counts.raise(held);
    counts.raise(slot);
    all.set(name, counts);
  } else held.raise(slot);
}

function lower(all: Map<string, Held>, name: string, slot: number): void {
  const held = all.get(name);
  if (held === undefined || !holds(held, slot)) return;
  if (typeof held !== 'number') {
    held.lower(slot);
    if (held.size > 0) return;
  }
  all.delete(name);
}

import { freeCpuMicros, freeMemoryBytes, type NodeLedger } from './node-state.ts';
import { share } from './score.ts';

const NONE = -1;

/** Whom a ranking holds, and how many instances of its deployment each one has (0 throughout for a shared ranking). */
export interface RankingScope {
  /** Depends on the node's description only; asked again when that changes. */
  admitsNode(ledger: NodeLedger): boolean;
  admitsOccupancy(ledger: NodeLedger): boolean;
  sameDeployment(ledger: NodeLedger): number;
}

/** A place in the order, whether or not a node is there now. */
export interface Rank {
  readonly same: number;
  readonly utilisation: number;
  readonly name: string;
}

/**
 * Nodes kept in the order of `compareScores`, so that the best node with enough free capacity is found without looking at the
 * others. Two treaps: nodes whose cpu is the fuller side, and nodes whose memory is. Every subtree knows the most free cpu and
 * the most free memory below it, and a search passes over subtrees that cannot serve the request. Kept as one tree, a stretch of
 * nodes of which half lack cpu and half lack memory would look as if it could serve both.
 *
 * Order and free amounts are those of the last `refresh` of a slot; the owner refreshes what changed before it searches.
 */
export class Ranking {
  private readonly scope: RankingScope;
  private readonly roots: [number, number] = [NONE, NONE];
  /** Which treap a slot is in, NONE when in neither. */
  private tree = new Int8Array(0);
  private left = new Int32Array(0);
  private right = new Int32Array(0);
  private revision = new Float64Array(0);
  private admitted = new Uint8Array(0);
  private same = new Int32Array(0);
  private utilisation = new Float64Array(0);
  private freeCpu = new Float64Array(0);
  private freeMemory = new Float64Array(0);
  private mostCpu = new Float64Array(0);
  private mostMemory = new Float64Array(0);
  private readonly names: string[] = [];
  private splitLeft = NONE;
  private splitRight = NONE;
  private neededCpu = 0;
  private neededMemory = 0;
  private bound = NONE;
  private after: Rank | undefined;
  private accept: (slot: number) => boolean = () => true;
  /** Fitting nodes that the last search's `accept` turned down: work that a ranking of its own would save. */
  passedOver = 0;

  constructor(scope: RankingScope) {
    this.scope = scope;
  }

  /** Brings one slot up to date; `undefined` when nothing occupies the slot any more. */
  refresh(slot: number, ledger: NodeLedger | undefined): void {
    this.reserve(slot);
    if (ledger === undefined || !this.admits(ledger)) {
      this.take(slot);
      return;
    }
    const cpuShare = share(ledger.usedCpuMicros, ledger.capacity.cpuMicros);
    const memoryShare = share(ledger.usedMemoryBytes, ledger.capacity.memoryBytes);
    const same = this.scope.sameDeployment(ledger);
    const freeCpu = freeCpuMicros(ledger);
    const freeMemory = freeMemoryBytes(ledger);
    const utilisation = Math.max(cpuShare, memoryShare);
    const tree = cpuShare >= memoryShare ? 0 : 1;
    if (
      this.tree[slot] === tree &&
      this.same[slot] === same &&
      this.utilisation[slot] === utilisation &&
      this.freeCpu[slot] === freeCpu &&
      this.freeMemory[slot] === freeMemory &&
      this.names[slot] === ledger.name
    ) {
      return;
    }
    this.take(slot);
    this.same[slot] = same;
    this.utilisation[slot] = utilisation;
    this.freeCpu[slot] = freeCpu;
    this.freeMemory[slot] = freeMemory;
    this.names[slot] = ledger.name;
    this.left[slot] = NONE;
    this.right[slot] = NONE;
    this.pull(slot);
    this.tree[slot] = tree;
    this.roots[tree] = this.insert(this.roots[tree], slot);
  }

  /** The best slot with enough free capacity that `accept` takes, or -1; with `after`, of those behind that rank. */
  best(cpuMicros: number, memoryBytes: number, accept: (slot: number) => boolean, after?: Rank): number {
    this.after = after;
    this.neededCpu = cpuMicros;
    this.neededMemory = memoryBytes;
    this.accept = accept;
    this.passedOver = 0;
    this.bound = NONE;
    this.bound = this.search(this.roots[0]);
    const other = this.search(this.roots[1]);
    return other === NONE ? this.bound : other;
  }

  private search(at: number): number {
    if (at === NONE || amount(this.mostCpu, at) < this.neededCpu) return NONE;
    if (amount(this.mostMemory, at) < this.neededMemory) return NONE;
    if (this.after !== undefined && !this.isBehind(at, this.after)) return this.search(link(this.right, at));
    const earlier = this.search(link(this.left, at));
    if (earlier !== NONE) return earlier;
    if (this.bound !== NONE && this.before(this.bound, at)) return NONE;
    if (amount(this.freeCpu, at) >= this.neededCpu && amount(this.freeMemory, at) >= this.neededMemory) {
      if (this.accept(at)) return at;
      this.passedOver++;
    }
    return this.search(link(this.right, at));
  }

  rankOf(slot: number): Rank {
    return {
      same: link(this.same, slot),
      utilisation: amount(this.utilisation, slot),
      name: this.names[slot] ?? '',
    };
  }

  private isBehind(at: number, rank: Rank): boolean {
    const same = link(this.same, at) - rank.same;
    if (same !== 0) return same > 0;
    const fit = rank.utilisation - amount(this.utilisation, at);
    if (fit !== 0) return fit > 0;
    return (this.names[at] ?? '') > rank.name;
  }

  private admits(ledger: NodeLedger): boolean {
    const { slot } = ledger;
    if (this.revision[slot] !== ledger.revision) {
      this.revision[slot] = ledger.revision;
      this.admitted[slot] = this.scope.admitsNode(ledger) ? 1 : 0;
    }
    return this.admitted[slot] === 1 && this.scope.admitsOccupancy(ledger);
  }

  private take(slot: number): void {
    const tree = this.tree[slot];
    if (tree === 0 || tree === 1) this.roots[tree] = this.remove(this.roots[tree], slot);
    this.tree[slot] = NONE;
  }

  /** The order of `compareScores`, on what was true at the last refresh. */
  private before(a: number, b: number): boolean {
    const same = link(this.same, a) - link(this.same, b);
    if (same !== 0) return same < 0;
    const fit = amount(this.utilisation, b) - amount(this.utilisation, a);
    if (fit !== 0) return fit < 0;
    return (this.names[a] ?? '') < (this.names[b] ?? '');
  }

  private insert(at: number, slot: number): number {
    if (at === NONE) return slot;
    if (priority(slot) > priority(at)) {
      this.split(at, slot);
      this.left[slot] = this.splitLeft;
      this.right[slot] = this.splitRight;
      this.pull(slot);
      return slot;
    }
    if (this.before(slot, at)) this.left[at] = this.insert(link(this.left, at), slot);
    else this.right[at] = this.insert(link(this.right, at), slot);
    this.pull(at);
    return at;
  }

  private split(at: number, slot: number): void {
    if (at === NONE) {
      this.splitLeft = NONE;
      this.splitRight = NONE;
    } else if (this.before(slot, at)) {
      this.split(link(this.left, at), slot);
      this.left[at] = this.splitRight;
      this.pull(at);
      this.splitRight = at;
    } else {
      this.split(link(this.right, at), slot);
      this.right[at] = this.splitLeft;
      this.pull(at);
      this.splitLeft = at;
    }
  }

  private remove(at: number, slot: number): number {
    if (at === slot) return this.merge(link(this.left, at), link(this.right, at));
    if (at === NONE) throw new Error(`slot ${slot} is not where its rank says`);
    if (this.before(slot, at)) this.left[at] = this.remove(link(this.left, at), slot);
    else this.right[at] = this.remove(link(this.right, at), slot);
    this.pull(at);
    return at;
  }

  private merge(a: number, b: number): number {
    if (a === NONE) return b;
    if (b === NONE) return a;
    if (priority(a) > priority(b)) {
      this.right[a] = this.merge(link(this.right, a), b);
      this.pull(a);
      return a;
    }
    this.left[b] = this.merge(a, link(this.left, b));
    this.pull(b);
    return b;
  }

  private pull(at: number): void {
    let cpu = amount(this.freeCpu, at);
    let memory = amount(this.freeMemory, at);
    const left = link(this.left, at);
    if (left !== NONE) {
      cpu = Math.max(cpu, amount(this.mostCpu, left));
      memory = Math.max(memory, amount(this.mostMemory, left));
    }
    const right = link(this.right, at);
    if (right !== NONE) {
      cpu = Math.max(cpu, amount(this.mostCpu, right));
      memory = Math.max(memory, amount(this.mostMemory, right));
    }
    this.mostCpu[at] = cpu;
    this.mostMemory[at] = memory;
  }

  private reserve(slot: number): void {
    if (slot < this.tree.length) return;
    const size = Math.max(64, 2 ** Math.ceil(Math.log2(slot + 1)));
    this.tree = grown(new Int8Array(size).fill(NONE), this.tree);
    this.left = grown(new Int32Array(size), this.left);
    this.right = grown(new Int32Array(size), this.right);
    this.revision = grown(new Float64Array(size), this.revision);
    this.admitted = grown(new Uint8Array(size), this.admitted);
    this.same = grown(new Int32Array(size), this.same);
    this.utilisation = grown(new Float64Array(size), this.utilisation);
    this.freeCpu = grown(new Float64Array(size), this.freeCpu);
    this.freeMemory = grown(new Float64Array(size), this.freeMemory);
    this.mostCpu = grown(new Float64Array(size), this.mostCpu);
    this.mostMemory = grown(new Float64Array(size), this.mostMemory);
  }
}

// Slots in a tree are always within the arrays, so the fallbacks only satisfy the type. Two functions, because one that sees
// both kinds of array is several times slower.
function link(array: Int32Array, at: number): number {
  return array[at] ?? 0;
}

function amount(array: Float64Array, at: number): number {
  return array[at] ?? 0;
}

/** A fixed scramble of the slot number: balances like a random priority, and core has no randomness. */
function priority(slot: number): number {
  let mixed = Math.imul(slot + 1, 0x9e3779b1);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x85ebca6b);
  return (mixed ^ (mixed >>> 13)) >>> 0;
}

function grown<A extends { set(from: A): void }>(to: A, from: A): A {
  to.set(from);
  return to;
}

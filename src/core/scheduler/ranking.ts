import { freeCpuMicros, freeMemoryBytes, type NodeLedger } from './node-state.ts';
import { share } from './score.ts';

const NONE = -1;

// One row of eight numbers per slot, which is one cache line: a step down the tree touches one line per node and not eight.
const LEFT = 0;
const RIGHT = 1;
const SAME = 2;
const UTILISATION = 3;
const FREE_CPU = 4;
const FREE_MEMORY = 5;
const MOST_CPU = 6;
const MOST_MEMORY = 7;
const WIDTH = 8;

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
  private rows = new Float64Array(0);
  private revision = new Float64Array(0);
  private admitted = new Uint8Array(0);
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
      this.get(slot, SAME) === same &&
      this.get(slot, UTILISATION) === utilisation &&
      this.get(slot, FREE_CPU) === freeCpu &&
      this.get(slot, FREE_MEMORY) === freeMemory &&
      this.names[slot] === ledger.name
    ) {
      return;
    }
    this.take(slot);
    this.set(slot, SAME, same);
    this.set(slot, UTILISATION, utilisation);
    this.set(slot, FREE_CPU, freeCpu);
    this.set(slot, FREE_MEMORY, freeMemory);
    this.names[slot] = ledger.name;
    this.set(slot, LEFT, NONE);
    this.set(slot, RIGHT, NONE);
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

  /** In order, without a call for what cannot serve: most of a search is passing over nodes that are full or have the deployment. */
  private search(from: number): number {
    const { rows, after, bound } = this;
    let at = from;
    while (at !== NONE && this.mayServe(at)) {
      const row = at * WIDTH;
      const right = rows[row + RIGHT] ?? NONE;
      if (after === undefined || this.isBehind(at, after)) {
        const left = rows[row + LEFT] ?? NONE;
        if (left !== NONE && this.mayServe(left)) {
          const earlier = this.search(left);
          if (earlier !== NONE) return earlier;
        }
        if (bound !== NONE && this.before(bound, at)) return NONE;
        if (
          (rows[row + FREE_CPU] ?? 0) >= this.neededCpu &&
          (rows[row + FREE_MEMORY] ?? 0) >= this.neededMemory
        ) {
          if (this.accept(at)) return at;
          this.passedOver++;
        }
      }
      at = right;
    }
    return NONE;
  }

  /** Some node of the subtree has enough cpu, and some has enough memory. */
  private mayServe(at: number): boolean {
    return this.get(at, MOST_CPU) >= this.neededCpu && this.get(at, MOST_MEMORY) >= this.neededMemory;
  }

  rankOf(slot: number): Rank {
    return {
      same: this.get(slot, SAME),
      utilisation: this.get(slot, UTILISATION),
      name: this.names[slot] ?? '',
    };
  }

  private isBehind(at: number, rank: Rank): boolean {
    const same = this.get(at, SAME) - rank.same;
    if (same !== 0) return same > 0;
    const fit = rank.utilisation - this.get(at, UTILISATION);
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
    const same = this.get(a, SAME) - this.get(b, SAME);
    if (same !== 0) return same < 0;
    const fit = this.get(b, UTILISATION) - this.get(a, UTILISATION);
    if (fit !== 0) return fit < 0;
    return (this.names[a] ?? '') < (this.names[b] ?? '');
  }

  private insert(at: number, slot: number): number {
    if (at === NONE) return slot;
    if (priority(slot) > priority(at)) {
      this.split(at, slot);
      this.set(slot, LEFT, this.splitLeft);
      this.set(slot, RIGHT, this.splitRight);
      this.pull(slot);
      return slot;
    }
    if (this.before(slot, at)) this.set(at, LEFT, this.insert(this.get(at, LEFT), slot));
    else this.set(at, RIGHT, this.insert(this.get(at, RIGHT), slot));
    this.set(at, MOST_CPU, Math.max(this.get(at, MOST_CPU), this.get(slot, FREE_CPU)));
    this.set(at, MOST_MEMORY, Math.max(this.get(at, MOST_MEMORY), this.get(slot, FREE_MEMORY)));
    return at;
  }

  private split(at: number, slot: number): void {
    if (at === NONE) {
      this.splitLeft = NONE;
      this.splitRight = NONE;
    } else if (this.before(slot, at)) {
      this.split(this.get(at, LEFT), slot);
      this.set(at, LEFT, this.splitRight);
      this.pull(at);
      this.splitRight = at;
    } else {
      this.split(this.get(at, RIGHT), slot);
      this.set(at, RIGHT, this.splitLeft);
      this.pull(at);
      this.splitLeft = at;
    }
  }

  private remove(at: number, slot: number): number {
    if (at === slot) return this.merge(this.get(at, LEFT), this.get(at, RIGHT));
    if (at === NONE) throw new Error(`slot ${slot} is not where its rank says`);
    if (this.before(slot, at)) this.set(at, LEFT, this.remove(this.get(at, LEFT), slot));
    else this.set(at, RIGHT, this.remove(this.get(at, RIGHT), slot));
    // Best fit changes full nodes, which are seldom the freest below any other: most of the path keeps what it knows.
    const wasFreest =
      this.get(slot, FREE_CPU) === this.get(at, MOST_CPU) ||
      this.get(slot, FREE_MEMORY) === this.get(at, MOST_MEMORY);
    if (wasFreest) this.pull(at);
    return at;
  }

  private merge(a: number, b: number): number {
    if (a === NONE) return b;
    if (b === NONE) return a;
    if (priority(a) > priority(b)) {
      this.set(a, RIGHT, this.merge(this.get(a, RIGHT), b));
      this.pull(a);
      return a;
    }
    this.set(b, LEFT, this.merge(a, this.get(b, LEFT)));
    this.pull(b);
    return b;
  }

  private pull(at: number): void {
    let cpu = this.get(at, FREE_CPU);
    let memory = this.get(at, FREE_MEMORY);
    const left = this.get(at, LEFT);
    if (left !== NONE) {
      cpu = Math.max(cpu, this.get(left, MOST_CPU));
      memory = Math.max(memory, this.get(left, MOST_MEMORY));
    }
    const right = this.get(at, RIGHT);
    if (right !== NONE) {
      cpu = Math.max(cpu, this.get(right, MOST_CPU));
      memory = Math.max(memory, this.get(right, MOST_MEMORY));
    }
    this.set(at, MOST_CPU, cpu);
    this.set(at, MOST_MEMORY, memory);
  }

  /** Slots in a tree are always within the array; the fallback only satisfies the type. */
  private get(at: number, column: number): number {
    return this.rows[at * WIDTH + column] ?? 0;
  }

  private set(at: number, column: number, value: number): void {
    this.rows[at * WIDTH + column] = value;
  }

  private reserve(slot: number): void {
    if (slot < this.tree.length) return;
    const size = Math.max(64, 2 ** Math.ceil(Math.log2(slot + 1)));
    this.tree = grown(new Int8Array(size).fill(NONE), this.tree);
    this.rows = grown(new Float64Array(size * WIDTH), this.rows);
    this.revision = grown(new Float64Array(size), this.revision);
    this.admitted = grown(new Uint8Array(size), this.admitted);
  }
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

import { freeCpuMicros, freeMemoryBytes, type NodeLedger } from './node-state.ts';
import { share } from './score.ts';

const NONE = -1;

// One row of eight numbers per slot, which is one cache line: a step down the tree touches one line per node and not eight.
// The first two of them are four whole numbers.
const SAME = 2;
const UTILISATION = 3;
const FREE_CPU = 4;
const FREE_MEMORY = 5;
const MOST_CPU = 6;
const MOST_MEMORY = 7;
const WIDTH = 8;
const LEFT = 0;
const RIGHT = 1;
const PARENT = 2;
const PRIORITY = 3;
const LINKS_WIDTH = 16;

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
  /** The same memory. */
  private links = new Int32Array(0);
  private revision = new Float64Array(0);
  private admitted = new Uint8Array(0);
  private readonly names: string[] = [];
  private splitLeft = NONE;
  private splitRight = NONE;
  private neededCpu = 0;
  private neededMemory = 0;
  private accept: (slot: number) => boolean = () => true;
  /** Nodes that a search comes back to. */
  private readonly pending: number[] = [];
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
    const was = this.tree[slot];
    const row = slot * WIDTH;
    const { rows } = this;
    const [hadCpu = 0, hadMemory = 0] = [rows[row + FREE_CPU], rows[row + FREE_MEMORY]];
    rows[row + SAME] = same;
    rows[row + UTILISATION] = utilisation;
    rows[row + FREE_CPU] = freeCpu;
    rows[row + FREE_MEMORY] = freeMemory;
    this.names[slot] = ledger.name;
    if (was === tree && this.isInOrder(slot)) {
      this.settle(slot);
      return;
    }
    if (was === 0 || was === 1) this.remove(was, slot, hadCpu, hadMemory);
    this.tree[slot] = tree;
    this.insert(tree, slot);
  }

  /** The best slot with enough free capacity that `accept` takes, or -1; with `after`, of those behind that rank. */
  best(cpuMicros: number, memoryBytes: number, accept: (slot: number) => boolean, after?: Rank): number {
    this.neededCpu = cpuMicros;
    this.neededMemory = memoryBytes;
    this.accept = accept;
    this.passedOver = 0;
    const found = this.search(this.roots[0], NONE, after);
    const other = this.search(this.roots[1], found, after);
    return other === NONE ? found : other;
  }

  /**
   * In order, and no further than `bound`. Most of a search is passing over nodes that are full or have the deployment, so it is one loop
   * without calls of itself.
   */
  private search(root: number, bound: number, after: Rank | undefined): number {
    const { rows, links, pending, neededCpu, neededMemory } = this;
    let depth = 0;
    let at = root;
    while (true) {
      while (at !== NONE && this.mayServe(at)) {
        const isCandidate = after === undefined || this.isBehind(at, after);
        if (isCandidate) pending[depth++] = at;
        at = links[at * LINKS_WIDTH + (isCandidate ? LEFT : RIGHT)] ?? NONE;
      }
      if (depth === 0) return NONE;
      at = pending[--depth] ?? NONE;
      if (bound !== NONE && this.before(bound, at)) return NONE;
      const row = at * WIDTH;
      if ((rows[row + FREE_CPU] ?? 0) >= neededCpu && (rows[row + FREE_MEMORY] ?? 0) >= neededMemory) {
        if (this.accept(at)) return at;
        this.passedOver++;
      }
      at = links[at * LINKS_WIDTH + RIGHT] ?? NONE;
    }
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
    if (tree === 0 || tree === 1)
      this.remove(tree, slot, this.get(slot, FREE_CPU), this.get(slot, FREE_MEMORY));
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

  /** Whether the slot's new rank still lies between its neighbours': what is placed on a node moves it a little, mostly not past another. */
  private isInOrder(slot: number): boolean {
    const previous = this.neighbour(slot, LEFT, RIGHT);
    if (previous !== NONE && !this.before(previous, slot)) return false;
    const next = this.neighbour(slot, RIGHT, LEFT);
    return next === NONE || this.before(slot, next);
  }

  private neighbour(slot: number, side: number, other: number): number {
    let below = this.link(slot, side);
    if (below !== NONE) {
      for (let next = this.link(below, other); next !== NONE; next = this.link(below, other)) below = next;
      return below;
    }
    let from = slot;
    let above = this.link(slot, PARENT);
    while (above !== NONE && this.link(above, side) === from) {
      from = above;
      above = this.link(above, PARENT);
    }
    return above;
  }

  private insert(tree: 0 | 1, slot: number): void {
    const priority = this.link(slot, PRIORITY);
    let parent = NONE;
    let side = LEFT;
    let at = this.roots[tree];
    while (at !== NONE && this.link(at, PRIORITY) > priority) {
      parent = at;
      side = this.before(slot, at) ? LEFT : RIGHT;
      at = this.link(at, side);
    }
    this.split(at, slot);
    this.hang(slot, LEFT, this.splitLeft);
    this.hang(slot, RIGHT, this.splitRight);
    this.pull(slot);
    this.replace(tree, parent, side, slot);
    const { rows } = this;
    const [cpu = 0, memory = 0] = [rows[slot * WIDTH + FREE_CPU], rows[slot * WIDTH + FREE_MEMORY]];
    for (; parent !== NONE; parent = this.link(parent, PARENT)) {
      const row = parent * WIDTH;
      const [mostCpu = 0, mostMemory = 0] = [rows[row + MOST_CPU], rows[row + MOST_MEMORY]];
      if (cpu <= mostCpu && memory <= mostMemory) return;
      rows[row + MOST_CPU] = Math.max(cpu, mostCpu);
      rows[row + MOST_MEMORY] = Math.max(memory, mostMemory);
    }
  }

  private split(at: number, slot: number): void {
    if (at === NONE) {
      this.splitLeft = NONE;
      this.splitRight = NONE;
    } else if (this.before(slot, at)) {
      this.split(this.link(at, LEFT), slot);
      this.hang(at, LEFT, this.splitRight);
      this.pull(at);
      this.splitRight = at;
    } else {
      this.split(this.link(at, RIGHT), slot);
      this.hang(at, RIGHT, this.splitLeft);
      this.pull(at);
      this.splitLeft = at;
    }
  }

  /** `cpu` and `memory` are what the slot had free while it was in the tree. */
  private remove(tree: 0 | 1, slot: number, cpu: number, memory: number): void {
    const parent = this.link(slot, PARENT);
    const side = parent !== NONE && this.link(parent, LEFT) === slot ? LEFT : RIGHT;
    this.replace(tree, parent, side, this.merge(this.link(slot, LEFT), this.link(slot, RIGHT)));
    // Best fit changes full nodes, which are seldom the freest below any other: most of the path keeps what it knows.
    if (parent === NONE) return;
    const wasFreest = cpu >= this.get(parent, MOST_CPU) || memory >= this.get(parent, MOST_MEMORY);
    if (wasFreest) this.settle(parent);
  }

  private merge(a: number, b: number): number {
    if (a === NONE) return b;
    if (b === NONE) return a;
    if (this.link(a, PRIORITY) > this.link(b, PRIORITY)) {
      this.hang(a, RIGHT, this.merge(this.link(a, RIGHT), b));
      this.pull(a);
      return a;
    }
    this.hang(b, LEFT, this.merge(a, this.link(b, LEFT)));
    this.pull(b);
    return b;
  }

  /** Puts a subtree where another one was: below `parent`, or at the top. */
  private replace(tree: 0 | 1, parent: number, side: number, child: number): void {
    if (parent !== NONE) {
      this.hang(parent, side, child);
      return;
    }
    this.roots[tree] = child;
    if (child !== NONE) this.links[child * LINKS_WIDTH + PARENT] = NONE;
  }

  private hang(parent: number, side: number, child: number): void {
    this.links[parent * LINKS_WIDTH + side] = child;
    if (child !== NONE) this.links[child * LINKS_WIDTH + PARENT] = parent;
  }

  /** Tells those above, as far up as it makes a difference. */
  private settle(from: number): void {
    let at = from;
    while (at !== NONE && this.pull(at)) at = this.link(at, PARENT);
  }

  /** Whether that changed anything. */
  private pull(at: number): boolean {
    const { rows } = this;
    const row = at * WIDTH;
    let cpu = rows[row + FREE_CPU] ?? 0;
    let memory = rows[row + FREE_MEMORY] ?? 0;
    const left = this.link(at, LEFT);
    if (left !== NONE) {
      cpu = Math.max(cpu, this.get(left, MOST_CPU));
      memory = Math.max(memory, this.get(left, MOST_MEMORY));
    }
    const right = this.link(at, RIGHT);
    if (right !== NONE) {
      cpu = Math.max(cpu, this.get(right, MOST_CPU));
      memory = Math.max(memory, this.get(right, MOST_MEMORY));
    }
    const isSame = rows[row + MOST_CPU] === cpu && rows[row + MOST_MEMORY] === memory;
    rows[row + MOST_CPU] = cpu;
    rows[row + MOST_MEMORY] = memory;
    return !isSame;
  }

  /** Slots in a tree are always within the array; the fallback only satisfies the type. */
  private get(at: number, column: number): number {
    return this.rows[at * WIDTH + column] ?? 0;
  }

  private link(at: number, column: number): number {
    return this.links[at * LINKS_WIDTH + column] ?? NONE;
  }

  private reserve(slot: number): void {
    if (slot < this.tree.length) return;
    const size = Math.max(64, 2 ** Math.ceil(Math.log2(slot + 1)));
    const begun = this.tree.length;
    this.tree = grown(new Int8Array(size).fill(NONE), this.tree);
    this.rows = grown(new Float64Array(size * WIDTH), this.rows);
    this.links = new Int32Array(this.rows.buffer);
    for (let at = begun; at < size; at++) this.links[at * LINKS_WIDTH + PRIORITY] = scrambled(at);
    this.revision = grown(new Float64Array(size), this.revision);
    this.admitted = grown(new Uint8Array(size), this.admitted);
  }
}

/** The priority in the treap, a fixed scramble of the slot number: balances like a random priority, and core has no randomness. */
function scrambled(slot: number): number {
  let mixed = Math.imul(slot + 1, 0x9e3779b1);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x85ebca6b);
  return mixed ^ (mixed >>> 13);
}

function grown<A extends { set(from: A): void }>(to: A, from: A): A {
  to.set(from);
  return to;
}

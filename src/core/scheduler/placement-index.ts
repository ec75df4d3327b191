import type { LabelIndex } from './label-index.ts';
import type { NodeLedger } from './node-state.ts';
import { type Rank, Ranking, type RankingScope } from './ranking.ts';
import type { PlacementRequest } from './request.ts';
import { deploymentRequirementKey, nodeRequirementKey } from './requirement-key.ts';

/** What the index asks of the cluster. `slots` has a hole where nothing is known. */
export interface IndexedCluster {
  readonly slots: readonly (NodeLedger | undefined)[];
  readonly labels: LabelIndex;
  admitsNode(ledger: NodeLedger, request: PlacementRequest): boolean;
  admitsOccupancy(ledger: NodeLedger, request: PlacementRequest): boolean;
  sameDeployment(ledger: NodeLedger, request: PlacementRequest): number;
}

interface KeptRanking {
  readonly ranking: Ranking;
  /** Number of the first change that the ranking has not seen. */
  seen: number;
}

/** Work that a ranking of the deployment's own would have saved so far, and that ranking once it has paid for itself. */
interface DeploymentWork {
  readonly key: string;
  passedOver: number;
  kept?: KeptRanking;
}

/** Where the last search of a shared ranking ended. */
interface Cursor {
  readonly request: PlacementRequest;
  readonly slot: number;
  readonly rank: Rank;
  /** Number of changes at that time. */
  readonly changes: number;
}

interface Keys {
  readonly request: PlacementRequest;
  readonly node: string;
  readonly deployment: string;
}

/** When the index keeps what. None of them changes a choice, only its cost. */
export interface IndexLimits {
  /** So few nodes are examined one by one faster than an order of them is kept. */
  readonly fewNodes: number;
  readonly sharedRankings: number;
  readonly deployments: number;
  /** Changes remembered at least, and per node. */
  readonly changes: number;
  readonly changesPerNode: number;
  /** What a ranking costs to build, per node in it, counted in passed-over nodes. */
  readonly ownRankingCost: number;
}

/** A ranking takes about 80 bytes per node: these bounds are some 50 MB at 10,000 nodes. */
export const INDEX_LIMITS: IndexLimits = {
  fewNodes: 64,
  sharedRankings: 32,
  deployments: 32,
  changes: 4096,
  changesPerNode: 4,
  ownRankingCost: 8,
};

/** Passing over fewer than this part of the nodes costs less than a ranking that is kept up to date for it, and than noting it. */
const NOTED_PART = 64;

/**
 * Keeps the rankings that decisions search. Rankings are caches of the ledgers: they learn of changes
 * from a bounded log when they are next used, and are rebuilt when they have fallen off its end.
 */
export class PlacementIndex {
  private readonly cluster: IndexedCluster;
  private readonly limits: IndexLimits;
  /** Of the last request only: instances of a deployment come one after another, and a map of all requests costs more. */
  private lastKeys: Keys | undefined;
  private readonly shared = new Map<string, KeptRanking>();
  /** Least recently used first. */
  private readonly works = new Map<string, DeploymentWork>();
  private cursor: Cursor | undefined;
  private newestWork = '';
  private changes: number[] = [];
  private firstChange = 0;

  constructor(cluster: IndexedCluster, limits: IndexLimits) {
    this.cluster = cluster;
    this.limits = limits;
  }

  changed(slot: number): void {
    this.changes.push(slot);
    const limit = Math.max(this.limits.changes, this.limits.changesPerNode * this.cluster.slots.length);
    if (this.changes.length <= limit) return;
    const dropped = limit >> 1;
    this.changes = this.changes.slice(dropped);
    this.firstChange += dropped;
  }

  /** All nodes that pass node filters, without regard to any deployment; brought up to date. */
  private sharedRanking(request: PlacementRequest): Ranking {
    const key = this.keysOf(request).node;
    const known = this.shared.get(key);
    if (known) return this.upToDate(known);
    const kept = this.keep(request, {
      admitsNode: (ledger) => this.cluster.admitsNode(ledger, request),
      admitsOccupancy: () => true,
      sameDeployment: () => 0,
    });
    if (this.shared.size >= this.limits.sharedRankings) evictLeastUsed(this.shared);
    this.shared.set(key, kept);
    return kept.ranking;
  }

  /**
   * The best slot of the shared ranking that `accept` takes, or -1. When nothing has happened since this request's last search but
   * that its choice was taken, everything before that choice is still refused, so the search goes on behind it: the instances of one
   * deployment do not pass over one another's nodes again and again.
   */
  searchShared(request: PlacementRequest, accept: (slot: number) => boolean): number {
    const ranking = this.sharedRanking(request);
    const { cpuMicros, memoryBytes } = request.amounts;
    const slot = ranking.best(cpuMicros, memoryBytes, accept, this.resumed(request));
    const changes = this.firstChange + this.changes.length;
    this.cursor = slot < 0 ? undefined : { request, slot, rank: ranking.rankOf(slot), changes };
    if (ranking.passedOver * NOTED_PART > this.cluster.slots.length) this.charge(request, ranking.passedOver);
    return slot;
  }

  private resumed(request: PlacementRequest): Rank | undefined {
    const { cursor } = this;
    if (cursor?.request !== request) return undefined;
    if (this.firstChange + this.changes.length !== cursor.changes + 1) return undefined;
    // The node was chosen for having no instance of the deployment: if it has one now, that is the one change.
    const ledger = this.cluster.slots[cursor.slot];
    return ledger && this.cluster.sameDeployment(ledger, request) > 0 ? cursor.rank : undefined;
  }

  /** The deployment's own ranking, if it has earned one and it is worth bringing up to date. */
  ownRanking(request: PlacementRequest): Ranking | undefined {
    const work = this.works.get(request.deployment);
    if (work?.kept === undefined) return undefined;
    if (work.key !== this.keysOf(request).deployment) {
      this.works.delete(request.deployment);
      return undefined;
    }
    const missed = this.firstChange + this.changes.length - work.kept.seen;
    if (missed > Math.max(64, this.cluster.slots.length / 4)) {
      this.works.delete(request.deployment);
      return undefined;
    }
    this.use(request.deployment, work);
    return this.upToDate(work.kept);
  }

  /** Called with the nodes that a shared ranking made the search pass over; enough of it earns an own ranking. */
  charge(request: PlacementRequest, passedOver: number): void {
    const key = this.keysOf(request).deployment;
    const known = this.works.get(request.deployment);
    const work = known?.key === key ? known : { key, passedOver: 0 };
    work.passedOver += passedOver;
    this.use(request.deployment, work);
    evictOldest(this.works, this.limits.deployments);
    if (work.kept || work.passedOver < this.limits.ownRankingCost * this.cluster.slots.length) return;
    // `exclude` may differ from one decision to the next and is left to the search.
    const { exclude: _, ...lasting } = request;
    work.kept = this.keep(lasting, {
      admitsNode: (ledger) => this.cluster.admitsNode(ledger, lasting),
      admitsOccupancy: (ledger) => this.cluster.admitsOccupancy(ledger, lasting),
      sameDeployment: (ledger) => this.cluster.sameDeployment(ledger, lasting),
    });
  }

  private use(deployment: string, work: DeploymentWork): void {
    if (deployment === this.newestWork && this.works.get(deployment) === work) return;
    this.works.delete(deployment);
    this.works.set(deployment, work);
    this.newestWork = deployment;
  }

  private keep(request: PlacementRequest, scope: RankingScope): KeptRanking {
    return { ranking: this.built(request, scope), seen: this.firstChange + this.changes.length };
  }

  private built(request: PlacementRequest, scope: RankingScope): Ranking {
    const ranking = new Ranking(scope);
    const carriers = this.cluster.labels.rarest(request.placement?.constraints);
    const slots = carriers ?? this.cluster.slots.keys();
    for (const slot of slots) ranking.refresh(slot, this.cluster.slots[slot]);
    return ranking;
  }

  private upToDate(kept: KeptRanking): Ranking {
    const { slots } = this.cluster;
    if (kept.seen < this.firstChange) {
      for (const slot of slots.keys()) kept.ranking.refresh(slot, slots[slot]);
    } else {
      for (let at = kept.seen - this.firstChange; at < this.changes.length; at++) {
        const slot = this.changes[at] ?? 0;
        kept.ranking.refresh(slot, slots[slot]);
      }
    }
    kept.seen = this.firstChange + this.changes.length;
    return kept.ranking;
  }

  private keysOf(request: PlacementRequest): Keys {
    if (this.lastKeys?.request === request) return this.lastKeys;
    const node = nodeRequirementKey(request);
    this.lastKeys = { request, node, deployment: deploymentRequirementKey(request, node) };
    return this.lastKeys;
  }
}

/** A use brings a ranking up to date, so the one that has seen the fewest changes was used least recently, or with others at the last change. */
function evictLeastUsed(kept: Map<string, KeptRanking>): void {
  let oldest: string | undefined;
  let seen = Number.POSITIVE_INFINITY;
  for (const [key, ranking] of kept) {
    if (ranking.seen >= seen) continue;
    oldest = key;
    seen = ranking.seen;
  }
  if (oldest !== undefined) kept.delete(oldest);
}

function evictOldest(kept: Map<string, unknown>, limit: number): void {
  for (const key of kept.keys()) {
    if (kept.size <= limit) return;
    kept.delete(key);
  }
}

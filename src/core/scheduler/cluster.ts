import { type InstanceId, type NodeName, nodeName, type TenantId } from '../model/ids.ts';
import type { OwnerName } from '../model/owner.ts';
import type { Region, UnstatedCountry } from '../model/region.ts';
import type { Quota } from '../model/tenant.ts';
import { type AdvertisedLabels, advertisedLabels } from './advertised-labels.ts';
import type { Amounts } from './amounts.ts';
import type { ClusterFacts } from './filters/filter.ts';
import { disk } from './filters/disk.ts';
import { admitsAll, NODE_FILTERS, OCCUPANCY_FILTERS, PLACE_FILTERS } from './filters/index.ts';
import { withinQuota } from './filters/quota.ts';
import { LabelIndex } from './label-index.ts';
import { type ClusterNode, isEnrolled, NodeLedger, type NodeState } from './node-state.ts';
import { holds, Occupancy, slotsIn } from './occupancy.ts';
import { INDEX_LIMITS, type IndexedCluster, type IndexLimits, PlacementIndex } from './placement-index.ts';
import type { PlacementRequest } from './request.ts';
import { compareScores, type Score, scoreOf } from './score.ts';

export interface ClusterSettings {
  readonly tenantId: TenantId;
  readonly isPlatformTenant: boolean;
  readonly controlPlaneNodes?: ReadonlySet<NodeName>;
  readonly regions: readonly Region[];
  readonly residencyEnforcement: boolean;
  /** Absent: `keep`. */
  readonly residencyUnstated?: UnstatedCountry;
  readonly quota: Quota;
}

/** What an instance takes from its node and from the tenant's quota, as long as its record exists. */
export interface PlacedInstance {
  readonly id: InstanceId;
  readonly node: NodeName;
  readonly deployment: OwnerName;
  readonly amounts: Amounts;
  /** Against the quota; absent: its amounts. */
  readonly counted?: Amounts;
  readonly hostPorts?: readonly number[];
  readonly antiAffinity?: readonly string[];
  /** Its agent was ordered to remove it and has not reported it gone yet. */
  readonly stopping?: boolean;
}

const NO_PORTS: readonly number[] = [];
const NO_NAMES: readonly string[] = [];

/** One tenant's nodes and what is placed on them, kept in memory as the records change. */
export class ClusterState implements ClusterFacts, IndexedCluster {
  readonly tenantId: TenantId;
  readonly isPlatformTenant: boolean;
  readonly controlPlaneNodes: ReadonlySet<NodeName>;
  readonly regions: readonly Region[];
  readonly residencyEnforcement: boolean;
  readonly residencyUnstated: UnstatedCountry;
  quota: Quota;
  readonly slots: (NodeLedger | undefined)[] = [];
  readonly labels = new LabelIndex();
  private readonly freeSlots: number[] = [];
  private readonly ledgers = new Map<NodeName, NodeLedger>();
  private readonly instances = new Map<InstanceId, PlacedInstance>();
  private readonly occupancy = new Occupancy();
  private readonly limits: IndexLimits;
  private readonly index: PlacementIndex;
  /** No disk: no quota knows it. */
  private readonly used = { cpuMicros: 0, memoryBytes: 0, diskBytes: 0 };
  private revisions = 0;
  /** Of connected nodes. */
  private readonly clocks = { nodes: 0, differing: 0 };
  private advertisedNow: AdvertisedLabels | undefined;

  constructor(settings: ClusterSettings, limits: IndexLimits = INDEX_LIMITS) {
    this.limits = limits;
    this.index = new PlacementIndex(this, limits);
    this.tenantId = settings.tenantId;
    this.isPlatformTenant = settings.isPlatformTenant;
    this.controlPlaneNodes = settings.controlPlaneNodes ?? new Set();
    this.regions = settings.regions;
    this.residencyEnforcement = settings.residencyEnforcement;
    this.residencyUnstated = settings.residencyUnstated ?? 'keep';
    this.quota = settings.quota;
  }

  get containers(): number {
    return this.instances.size;
  }

  get clockDoubted(): boolean {
    return this.clocks.differing * 2 > this.clocks.nodes;
  }

  get total(): Amounts {
    return this.used;
  }

  /** Adds a node, or replaces what is known of it. */
  setNode(node: ClusterNode): void {
    const { name, tenantId } = node.record;
    // A caller that gets this wrong has a fault that must not become a placement.
    if (tenantId !== this.tenantId) throw new Error(`node ${name} belongs to another tenant`);
    this.describe(this.ledger(name), node);
  }

  removeNode(name: NodeName): void {
    const ledger = this.ledgers.get(name);
    if (ledger?.node === undefined) return;
    this.describe(ledger, undefined);
    this.dropIfUnused(ledger);
  }

  /** Adds an instance, or replaces it: its node may not be known (yet), and then nothing but the quota is affected. */
  addInstance(instance: PlacedInstance): void {
    this.removeInstance(instance.id);
    this.count(instance);
  }

  private count(instance: PlacedInstance): void {
    const { deployment, amounts, counted = amounts } = instance;
    const ledger = this.ledger(instance.node);
    this.instances.set(instance.id, instance);
    this.used.cpuMicros += counted.cpuMicros;
    this.used.memoryBytes += counted.memoryBytes;
    ledger.take(amounts, deployment, instance.hostPorts ?? NO_PORTS);
    if (instance.stopping === true) ledger.stopping++;
    this.occupancy.add(ledger.slot, deployment, instance.antiAffinity ?? NO_NAMES);
    this.index.changed(ledger.slot);
  }

  removeInstance(id: InstanceId): void {
    const instance = this.instances.get(id);
    if (instance === undefined) return;
    const ledger = this.ledger(instance.node);
    const { deployment, amounts, counted = amounts } = instance;
    this.instances.delete(id);
    this.used.cpuMicros -= counted.cpuMicros;
    this.used.memoryBytes -= counted.memoryBytes;
    ledger.release(amounts, deployment, instance.hostPorts ?? NO_PORTS);
    if (instance.stopping === true) ledger.stopping--;
    this.occupancy.remove(ledger.slot, deployment, instance.antiAffinity ?? NO_NAMES);
    this.index.changed(ledger.slot);
    this.dropIfUnused(ledger);
  }

  /** Chooses a node for one more container, whose id is new, and counts the container there; undefined when no node takes it. */
  place(id: InstanceId, request: PlacementRequest): Score | undefined {
    const chosen = this.choose(request);
    if (chosen === undefined) return undefined;
    const { deployment, amounts, counted = amounts, hostPorts = NO_PORTS } = request;
    const antiAffinity = request.placement?.antiAffinity ?? NO_NAMES;
    this.count({ id, node: chosen.node, deployment, amounts, counted, hostPorts, antiAffinity });
    return chosen;
  }

  /** The first node by score among those that every filter admits. Changes nothing that a caller can see. */
  choose(request: PlacementRequest): Score | undefined {
    if (!withinQuota(request, this)) return undefined;
    const few = this.fewCandidates(request);
    if (few) return this.bestOf(few, request);
    const { cpuMicros, memoryBytes } = request.amounts;
    const own = this.index.ownRanking(request);
    if (own) {
      const found = own.best(cpuMicros, memoryBytes, (slot) => this.takes(slot, request));
      return this.scored(found, this.occupancy.count(found, request.deployment));
    }

    // Spread comes first: a node without the deployment is better than any node with it, so those are searched before.
    const held = this.occupancy.heldBy(request.deployment);
    const fresh = this.index.searchShared(request, (slot) => !holds(held, slot) && this.takes(slot, request));
    if (fresh >= 0 || held === undefined) return this.scored(fresh, 0);
    this.index.charge(request, typeof held === 'number' ? 1 : held.size);
    return this.bestOf(slotsIn(held), request);
  }

  get hasNodes(): boolean {
    return this.ledgers.size > 0;
  }

  /** Enrolled nodes by name. */
  nodes(): readonly NodeState[] {
    return [...this.ledgers.values()].filter(isEnrolled).sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  node(name: NodeName): NodeState | undefined {
    const ledger = this.ledgers.get(name);
    return ledger && isEnrolled(ledger) ? ledger : undefined;
  }

  instance(id: InstanceId): PlacedInstance | undefined {
    return this.instances.get(id);
  }

  advertised = (): AdvertisedLabels => {
    this.advertisedNow ??= advertisedLabels(this.nodes().map((state) => state.node.record.labels));
    return this.advertisedNow;
  };

  instancesOn = (node: NodeState, deployment: string): number => this.occupancy.count(node.slot, deployment);

  isRefusedOn = (node: NodeState, deployment: string): boolean =>
    this.occupancy.isRefused(node.slot, deployment);

  refusersOn = (node: NodeState, deployment: string): readonly string[] =>
    this.occupancy.refusers(node.slot, deployment);

  admitsNode(ledger: NodeLedger, request: PlacementRequest): boolean {
    return isEnrolled(ledger) && admitsAll(NODE_FILTERS, ledger, request, this);
  }

  admitsOccupancy(ledger: NodeLedger, request: PlacementRequest): boolean {
    return isEnrolled(ledger) && admitsAll(OCCUPANCY_FILTERS, ledger, request, this);
  }

  sameDeployment(ledger: NodeLedger, request: PlacementRequest): number {
    return this.occupancy.count(ledger.slot, request.deployment);
  }

  private takes(slot: number, request: PlacementRequest): boolean {
    const ledger = this.slots[slot];
    return ledger !== undefined && this.admitsOccupancy(ledger, request) && this.hasDisk(ledger, request);
  }

  /** Few ask for any: no ranking knows it, and nobody else pays for the question. */
  private hasDisk(ledger: NodeLedger, request: PlacementRequest): boolean {
    return request.amounts.diskBytes === 0 || (isEnrolled(ledger) && disk.admits(ledger, request, this));
  }

  /** Slots to examine one by one: all others are refused by a filter that names or counts these. */
  private fewCandidates(request: PlacementRequest): Iterable<number> | undefined {
    if (request.nodeId !== undefined) return this.slotsOf([nodeName(request.nodeId)]);
    const [first] = request.volumes ?? [];
    if (first) return this.slotsOf(first.nodes);
    const [network] = request.networks ?? [];
    if (network) return this.slotsOf(network.node === undefined ? [] : [network.node]);
    if (request.placement?.constraints === undefined) return undefined;
    const carriers = this.labels.rarest(request.placement.constraints);
    return carriers && carriers.size <= this.limits.fewNodes ? carriers : undefined;
  }

  private slotsOf(names: readonly NodeName[]): readonly number[] {
    return names.flatMap((name) => this.ledgers.get(name)?.slot ?? []);
  }

  private bestOf(slots: Iterable<number>, request: PlacementRequest): Score | undefined {
    let best: Score | undefined;
    for (const slot of slots) {
      const ledger = this.slots[slot];
      if (!ledger || !isEnrolled(ledger) || !admitsAll(PLACE_FILTERS, ledger, request, this)) continue;
      const score = scoreOf(ledger, this.sameDeployment(ledger, request));
      if (best === undefined || compareScores(score, best) < 0) best = score;
    }
    return best;
  }

  private scored(slot: number, sameDeployment: number): Score | undefined {
    const ledger = this.slots[slot];
    return ledger && isEnrolled(ledger) ? scoreOf(ledger, sameDeployment) : undefined;
  }

  private describe(ledger: NodeLedger, node: ClusterNode | undefined): void {
    this.labels.replace(ledger.slot, ledger.node?.record.labels, node?.record.labels);
    const doubted = this.clockDoubted;
    this.countClock(ledger.node, -1);
    this.countClock(node, 1);
    ledger.describe(node, ++this.revisions);
    this.advertisedNow = undefined;
    this.index.changed(ledger.slot);
    if (doubted !== this.clockDoubted) this.judgeAllAgain();
  }

  private countClock(node: ClusterNode | undefined, sign: 1 | -1): void {
    if (node?.connected !== true) return;
    this.clocks.nodes += sign;
    if (node.record.conditions?.some(({ kind }) => kind === 'clock')) this.clocks.differing += sign;
  }

  /** What is remembered of nodes does not hold any more, whatever they are. */
  private judgeAllAgain(): void {
    for (const ledger of this.ledgers.values()) {
      ledger.describe(ledger.node, ++this.revisions);
      this.index.changed(ledger.slot);
    }
  }

  private ledger(name: NodeName): NodeLedger {
    const known = this.ledgers.get(name);
    if (known) return known;
    const ledger = new NodeLedger(this.freeSlots.pop() ?? this.slots.length, name);
    this.slots[ledger.slot] = ledger;
    this.ledgers.set(name, ledger);
    return ledger;
  }

  private dropIfUnused(ledger: NodeLedger): void {
    if (ledger.node !== undefined || ledger.instances > 0) return;
    this.slots[ledger.slot] = undefined;
    this.ledgers.delete(ledger.name);
    this.freeSlots.push(ledger.slot);
  }
}

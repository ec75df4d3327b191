import type { InstanceUsage } from '../../core/protocol/agent-protocol.ts';
import type { TenantId } from '../../core/model/ids.ts';
import type { OwnerName } from '../../core/model/owner.ts';

export interface MeasuredUsage extends InstanceUsage {
  /** When it was received, on the monotonic clock. */
  readonly atMs: number;
}

/** As sent between control planes: clocks of two machines are not compared. */
export interface AgedUsage extends InstanceUsage {
  readonly ageMs: number;
}

/** What agents measured that are connected to other control planes; those that do not answer are left out. */
type Elsewhere = (
  tenantId: TenantId,
  nodes: readonly string[],
  withinMs?: number,
) => Promise<readonly AgedUsage[]>;

const NOTHING: ReadonlyMap<string, MeasuredUsage> = new Map();

/** Of all containers of a workload, or of a tenant. Whole numbers, so that adding and taking away leaves nothing behind. */
export interface UsageSum {
  containers: number;
  /** In ten-thousandths of a core. */
  cpu: number;
  memoryBytes: number;
  /** Of how many of them the next two are. */
  networked: number;
  receivedPerSecond: number;
  sentPerSecond: number;
}

interface NodeSums {
  readonly tenantId: TenantId;
  readonly node: string;
  readonly byOwner: ReadonlyMap<OwnerName, UsageSum>;
  readonly takenMs: number;
}

export interface TenantUsage {
  readonly sum: UsageSum;
  /** In the order in which they were first measured. */
  readonly byOwner: ReadonlyMap<OwnerName, Readonly<UsageSum>>;
}

interface KeptUsage {
  readonly sum: UsageSum;
  readonly byOwner: Map<OwnerName, UsageSum>;
}

export function noUsage(): UsageSum {
  return { containers: 0, cpu: 0, memoryBytes: 0, networked: 0, receivedPerSecond: 0, sentPerSecond: 0 };
}

export function addUsage(to: UsageSum, of: Readonly<UsageSum>, sign: 1 | -1): void {
  to.containers += sign * of.containers;
  to.cpu += sign * of.cpu;
  to.memoryBytes += sign * of.memoryBytes;
  to.networked += sign * of.networked;
  to.receivedPerSecond += sign * of.receivedPerSecond;
  to.sentPerSecond += sign * of.sentPerSecond;
}

function ofOne(usage: InstanceUsage): UsageSum {
  const { cpuPercent, memoryBytes, receivedBytesPerSecond, sentBytesPerSecond } = usage;
  return {
    containers: 1,
    cpu: Math.round(cpuPercent * 100),
    memoryBytes: Math.round(memoryBytes),
    networked: receivedBytesPerSecond === undefined ? 0 : 1,
    receivedPerSecond: Math.round(receivedBytesPerSecond ?? 0),
    sentPerSecond: Math.round(sentBytesPerSecond ?? 0),
  };
}

/** What an agent measures in one round; it goes on with the others in the next. */
const PER_ROUND = 250;
/** Missed rounds after which a measurement is none any more. */
const STALE_ROUNDS = 3;
/** A busy machine is late now and then. */
const STALE_MS = 10_000;

/** What agents measured last, by node and instance: written by reports, read by scaling and lists, kept in memory only. */
export class Measurements {
  readonly #elsewhere: Elsewhere;
  /** Absent: they stay as they are until they are replaced. */
  readonly #usageMs: number | undefined;
  readonly #byNode = new Map<string, ReadonlyMap<string, MeasuredUsage>>();
  readonly #sumsOfNodes = new Map<string, NodeSums>();
  readonly #byTenant = new Map<TenantId, KeptUsage>();

  constructor(elsewhere: Elsewhere, usageMs?: number) {
    this.#elsewhere = elsewhere;
    this.#usageMs = usageMs;
  }

  /**
   * A round over many containers spans several reports: what one does not name stays until its instance goes, or it was not measured for
   * several rounds.
   */
  take(
    tenantId: TenantId,
    node: string,
    usage: readonly InstanceUsage[],
    ownerOf: (instanceId: string) => OwnerName | undefined,
  ): void {
    const atMs = performance.now();
    const newest = new Map(this.here(tenantId, node));
    for (const one of usage) newest.set(one.instanceId, { ...one, atMs });
    const sums = new Map<OwnerName, UsageSum>();
    const oldestMs = atMs - this.#staleMs(newest.size);
    for (const [id, one] of newest) {
      const owner = one.atMs < oldestMs ? undefined : ownerOf(id);
      if (owner === undefined) {
        newest.delete(id);
        continue;
      }
      const sum = sums.get(owner) ?? noUsage();
      sums.set(owner, sum);
      addUsage(sum, ofOne(one), 1);
    }
    this.#byNode.set(`${tenantId}/${node}`, newest);
    this.#sum(tenantId, node, sums);
  }

  #staleMs(containers: number): number {
    if (this.#usageMs === undefined) return Number.POSITIVE_INFINITY;
    return Math.max(STALE_MS, STALE_ROUNDS * this.#usageMs * Math.ceil(containers / PER_ROUND));
  }

  /** Agents that are connected and measure nothing any more: their engine hangs, or nothing runs there. */
  forgetSilent(): void {
    const nowMs = performance.now();
    for (const { tenantId, node, takenMs } of this.#sumsOfNodes.values())
      if (nowMs - takenMs > this.#staleMs(this.here(tenantId, node).size)) this.forget(tenantId, node);
  }

  /** What the node's containers take, in place of what it said before. */
  #sum(tenantId: TenantId, node: string, sums: ReadonlyMap<OwnerName, UsageSum> | undefined): void {
    const key = `${tenantId}/${node}`;
    const kept = this.#byTenant.get(tenantId) ?? { sum: noUsage(), byOwner: new Map<OwnerName, UsageSum>() };
    this.#byTenant.set(tenantId, kept);
    const before = this.#sumsOfNodes.get(key)?.byOwner;
    for (const [of, sign] of [[sums, 1] as const, [before, -1] as const])
      for (const [owner, amount] of of ?? []) {
        const ofOwner = kept.byOwner.get(owner) ?? noUsage();
        kept.byOwner.set(owner, ofOwner);
        addUsage(ofOwner, amount, sign);
        addUsage(kept.sum, amount, sign);
        if (ofOwner.containers === 0) kept.byOwner.delete(owner);
      }
    if (sums === undefined) this.#sumsOfNodes.delete(key);
    else this.#sumsOfNodes.set(key, { tenantId, node, byOwner: sums, takenMs: performance.now() });
    if (kept.byOwner.size === 0) this.#byTenant.delete(tenantId);
  }

  /** What containers take whose agents are connected to this process, kept as they report. */
  usage(): ReadonlyMap<TenantId, TenantUsage> {
    return this.#byTenant;
  }

  /** The same by node, of everything that Berth runs there. */
  *nodes(): Generator<{ readonly tenantId: TenantId; readonly node: string; readonly sum: UsageSum }> {
    for (const { tenantId, node, byOwner } of this.#sumsOfNodes.values()) {
      const sum = noUsage();
      for (const one of byOwner.values()) addUsage(sum, one, 1);
      if (sum.containers > 0) yield { tenantId, node, sum };
    }
  }

  /** They are of the live session only. */
  forget(tenantId: TenantId, node: string): void {
    this.#byNode.delete(`${tenantId}/${node}`);
    this.#sum(tenantId, node, undefined);
  }

  /** By instance, of an agent that is connected to this process. */
  here(tenantId: TenantId, node: string): ReadonlyMap<string, MeasuredUsage> {
    return this.#byNode.get(`${tenantId}/${node}`) ?? NOTHING;
  }

  /** By instance, whichever control plane their agents are connected to; who does not answer in time is left out. */
  async of(
    tenantId: TenantId,
    nodes: readonly string[],
    withinMs?: number,
  ): Promise<ReadonlyMap<string, MeasuredUsage>> {
    const others = nodes.filter((node) => !this.#byNode.has(`${tenantId}/${node}`));
    const remote = others.length === 0 ? [] : await this.#elsewhere(tenantId, others, withinMs);
    const nowMs = performance.now();
    return new Map([
      ...remote.map(({ ageMs, ...one }) => [one.instanceId, { ...one, atMs: nowMs - ageMs }] as const),
      ...nodes.flatMap((node) => [...this.here(tenantId, node)]),
    ]);
  }

  /** For another control plane. */
  aged(tenantId: TenantId, nodes: readonly string[]): readonly AgedUsage[] {
    const nowMs = performance.now();
    return nodes
      .flatMap((node) => [...this.here(tenantId, node).values()])
      .map(({ atMs, ...usage }) => ({ ...usage, ageMs: nowMs - atMs }));
  }
}

import type { InstanceUsage } from '../../core/protocol/agent-protocol.ts';
import type { TenantId } from '../../core/model/ids.ts';

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

/** What agents measured last, by node and instance: written by reports, read by scaling and lists, kept in memory only. */
export class Measurements {
  readonly #elsewhere: Elsewhere;
  readonly #byNode = new Map<string, ReadonlyMap<string, MeasuredUsage>>();

  constructor(elsewhere: Elsewhere) {
    this.#elsewhere = elsewhere;
  }

  /** A round over many containers spans several reports: what one does not name stays until its instance goes. */
  take(
    tenantId: TenantId,
    node: string,
    usage: readonly InstanceUsage[],
    isPlaced: (instanceId: string) => boolean,
  ): void {
    const known = [...this.here(tenantId, node)].filter(([id]) => isPlaced(id));
    const atMs = performance.now();
    const measured = usage
      .filter(({ instanceId }) => isPlaced(instanceId))
      .map((one) => [one.instanceId, { ...one, atMs }] as const);
    this.#byNode.set(`${tenantId}/${node}`, new Map([...known, ...measured]));
  }

  /** They are of the live session only. */
  forget(tenantId: TenantId, node: string): void {
    this.#byNode.delete(`${tenantId}/${node}`);
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

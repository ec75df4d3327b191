import type { TenantId } from '../../core/model/ids.ts';
import type { MeasuredUsage } from '../dispatch/reports.ts';
import type { MeasuredNode, NodeOfTenant } from './peer-words.ts';

/** Somebody asked for the node so recently that it is kept up to date. */
const WANTED_MS = 120_000;

interface Known extends NodeOfTenant {
  askedMs: number;
  usage: ReadonlyMap<string, MeasuredUsage>;
}

export type AskUsage = (nodes: readonly NodeOfTenant[]) => Promise<readonly MeasuredNode[]>;

const NOTHING: ReadonlyMap<string, MeasuredUsage> = new Map();

/**
 * Measurements of agents that are connected to other control planes. Scaling reads them without waiting: what was asked for lately
 * is fetched round by round, one question per control plane, and nothing of it is stored.
 */
export class UsageElsewhere {
  readonly #ask: AskUsage;
  readonly #known = new Map<string, Known>();
  readonly #timer: NodeJS.Timeout;
  #asking = false;

  constructor(roundMs: number, ask: AskUsage) {
    this.#ask = ask;
    this.#timer = setInterval(() => void this.#refresh(), roundMs);
    this.#timer.unref();
  }

  of(tenantId: TenantId, node: string): ReadonlyMap<string, MeasuredUsage> {
    const key = `${tenantId}/${node}`;
    const known = this.#known.get(key);
    if (known !== undefined) {
      known.askedMs = performance.now();
      return known.usage;
    }
    this.#known.set(key, { tenantId, node, askedMs: performance.now(), usage: NOTHING });
    void this.#refresh();
    return NOTHING;
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #refresh(): Promise<void> {
    const oldestMs = performance.now() - WANTED_MS;
    for (const [key, { askedMs }] of this.#known) if (askedMs < oldestMs) this.#known.delete(key);
    if (this.#asking || this.#known.size === 0) return;
    this.#asking = true;
    try {
      const answers = await this.#ask(
        [...this.#known.values()].map(({ tenantId, node }) => ({ tenantId, node })),
      );
      const nowMs = performance.now();
      for (const { tenantId, node, usage } of answers) {
        const known = this.#known.get(`${tenantId}/${node}`);
        if (known === undefined) continue;
        known.usage = new Map(
          usage.map(({ ageMs, ...one }) => [one.instanceId, { ...one, atMs: nowMs - ageMs }]),
        );
      }
    } finally {
      this.#asking = false;
    }
  }
}

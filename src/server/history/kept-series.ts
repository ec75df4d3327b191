import type { TenantId } from '../../core/model/ids.ts';
import type { Series } from './series.ts';

export type HistoryKind = 'deployments' | 'nodes';

/** Names beyond those of twice as many as there are were left behind by series that went. */
const SPARE_NAMES = 16;

/** Of one tenant and kind, by name. */
class NamedSeries {
  readonly #byName = new Map<string, Series>();
  /** Oldest first; some are of series that went. */
  #names: string[] = [];

  get size(): number {
    return this.#byName.size;
  }

  get(name: string): Series | undefined {
    return this.#byName.get(name);
  }

  add(name: string, series: Series): void {
    this.#byName.set(name, series);
    this.#names.push(name);
  }

  delete(name: string): boolean {
    const isGone = this.#byName.delete(name);
    if (this.#names.length > this.size * 2 + SPARE_NAMES) this.#names = [...this.#byName.keys()];
    return isGone;
  }

  get newest(): string | undefined {
    for (let last = this.#names.at(-1); last !== undefined; last = this.#names.at(-1)) {
      if (this.#byName.has(last)) return last;
      this.#names.pop();
    }
    return undefined;
  }

  values(): Iterable<Series> {
    return this.#byName.values();
  }

  [Symbol.iterator](): Iterator<[string, Series]> {
    return this.#byName.entries();
  }
}

type TenantSeries = Readonly<Record<HistoryKind, NamedSeries>>;

/** Series of all tenants. Which tenant has most is known without asking each: it is asked for with every record that has none. */
export class KeptSeries {
  readonly #tenants = new Map<TenantId, TenantSeries>();
  /** At its number of series. */
  readonly #bySize: Set<TenantId>[] = [];
  #count = 0;

  get count(): number {
    return this.#count;
  }

  of(tenantId: TenantId): TenantSeries | undefined {
    return this.#tenants.get(tenantId);
  }

  sizeOf(tenantId: TenantId): number {
    const own = this.#tenants.get(tenantId);
    return own === undefined ? 0 : own.deployments.size + own.nodes.size;
  }

  add(tenantId: TenantId, kind: HistoryKind, name: string, series: Series): void {
    const own = this.#tenants.get(tenantId) ?? { deployments: new NamedSeries(), nodes: new NamedSeries() };
    this.#tenants.set(tenantId, own);
    own[kind].add(name, series);
    this.#count += 1;
    this.#resized(tenantId, this.sizeOf(tenantId) - 1);
  }

  drop(tenantId: TenantId, kind: HistoryKind, name: string): void {
    if (this.#tenants.get(tenantId)?.[kind].delete(name) !== true) return;
    this.#count -= 1;
    this.#resized(tenantId, this.sizeOf(tenantId) + 1);
    if (this.sizeOf(tenantId) === 0) this.#tenants.delete(tenantId);
  }

  #resized(tenantId: TenantId, before: number): void {
    this.#bySize[before]?.delete(tenantId);
    const size = this.sizeOf(tenantId);
    const others = (this.#bySize[size] ??= new Set());
    if (size > 0) others.add(tenantId);
    while (this.#bySize.at(-1)?.size === 0) this.#bySize.pop();
  }

  /** The tenant that has most. */
  get largest(): TenantId | undefined {
    return this.#bySize.at(-1)?.values().next().value;
  }

  get most(): number {
    return Math.max(0, this.#bySize.length - 1);
  }

  [Symbol.iterator](): Iterator<[TenantId, TenantSeries]> {
    return this.#tenants.entries();
  }
}

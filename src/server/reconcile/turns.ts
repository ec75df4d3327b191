/** Keys in the order in which they came; taking the first does not search. */
class Row {
  readonly #keys = new Set<string>();
  /** Everything before it is gone: a set begins with the places of all that were removed from it. */
  #order = this.#keys.values();

  get size(): number {
    return this.#keys.size;
  }

  has(key: string): boolean {
    return this.#keys.has(key);
  }

  add(key: string): void {
    this.#keys.add(key);
  }

  delete(key: string): boolean {
    return this.#keys.delete(key);
  }

  take(): string | undefined {
    let next = this.#order.next();
    if (next.done === true) {
      this.#order = this.#keys.values();
      next = this.#order.next();
    }
    if (next.done === true) return undefined;
    this.#keys.delete(next.value);
    return next.value;
  }

  clear(): void {
    this.#keys.clear();
  }
}

/**
 * Keys, each once, of which tenants take turns of so many: the next one is the oldest of the tenant whose last turn is the longest ago. A tenant with
 * one key so waits for one turn of every other tenant, however many those have. Of a tenant without keys nothing is held.
 */
export class TenantTurns {
  readonly #most: number;
  readonly #rows = new Map<string, Row>();
  /** All but the one whose turn it is. */
  readonly #order = new Row();
  #turn: { readonly tenant: string; left: number } | undefined;
  #size = 0;

  constructor(most = 1) {
    this.#most = most;
  }

  get size(): number {
    return this.#size;
  }

  has(key: string): boolean {
    return this.#size > 0 && this.#rows.get(tenantOf(key))?.has(key) === true;
  }

  add(key: string): void {
    const tenant = tenantOf(key);
    let row = this.#rows.get(tenant);
    if (row === undefined) {
      row = new Row();
      this.#rows.set(tenant, row);
      if (this.#turn?.tenant !== tenant) this.#order.add(tenant);
    }
    const before = row.size;
    row.add(key);
    this.#size += row.size - before;
  }

  delete(key: string): void {
    if (this.#size === 0) return;
    const tenant = tenantOf(key);
    const row = this.#rows.get(tenant);
    if (row?.delete(key) !== true) return;
    this.#size -= 1;
    if (row.size > 0) return;
    this.#rows.delete(tenant);
    this.#order.delete(tenant);
  }

  take(): string | undefined {
    const turn = this.#whoseTurn();
    const row = turn === undefined ? undefined : this.#rows.get(turn.tenant);
    const key = row?.take();
    if (turn === undefined || row === undefined || key === undefined) return undefined;
    this.#size -= 1;
    turn.left -= 1;
    if (row.size === 0) this.#rows.delete(turn.tenant);
    return key;
  }

  #whoseTurn(): { readonly tenant: string; left: number } | undefined {
    const before = this.#turn;
    if (before !== undefined && before.left > 0 && this.#rows.has(before.tenant)) return before;
    this.#turn = undefined;
    if (before !== undefined && this.#rows.has(before.tenant)) this.#order.add(before.tenant);
    const tenant = this.#order.take();
    if (tenant !== undefined) this.#turn = { tenant, left: this.#most };
    return this.#turn;
  }

  clear(): void {
    this.#rows.clear();
    this.#order.clear();
    this.#turn = undefined;
    this.#size = 0;
  }
}

function tenantOf(key: string): string {
  return key.slice(0, Math.max(0, key.indexOf('/')));
}

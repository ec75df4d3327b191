import type { DatabaseSync } from 'node:sqlite';
import { compareKeys } from '../key-order.ts';
import { DamageError } from './fault.ts';
import { leaseSum } from './schema.ts';

interface Lease {
  readonly ttlMs: number;
  readonly keys: Set<string>;
  endsAt: number;
}

/**
 * The leases, held in memory by the writer thread and written beside the keys. Time is the thread's monotonic clock,
 * which means nothing to another process, so only the length of a lease is stored: after a restart each starts over.
 */
export interface Leases {
  /** Reads what is committed; leases that were known keep the time they have left. */
  load(): void;
  has(id: number): boolean;
  grant(id: number, ttlMs: number): void;
  keepAlive(id: number): boolean;
  /** Binds a key to a lease, or to none. */
  bind(key: string, id: number | undefined): void;
  /** Forgets a lease and returns its keys in order; they are still to be deleted. */
  end(id: number): string[];
  expired(): number[];
  /** Milliseconds until the next lease ends; undefined when there is none. */
  nextEndMs(): number | undefined;
}

export function createLeases(db: DatabaseSync): Leases {
  const leases = new Map<number, Lease>();
  const leaseOf = new Map<string, number>();
  const statements = {
    grant: db.prepare('INSERT INTO lease VALUES (?, ?, ?)'),
    end: db.prepare('DELETE FROM lease WHERE id = ?'),
    bind: db.prepare('REPLACE INTO leased VALUES (?, ?, ?)'),
    unbind: db.prepare('DELETE FROM leased WHERE key = ?'),
    leases: db.prepare('SELECT id, ttl_ms, sum FROM lease'),
    leased: db.prepare('SELECT key, lease, sum FROM leased ORDER BY key'),
  };

  function unbind(key: string): void {
    const id = leaseOf.get(key);
    if (id === undefined) return;
    leaseOf.delete(key);
    leases.get(id)?.keys.delete(key);
    statements.unbind.run(key);
  }

  return {
    load() {
      const known = new Map(leases);
      leases.clear();
      leaseOf.clear();
      for (const row of statements.leases.all()) {
        const [id, ttlMs] = [Number(row['id']), Number(row['ttl_ms'])];
        if (leaseSum(id, ttlMs) !== row['sum']) throw new DamageError(`lease ${id} fails its checksum`);
        const endsAt = known.get(id)?.endsAt ?? performance.now() + ttlMs;
        leases.set(id, { ttlMs, keys: new Set(), endsAt });
      }
      for (const row of statements.leased.all()) {
        const [key, id] = [String(row['key']), Number(row['lease'])];
        const lease = leases.get(id);
        if (leaseSum(key, id) !== row['sum'] || lease === undefined) {
          throw new DamageError(`the lease of key ${key} fails its checksum`);
        }
        leaseOf.set(key, id);
        lease.keys.add(key);
      }
    },
    has: (id) => leases.has(id),
    grant(id, ttlMs) {
      statements.grant.run(id, ttlMs, leaseSum(id, ttlMs));
      leases.set(id, { ttlMs, keys: new Set(), endsAt: performance.now() + ttlMs });
    },
    keepAlive(id) {
      const lease = leases.get(id);
      if (lease === undefined) return false;
      lease.endsAt = performance.now() + lease.ttlMs;
      return true;
    },
    bind(key, id) {
      if (leaseOf.size > 0) unbind(key);
      if (id === undefined) return;
      leaseOf.set(key, id);
      leases.get(id)?.keys.add(key);
      statements.bind.run(key, id, leaseSum(key, id));
    },
    end(id) {
      const keys = [...(leases.get(id)?.keys ?? [])].sort(compareKeys);
      for (const key of keys) unbind(key);
      if (leases.delete(id)) statements.end.run(id);
      return keys;
    },
    expired() {
      const now = performance.now();
      return [...leases].filter(([, lease]) => lease.endsAt <= now).map(([id]) => id);
    },
    nextEndMs() {
      if (leases.size === 0) return undefined;
      const next = Math.min(...Array.from(leases.values(), (lease) => lease.endsAt));
      return Math.max(0, next - performance.now());
    },
  };
}

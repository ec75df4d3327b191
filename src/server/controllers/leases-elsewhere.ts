import type { NodeName, TenantId } from '../../core/model/ids.ts';
import { joinId } from '../store/keys.ts';
import type { Store } from '../store/store.ts';

interface Ended {
  readonly epoch: number;
  readonly latestMs: number;
}

/**
 * Until when another control plane may have given a node a lease on its volumes, on this process's monotonic clock. While the
 * session is open and that process lives: until now. When either ends, no later than when that was first seen here: a process
 * gives leases only while its own lease in the store surely has not ended.
 */
export class LeasesElsewhere {
  readonly #store: Store;
  readonly #self: string;
  readonly #ended = new Map<string, Ended>();

  constructor(store: Store, self: string) {
    this.#store = store;
    this.#self = self;
  }

  /** Undefined: the node has no session that is not with this process. */
  latestMs(tenantId: TenantId, node: NodeName, nowMs: number): number | undefined {
    const session = this.#store.forTenant(tenantId).get('node-sessions', joinId(node))?.record;
    if (session === undefined || session.controlPlane === this.#self) return undefined;
    const key = `${tenantId}/${node}`;
    const { epoch, closed, controlPlane } = session;
    if (closed === undefined && this.#store.getGlobal('control-planes', controlPlane) !== undefined) {
      this.#ended.delete(key);
      return nowMs;
    }
    const known = this.#ended.get(key);
    if (known?.epoch === epoch) return known.latestMs;
    const latestMs = nowMs - (closed?.silentMs ?? 0);
    this.#ended.set(key, { epoch, latestMs });
    return latestMs;
  }
}

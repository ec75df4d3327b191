import type { NodeName, TenantId } from '../../../core/model/ids.ts';
import { segmentsOf } from '../../store/record-ids.ts';
import type { Store } from '../../store/store.ts';

export interface SessionElsewhere {
  readonly node: NodeName;
  /** Absent: the agent is connected to a control plane that lives. */
  readonly closedForMs?: number;
}

/**
 * Sessions of agents with the other control planes of the same store, from what those wrote: when one opened, and when it closed
 * and for how long the agent had been silent then. A process that ended wrote nothing: its sessions ended with its lease.
 */
export class SessionsElsewhere {
  readonly #store: Store;
  readonly #self: string;

  constructor(store: Store, self: string) {
    this.#store = store;
    this.#self = self;
  }

  *of(tenantId: TenantId): Generator<SessionElsewhere> {
    for (const { id, record } of this.#store.forTenant(tenantId).list('node-sessions')) {
      const [node] = segmentsOf('node-sessions', id);
      if (record.closed !== undefined) yield { node, closedForMs: record.closed.silentMs };
      // An open session with this process reports by its own heartbeats.
      else if (record.controlPlane === this.#self) continue;
      else if (this.#store.getGlobal('control-planes', record.controlPlane) === undefined)
        yield { node, closedForMs: 0 };
      else yield { node };
    }
  }
}

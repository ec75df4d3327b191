import type { Logger } from 'pino';
import type { Report } from '../../../core/protocol/agent-protocol.ts';
import type { NetworkObservation, NetworkSettings } from '../../../core/model/network.ts';
import type { Journal } from '../../journal/journal.ts';
import { idOf } from '../../store/record-ids.ts';
import type { Store, TenantStore } from '../../store/store.ts';
import type { KeyedRate } from '../sessions/keyed-rate.ts';
import type { AgentSession } from '../sessions/session.ts';
import { expectSession } from '../sessions/session-guard.ts';

/** The wire format of a network, nothing beside it. */
export function assignedNetworks(tenant: TenantStore, node: string): readonly NetworkSettings[] {
  return tenant
    .list('networks')
    .filter(({ record }) => record.nodeId === node)
    .map(({ record: { name, driver, labels, internal } }) => ({ name, driver, labels, internal }));
}

interface NetworkReportsOptions {
  readonly store: Store;
  readonly journal: Journal;
  readonly events: KeyedRate;
  readonly log: Logger;
}

/**
 * The only writer of what agents see of networks. Every report lists all of them, so that what fails to be stored needs no
 * queue: the next heartbeat brings it again.
 */
export class NetworkReports {
  readonly #options: NetworkReportsOptions;
  readonly #writing = new Set<string>();

  constructor(options: NetworkReportsOptions) {
    this.#options = options;
  }

  take(session: AgentSession, { networks = [], generation }: Report): void {
    // Of an older assignment: it may be about a network that was deleted and recreated since.
    if (networks.length === 0 || generation !== session.generation || this.#writing.has(session.key)) return;
    this.#writing.add(session.key);
    this.#store(session, networks)
      .catch((error: unknown) =>
        this.#options.log.warn({ err: error }, 'a report of networks could not be stored; the next one is'),
      )
      .finally(() => this.#writing.delete(session.key));
  }

  async #store(session: AgentSession, networks: readonly NetworkObservation[]): Promise<void> {
    const { tenantId, node } = session.identity;
    const { events } = this.#options;
    const tenant = this.#options.store.forTenant(tenantId);
    for (const seen of networks) {
      const id = idOf('networks', seen.name);
      const stored = tenant.get('networks', id);
      // A node speaks of its own networks and of nothing else.
      if (stored?.record.nodeId !== node) continue;
      const known = tenant.get('network-observations', id)?.record;
      if (known?.state === seen.state && known.message === seen.message) continue;
      // Brought again by the next report.
      if (known !== undefined && known.state !== seen.state && !events.take(`${session.key}/${seen.name}`))
        continue;
      const transaction = expectSession(tenant, session.identity, tenant.transaction());
      if (transaction === undefined) return;
      transaction.expect('networks', id, stored).put('network-observations', id, seen);
      if (known?.state !== seen.state) {
        this.#options.journal.event(transaction, tenantId, {
          kind: `network.${seen.state}`,
          subject: { kind: 'Network', name: seen.name },
          message:
            seen.state === 'ready'
              ? `${seen.name} is ready on ${node}`
              : `${seen.name} could not be made on ${node}: ${seen.message ?? 'no reason was reported'}`,
          details: { nodeId: node },
        });
      }
      await tenant.commit(transaction);
    }
  }
}

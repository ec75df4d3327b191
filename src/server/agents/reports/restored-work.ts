import type { Logger } from 'pino';
import type { Report } from '../../../core/protocol/agent-protocol.ts';
import type { Journal } from '../../journal/journal.ts';
import { idOf } from '../../store/record-ids.ts';
import type { Store } from '../../store/store.ts';
import { Transaction } from '../../store/transaction.ts';
import type { PlacedInstances } from '../assignments/placed-instances.ts';
import type { KeyedRate } from '../sessions/keyed-rate.ts';
import type { AgentSession } from '../sessions/session.ts';

/** Of each list; what is beyond is counted. */
const TOLD = 50;
const MAX_TEXT = 2000;

export interface RestoredWorkOptions {
  readonly store: Store;
  readonly placed: PlacedInstances;
  readonly journal: Journal;
  readonly events: KeyedRate;
  readonly log: Logger;
}

interface Differences {
  /** Containers that run there and are not in the store. */
  readonly unknown: readonly string[];
  readonly volumes: readonly string[];
  /** Instances of the store that have no container there. */
  readonly missing: readonly string[];
}

function listed(names: readonly string[]): string {
  const more = names.length - TOLD;
  return names.slice(0, TOLD).join(', ') + (more > 0 ? ` and ${more} more` : '');
}

/** A node that is held after an older store was put back: what it has that the store does not know of, and the other way round. */
export class RestoredWork {
  readonly #options: RestoredWorkOptions;
  /** What was published of the session. */
  readonly #told = new WeakMap<AgentSession, string>();

  constructor(options: RestoredWorkOptions) {
    this.#options = options;
  }

  take(session: AgentSession, report: Report): void {
    const { store, events } = this.#options;
    const { tenantId, node } = session.identity;
    if (!report.full) return;
    const record = store.forTenant(tenantId).get('nodes', idOf('nodes', node))?.record;
    if (record?.ordersHeld === undefined) return;
    const found = this.#differences(session, report);
    const { unknown, volumes, missing } = found;
    if (unknown.length + volumes.length + missing.length === 0) return;
    const digest = JSON.stringify(found);
    if (this.#told.get(session) === digest || !events.take(session.key)) return;
    this.#told.set(session, digest);
    this.#publish(session, found);
  }

  #differences({ identity: { tenantId, node } }: AgentSession, report: Report): Differences {
    const { store, placed } = this.#options;
    const there = report.observations.filter(({ containerId }) => containerId !== undefined);
    const ids = new Set<string>(there.map(({ id }) => id));
    const tenant = store.forTenant(tenantId);
    return {
      unknown: there
        .filter(({ id }) => placed.find(tenantId, node, id) === undefined)
        .map(({ id, containerName }) => containerName ?? id)
        .toSorted(),
      volumes: (report.volumes ?? [])
        .filter(({ volumeId }) => tenant.get('volumes', idOf('volumes', volumeId)) === undefined)
        .map(({ volumeId }) => volumeId)
        .toSorted(),
      missing: placed
        .on(tenantId, node)
        .filter(({ record }) => record.wanted === 'run' && !ids.has(record.id))
        .map(({ record }) => `${record.deployment}/${record.id}`)
        .toSorted(),
    };
  }

  #publish({ identity: { tenantId, node } }: AgentSession, { unknown, volumes, missing }: Differences): void {
    const parts = [
      ...(unknown.length === 0
        ? []
        : [`runs containers that this store does not know (${unknown.length}: ${listed(unknown)})`]),
      ...(volumes.length === 0
        ? []
        : [`keeps volumes that this store does not know (${volumes.length}: ${listed(volumes)})`]),
      ...(missing.length === 0
        ? []
        : [`has no container of instances of this store (${missing.length}: ${listed(missing)})`]),
    ];
    const transaction = new Transaction(tenantId);
    this.#options.journal.event(transaction, tenantId, {
      kind: 'node.not_in_store',
      subject: { kind: 'Node', name: node },
      message:
        `${node} ${parts.join(', and ')}: apply again what is to stay before you uncordon it; then the former are removed and the latter made`.slice(
          0,
          MAX_TEXT,
        ),
      details: {
        unknown: unknown.slice(0, TOLD),
        volumes: volumes.slice(0, TOLD),
        missing: missing.slice(0, TOLD),
      },
    });
    this.#options.store
      .commit(transaction)
      .catch((error: unknown) =>
        this.#options.log.warn({ err: error, node }, 'an event could not be stored'),
      );
  }
}

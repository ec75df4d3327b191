import type { Logger } from 'pino';
import type { Report } from '../../../core/protocol/agent-protocol.ts';
import { formatBytes } from '../../../core/model/quantity.ts';
import type { Journal } from '../../journal/journal.ts';
import type { Store } from '../../store/store.ts';
import type { PlacedInstances } from '../assignments/placed-instances.ts';
import type { KeyedRate } from '../sessions/keyed-rate.ts';
import type { AgentSession } from '../sessions/session.ts';
import { expectSession } from '../sessions/session-guard.ts';

/** Of each kind in the details of an event; the message has all of them counted. */
const MOST_NAMED = 50;

type PublishedEvent = Parameters<Journal['event']>[2];

const CAUSES = {
  asked: 'because it was asked to',
  disk: 'because the disk of its engine was full',
  age: 'because nothing had used them for long',
} as const;

function cleaningEvent(
  { identity: { node } }: AgentSession,
  { cause, images }: NonNullable<Report['cleaned']>[number],
): PublishedEvent {
  const bytes = images.reduce((sum, one) => sum + one.bytes, 0);
  const [first] = images;
  return {
    kind: 'node.cleaned',
    subject: { kind: 'Node', name: node },
    message: `${node} removed images (${images.length}, ${formatBytes(bytes)}), e.g. ${first?.image ?? ''}, ${CAUSES[cause]}`,
    details: { cause, bytes, images },
  };
}

export interface NodeNewsOptions {
  readonly store: Store;
  readonly placed: PlacedInstances;
  readonly journal: Journal;
  readonly events: KeyedRate;
  readonly log: Logger;
}

/** What a node did on its own, which nobody saw: told once, and published as an event. */
export class NodeNews {
  readonly #options: NodeNewsOptions;

  constructor(options: NodeNewsOptions) {
    this.#options = options;
  }

  take(session: AgentSession, { offline, cleaned = [] }: Report): void {
    if (offline !== undefined) this.#publish(session, 'offline', this.#ranOffline(session, offline));
    for (const one of cleaned)
      if (one.images.length > 0) this.#publish(session, 'cleaned', cleaningEvent(session, one));
  }

  #publish(session: AgentSession, what: string, event: PublishedEvent): void {
    const { store, journal, events, log } = this.#options;
    const { tenantId, node } = session.identity;
    if (!events.take(`${session.key}/${what}`)) return;
    const tenant = store.forTenant(tenantId);
    const transaction = expectSession(tenant, session.identity, tenant.transaction());
    if (transaction === undefined) return;
    journal.event(transaction, tenantId, event);
    tenant
      .commit(transaction)
      .catch((error: unknown) => log.warn({ err: error, node }, 'an event could not be stored'));
  }

  #ranOffline(session: AgentSession, offline: NonNullable<Report['offline']>): PublishedEvent {
    const { node } = session.identity;
    const started = this.#known(session, offline.started);
    const stopped = this.#known(session, offline.stopped);
    const waiting = offline.waiting.filter(({ instanceId }) => this.#isPlaced(session, instanceId));
    const first = waiting[0];
    return {
      kind: 'node.started_offline',
      subject: { kind: 'Node', name: node },
      message: [
        `${node} started while no control plane answered, and went by its last orders: ${started.length} started, ${stopped.length} stopped, ${waiting.length} not started`,
        ...(first === undefined ? [] : [`, e.g. ${first.instanceId}: ${first.message}`]),
      ].join(''),
      details: {
        started: started.slice(0, MOST_NAMED),
        stopped: stopped.slice(0, MOST_NAMED),
        waiting: waiting.slice(0, MOST_NAMED),
      },
    };
  }

  /** A node speaks of what was assigned to it and of nothing else. */
  #known(session: AgentSession, ids: readonly string[]): readonly string[] {
    return ids.filter((id) => this.#isPlaced(session, id));
  }

  #isPlaced({ identity: { tenantId, node } }: AgentSession, instanceId: string): boolean {
    return this.#options.placed.find(tenantId, node, instanceId) !== undefined;
  }
}

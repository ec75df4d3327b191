import type { Logger } from 'pino';
import type { Report } from '../../../core/protocol/agent-protocol.ts';
import { formatBytes } from '../../../core/model/quantity.ts';
import type { Journal } from '../../journal/journal.ts';
import type { Store } from '../../store/store.ts';
import type { PlacedInstances } from '../assignments/placed-instances.ts';
import type { KeyedRate } from '../sessions/keyed-rate.ts';
import type { AgentSession } from '../sessions/session.ts';

/** Of each kind in the details of an event; the message has all of them counted. */
const MOST_NAMED = 50;

/** Removed images of one node that wait for an event; of more the oldest are not told. */
const MOST_HELD = 1_000;
const HELD_MS = 10_000;

type Cleaned = NonNullable<Report['cleaned']>[number];
type PublishedEvent = Parameters<Journal['event']>[2];

const CAUSES = {
  asked: 'because it was asked to',
  disk: 'because the disk of its engine was full',
  age: 'because nothing had used them for long',
} as const;

function cleaningEvent({ identity: { node } }: AgentSession, { cause, images }: Cleaned): PublishedEvent {
  const bytes = images.reduce((sum, one) => sum + one.bytes, 0);
  const [first] = images;
  return {
    kind: 'node.cleaned',
    subject: { kind: 'Node', name: node },
    message: `${node} removed images (${images.length}, ${formatBytes(bytes)}), e.g. ${first?.image ?? ''}, ${CAUSES[cause]}`,
    details: { cause, bytes, images },
  };
}

/** Takes the first, and as many with the same cause as an event names. */
function joined(cleaned: Cleaned[]): Cleaned {
  const first = cleaned.shift();
  const cause = first?.cause ?? 'asked';
  const images = [...(first?.images ?? [])];
  while (cleaned[0]?.cause === cause && images.length + cleaned[0].images.length <= MOST_NAMED)
    images.push(...(cleaned.shift()?.images ?? []));
  return { cause, images };
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
  /** By node, what was removed there and is in no event yet. */
  readonly #held = new Map<string, { session: AgentSession; cleaned: Cleaned[] }>();
  #isWaiting = false;

  constructor(options: NodeNewsOptions) {
    this.#options = options;
  }

  take(session: AgentSession, { offline, cleaned = [] }: Report): void {
    const { events } = this.#options;
    if (offline !== undefined && events.take(`${session.key}/offline`))
      this.#publish(session, this.#ranOffline(session, offline), () => undefined);
    const news = cleaned.filter(({ images }) => images.length > 0);
    if (news.length === 0) return;
    this.#hold(session, news);
    this.#tellHeld();
  }

  /** Every removal is in an event: what the rate does not let through now goes with the next one. */
  #hold(session: AgentSession, news: readonly Cleaned[]): void {
    const all = [...(this.#held.get(session.key)?.cleaned ?? []), ...news];
    let count = all.reduce((sum, { images }) => sum + images.length, 0);
    while (count > MOST_HELD) {
      const dropped = all.shift()?.images.length ?? 0;
      this.#options.log.warn({ node: session.identity.node, dropped }, 'removed images are in no event');
      count -= dropped;
    }
    this.#held.set(session.key, { session, cleaned: all });
  }

  #tellHeld(): void {
    for (const [key, { session, cleaned }] of this.#held) {
      while (cleaned.length > 0 && this.#options.events.take(`${key}/cleaned`)) {
        const news = joined(cleaned);
        this.#publish(session, cleaningEvent(session, news), () => this.#hold(session, [news]));
      }
      if (cleaned.length === 0) this.#held.delete(key);
    }
    this.#tellLater();
  }

  #tellLater(): void {
    if (this.#held.size === 0 || this.#isWaiting) return;
    this.#isWaiting = true;
    setTimeout(() => {
      this.#isWaiting = false;
      this.#tellHeld();
    }, HELD_MS).unref();
  }

  /**
   * Of what is over: it stays true when the agent has another session by now, with whichever control plane. Guarded by the tenant: of one
   * that is erased nothing may be stored any more.
   */
  #publish({ identity: { tenantId, node } }: AgentSession, event: PublishedEvent, onFault: () => void): void {
    const { store, journal, log } = this.#options;
    const owner = store.getGlobal('tenants', tenantId);
    if (owner === undefined) return;
    const tenant = store.forTenant(tenantId);
    const transaction = tenant.transaction().expectGlobal('tenants', tenantId, owner);
    journal.event(transaction, tenantId, event);
    const stored = tenant.commit(transaction).catch((error: unknown) => {
      log.warn({ err: error, node }, 'an event could not be stored');
      return undefined;
    });
    void stored.then((result) => {
      if (result?.ok === true) return;
      onFault();
      this.#tellLater();
    });
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

import type { Logger } from 'pino';
import type { Report } from '../../../core/protocol/agent-protocol.ts';
import { formatBytes } from '../../../core/model/quantity.ts';
import type { Journal } from '../../journal/journal.ts';
import type { Store } from '../../store/store.ts';
import type { PlacedInstances } from '../assignments/placed-instances.ts';
import type { PlacedVolumes } from '../assignments/placed-volumes.ts';
import type { KeyedRate } from '../sessions/keyed-rate.ts';
import type { AgentSession } from '../sessions/session.ts';

/** Of each kind in the details of an event; the message has all of them counted. */
const MOST_NAMED = 50;

/** Removed images of one node that wait for an event; of more the oldest are not told. */
const MOST_HELD = 1_000;
const HELD_MS = 10_000;
const HOUR_MS = 60 * 60_000;

type Cleaned = NonNullable<Report['cleaned']>[number];
type Discarded = NonNullable<Report['discarded']>[number];
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

interface Held {
  readonly session: AgentSession;
  readonly cleaned: Cleaned[];
  readonly discarded: Discarded[];
}

export interface NodeNewsOptions {
  readonly store: Store;
  readonly placed: PlacedInstances;
  readonly volumes: PlacedVolumes;
  readonly journal: Journal;
  readonly events: KeyedRate;
  readonly log: Logger;
}

/** What a node did on its own, which nobody saw: told once, and published as an event. */
export class NodeNews {
  readonly #options: NodeNewsOptions;
  /** By node, what was removed there and is in no event yet. */
  readonly #held = new Map<string, Held>();
  #isWaiting = false;

  constructor(options: NodeNewsOptions) {
    this.#options = options;
  }

  take(session: AgentSession, { offline, cleaned = [], discarded = [] }: Report): void {
    const { events } = this.#options;
    if (offline !== undefined && events.take(`${session.key}/offline`))
      this.#publish(session, this.#ranOffline(session, offline), () => undefined);
    const images = cleaned.filter((one) => one.images.length > 0);
    if (images.length === 0 && discarded.length === 0) return;
    this.#hold(session, images, discarded);
    this.#tellHeld();
  }

  /** Every removal is in an event: what the rate does not let through now goes with the next one. */
  #hold(session: AgentSession, news: readonly Cleaned[], gone: readonly Discarded[] = []): void {
    const before = this.#held.get(session.key);
    const all = [...(before?.cleaned ?? []), ...news];
    const discarded = [...(before?.discarded ?? []), ...gone];
    const surplus = discarded.splice(0, Math.max(0, discarded.length - MOST_HELD)).length;
    if (surplus > 0)
      this.#options.log.warn(
        { node: session.identity.node, dropped: surplus },
        'removed divergences are in no event',
      );
    let count = all.reduce((sum, { images }) => sum + images.length, 0);
    while (count > MOST_HELD) {
      const dropped = all.shift()?.images.length ?? 0;
      this.#options.log.warn({ node: session.identity.node, dropped }, 'removed images are in no event');
      count -= dropped;
    }
    this.#held.set(session.key, { session, cleaned: all, discarded });
  }

  #tellHeld(): void {
    for (const [key, { session, cleaned, discarded }] of this.#held) {
      while (cleaned.length > 0 && this.#options.events.take(`${key}/cleaned`)) {
        const news = joined(cleaned);
        this.#publish(session, cleaningEvent(session, news), () => this.#hold(session, [news]));
      }
      while (discarded.length > 0 && this.#options.events.take(`${key}/discarded`)) {
        const [first] = discarded.splice(0, 1);
        const event = first && this.#discardedEvent(session, first);
        if (first !== undefined && event !== undefined)
          this.#publish(session, event, () => this.#hold(session, [], [first]));
      }
      if (cleaned.length === 0 && discarded.length === 0) this.#held.delete(key);
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

  /** Undefined: the volume is not of that node. */
  #discardedEvent(
    { identity: { tenantId, node } }: AgentSession,
    { volumeId, epoch, path, keptMs }: Discarded,
  ): PublishedEvent | undefined {
    const name = this.#options.volumes.find(tenantId, node, volumeId)?.record.name;
    if (name === undefined) return undefined;
    return {
      kind: 'volume.divergence_removed',
      subject: { kind: 'Volume', name: volumeId },
      message: `volume ${name}: what ${node} alone wrote in epoch ${epoch} was kept for ${Math.floor(keptMs / HOUR_MS)} h, its time, and is removed`,
      details: { name, nodeId: node, epoch, path, keptMs },
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

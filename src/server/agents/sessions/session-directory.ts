import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from 'pino';
import type { Clock } from '../../clock.ts';
import { idOf } from '../../store/record-ids.ts';
import type { Store } from '../../store/store.ts';
import type { AgentSession } from './session.ts';

const MAX_ATTEMPTS = 20;
const RETRY_MS = 250;
/** Thousands of sessions may end at once; those that wait are recorded a little later, with their silence until then. */
const AT_ONCE = 32;

/**
 * Tells the other control planes of the store when a session with this one ends; that it opened is in the commit of its epoch.
 * Heartbeats are not recorded: an open session of a process that lives is a sign of life, so 10,000 quiet agents write nothing.
 */
export class SessionDirectory {
  readonly #store: Store;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #waiting: AgentSession[] = [];
  readonly #idle = new Set<() => void>();
  #underWay = 0;

  constructor(store: Store, clock: Clock, log: Logger) {
    this.#store = store;
    this.#clock = clock;
    this.#log = log;
  }

  closed(session: AgentSession): void {
    this.#waiting.push(session);
    this.#next();
  }

  /** Resolves when none is left to record. */
  recorded(): Promise<void> {
    return new Promise((resolve) => {
      this.#idle.add(resolve);
      this.#next();
    });
  }

  #next(): void {
    if (this.#underWay >= AT_ONCE) return;
    const session = this.#waiting.shift();
    if (session === undefined) {
      if (this.#underWay === 0) this.#tellIdle();
      return;
    }
    this.#underWay += 1;
    void this.#record(session).finally(() => {
      this.#underWay -= 1;
      this.#next();
    });
  }

  #tellIdle(): void {
    for (const tell of this.#idle) tell();
    this.#idle.clear();
  }

  async #record(session: AgentSession): Promise<void> {
    const { tenantId, node, epoch } = session.identity;
    const tenant = this.#store.forTenant(tenantId);
    const id = idOf('node-sessions', node);
    for (let tries = 0; tries < MAX_ATTEMPTS; tries += 1) {
      const stored = tenant.get('node-sessions', id);
      // A newer session of the node speaks for itself, and a deleted node has none.
      if (stored === undefined || stored.record.epoch !== epoch || stored.record.closed !== undefined) return;
      const silentMs = Math.max(0, Math.round(this.#clock.monotonicMs() - session.heardMs));
      const transaction = tenant
        .transaction()
        .expect('node-sessions', id, stored)
        .put('node-sessions', id, { ...stored.record, closed: { silentMs } });
      try {
        if ((await tenant.commit(transaction)).ok) return;
      } catch (error) {
        this.#log.warn({ err: error, node }, 'the end of a session could not be recorded; retrying');
      }
      await pause(RETRY_MS);
    }
  }
}

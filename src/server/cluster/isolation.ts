import type { Membership } from './membership.ts';

const LOOK_MS = 1000;

export interface IsolationOptions {
  readonly membership: Pick<Membership, 'certain'>;
  readonly othersReach: () => Promise<boolean>;
  readonly onIsolated: () => void;
}

/**
 * Notices that the store is out of reach of this process alone. Its agents are then of no use here, and to the others they seem
 * silent. A store that answers no process is no reason to send them away: they would find nothing elsewhere and all reconnect at once.
 */
export class Isolation {
  readonly #options: IsolationOptions;
  readonly #timer: NodeJS.Timeout;
  #asking = false;
  #disconnected = false;

  constructor(options: IsolationOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.#look(), LOOK_MS);
    this.#timer.unref();
  }

  close(): void {
    clearInterval(this.#timer);
  }

  async #look(): Promise<void> {
    const { membership, othersReach, onIsolated } = this.#options;
    if (membership.certain) this.#disconnected = false;
    if (membership.certain || this.#asking || this.#disconnected) return;
    this.#asking = true;
    try {
      if (!(await othersReach()) || membership.certain) return;
      this.#disconnected = true;
      onIsolated();
    } finally {
      this.#asking = false;
    }
  }
}

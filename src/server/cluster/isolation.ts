import type { Membership } from './membership.ts';

const LOOK_MS = 1000;

export interface IsolationOptions {
  readonly membership: Pick<Membership, 'certain' | 'isRejoining'>;
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
  #wasUncertain = false;

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
    if (membership.certain) {
      this.#disconnected = false;
      this.#wasUncertain = false;
    }
    // What the store has answered is no silence of it.
    if (membership.certain || membership.isRejoining || this.#asking || this.#disconnected) return;
    // The first look after a pause of this process comes before any answer that the store could have given since.
    if (!this.#wasUncertain) {
      this.#wasUncertain = true;
      return;
    }
    this.#asking = true;
    try {
      if (!(await othersReach()) || membership.certain || membership.isRejoining) return;
      this.#disconnected = true;
      onIsolated();
    } finally {
      this.#asking = false;
    }
  }
}

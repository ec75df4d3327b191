import type { Identity } from './identity.ts';

/** No control plane runs in this many processes; more would be a mistake. */
const MAX_ADDRESSES = 16;

/**
 * Where a control plane of the node's store may be found. The one that was given comes first; after that any other one is as
 * good, and which is left to chance, so that the agents of a process that ended spread over the rest.
 */
export class Addresses {
  readonly #first: string;
  readonly #given: readonly string[];
  readonly #random: () => number;
  readonly #failed = new Set<string>();
  #learned: readonly string[];
  #current: string;

  constructor(
    { server, moreServers = [], learnedServers = [] }: Identity,
    random: () => number = Math.random,
  ) {
    this.#first = server;
    this.#given = [server, ...moreServers];
    this.#learned = learnedServers;
    this.#current = server;
    this.#random = random;
  }

  get current(): string {
    return this.#current;
  }

  get count(): number {
    return this.#all().length;
  }

  get learned(): readonly string[] {
    return this.#learned;
  }

  /** After a session ended or could not be made: another address, if there is one; those that were given before those that were learned. */
  moveOn(): void {
    this.#failed.add(this.#current);
    const untried = (list: readonly string[]) => list.filter((one) => !this.#failed.has(one));
    let others = untried(this.#given);
    if (others.length === 0) others = untried(this.#all());
    if (others.length === 0) {
      // All of them failed: the next round, which does not begin with the one that failed last.
      this.#failed.clear();
      others = this.#given.filter((one) => one !== this.#current);
    }
    this.#current = others[Math.floor(this.#random() * others.length)] ?? this.#first;
  }

  /** From a control plane; it takes the place of what was learned before. True: there is something new to keep. */
  learn(servers: readonly string[]): boolean {
    // What began with TLS does not go on without it: the node's token travels to whatever is dialled.
    const address = this.#first.startsWith('https:') ? /^https:\/\/[^\s/?#]+/ : /^https?:\/\/[^\s/?#]+/;
    const good = servers
      .filter((one) => address.test(one))
      .slice(0, MAX_ADDRESSES)
      .toSorted();
    this.#failed.clear();
    if (good.length === 0 || good.join(' ') === this.#learned.join(' ')) return false;
    this.#learned = good;
    return true;
  }

  #all(): readonly string[] {
    return [...new Set([...this.#given, ...this.#learned])];
  }
}

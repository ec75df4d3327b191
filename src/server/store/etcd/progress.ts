import type { EtcdCluster } from './cluster.ts';
import type { KeySpace } from './key-space.ts';
import { METHODS } from './messages.ts';
import type { EtcdWatch } from './watch.ts';

/** Batches usually arrive well within this; only what is still missing then is asked for. */
const GRACE_MS = 20;

/**
 * Makes watches that report progress reach a revision which none of Berth's keys has: one made by other users of the
 * etcd cluster. It writes the marker key, whose revision is above the wanted one and which such watches see. etcd's
 * progress requests are not used: before 3.4.25 and 3.5.8 their answers may overtake events.
 */
export class WatchProgress {
  readonly #cluster: EtcdCluster;
  readonly #keys: KeySpace;
  readonly #watches: ReadonlySet<EtcdWatch>;
  #wanted = 0;
  #marked = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(cluster: EtcdCluster, keys: KeySpace, watches: ReadonlySet<EtcdWatch>) {
    this.#cluster = cluster;
    this.#keys = keys;
    this.#watches = watches;
  }

  reach(revision: number): void {
    if (revision <= this.#wanted) return;
    this.#wanted = revision;
    if (this.#timer || !this.#isBehind()) return;
    this.#timer = setTimeout(() => void this.#mark(), GRACE_MS);
  }

  close(): void {
    clearTimeout(this.#timer);
  }

  #isBehind(): boolean {
    if (this.#wanted <= this.#marked) return false;
    return this.#watches.values().some((watch) => watch.reportsProgress && watch.position < this.#wanted);
  }

  async #mark(): Promise<void> {
    if (this.#isBehind()) {
      try {
        const answer = await this.#cluster.call(
          METHODS.put,
          { key: this.#keys.markerKey, value: '' },
          { repeatable: true },
        );
        this.#marked = answer.header.revision.toNumber();
      } catch {
        // The next head() wants it again.
        this.#wanted = this.#marked;
      }
    }
    this.#timer = undefined;
    if (this.#isBehind()) this.#timer = setTimeout(() => void this.#mark(), GRACE_MS);
  }
}

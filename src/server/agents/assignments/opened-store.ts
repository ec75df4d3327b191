import { randomBytes } from 'node:crypto';
import type { StoreMark } from '../../../core/protocol/agent-protocol.ts';
import { platformTenantId } from '../../access/authenticate.ts';
import type { Store } from '../../store/store.ts';

/**
 * Whether the store is the one that agents were given orders from, or an older copy of it that was put back. Whoever opens the
 * same store later finds at least the revision that was told: one process at a time has it, and what it told was on disk.
 */
export class OpenedStore {
  readonly #store: Store;
  readonly #start = randomBytes(8).toString('hex');
  readonly revision: number;

  /** Before this process writes anything. */
  constructor(store: Store) {
    this.#store = store;
    this.revision = store.view.revision;
  }

  /** As of now, for what is said now. */
  mark(): StoreMark {
    const { view } = this.#store;
    return {
      installId: platformTenantId(this.#store) ?? '',
      start: this.#start,
      revision: view.revision,
    };
  }

  isOlderThan({ installId, start, revision }: StoreMark): boolean {
    if (start === this.#start || installId !== platformTenantId(this.#store)) return false;
    return revision > this.revision;
  }
}

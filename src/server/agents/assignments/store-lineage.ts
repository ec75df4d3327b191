import { randomBytes } from 'node:crypto';
import type { StoreMark } from '../../../core/protocol/agent-protocol.ts';
import { platformTenantId } from '../../access/authenticate.ts';
import type { Store } from '../../store/store.ts';

/**
 * Detects that an older copy of the store was restored: agents then hold orders that the store does not know. A process that opens
 * the same store later finds at least the revision that agents were given: one process at a time has it, and sends what is on disk.
 */
export class StoreLineage {
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

import type { Report } from '../../core/protocol/agent-protocol.ts';
import type { RemovedImage } from './cleaner.ts';
import type { CleaningCause } from './plan.ts';

/** Of one cause in a report. */
const MOST = 50;

/** Images that were removed and that the control plane has not been told of: each goes with the next report, once. */
export class CleaningNews {
  readonly #byCause = new Map<CleaningCause, RemovedImage[]>();

  removed(image: RemovedImage, cause: CleaningCause): void {
    const before = this.#byCause.get(cause);
    if (before === undefined) this.#byCause.set(cause, [image]);
    else before.push(image);
  }

  take(): Report['cleaned'] {
    if (this.#byCause.size === 0) return undefined;
    const told = [...this.#byCause].map(([cause, images]) => ({ cause, images: images.splice(0, MOST) }));
    for (const [cause, left] of this.#byCause) if (left.length === 0) this.#byCause.delete(cause);
    return told;
  }
}

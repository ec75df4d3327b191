import type { Report } from '../../core/protocol/agent-protocol.ts';
import type { RemovedImage } from './cleaner.ts';
import type { CleaningCause } from './plan.ts';

type Discarded = NonNullable<Report['discarded']>[number];

/** Of one cause in a report. */
const MOST = 50;

/** Images and divergences that were removed and that the control plane has not been told of: each goes with the next report, once. */
export class CleaningNews {
  readonly #byCause = new Map<CleaningCause, RemovedImage[]>();
  readonly #discarded: Discarded[] = [];

  removed(image: RemovedImage, cause: CleaningCause): void {
    const before = this.#byCause.get(cause);
    if (before === undefined) this.#byCause.set(cause, [image]);
    else before.push(image);
  }

  discarded(divergence: Discarded): void {
    this.#discarded.push(divergence);
  }

  takeDiscarded(): Report['discarded'] {
    return this.#discarded.length === 0 ? undefined : this.#discarded.splice(0, MOST);
  }

  /** What was taken and could not be sent. */
  putBack({ cleaned = [], discarded = [] }: Pick<Report, 'cleaned' | 'discarded'>): void {
    for (const { cause, images } of cleaned)
      this.#byCause.set(cause, [...images, ...(this.#byCause.get(cause) ?? [])]);
    this.#discarded.unshift(...discarded);
  }

  take(): Report['cleaned'] {
    if (this.#byCause.size === 0) return undefined;
    const told = [...this.#byCause].map(([cause, images]) => ({ cause, images: images.splice(0, MOST) }));
    for (const [cause, left] of this.#byCause) if (left.length === 0) this.#byCause.delete(cause);
    return told;
  }
}

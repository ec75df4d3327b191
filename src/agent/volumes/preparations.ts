import { messageOf } from '../../core/model/values.ts';
import { Once } from '../../core/model/once.ts';
import type { AssignedVolume, VolumeObservation } from '../../core/protocol/agent-protocol.ts';
import { type BackOff, backOffMs } from '../back-off.ts';

const AGAIN: BackOff = { baseMs: 1_000, capMs: 30_000 };

interface Preparation {
  readonly images: readonly string[];
  readonly there: Set<string>;
  problem?: string;
  failures: number;
  again?: NodeJS.Timeout;
}

/**
 * Images that are fetched before a volume comes with what runs from them, so that nobody waits for them while it stands still. Beside the lane of the
 * volume: a copy that has to take over meanwhile waits for no image.
 */
export class Preparations {
  readonly #fetch: (volumeId: string, image: string) => Promise<void>;
  readonly #onNews: () => void;
  readonly #wanted = new Map<string, Preparation>();
  readonly #rounds: Once<string>;

  constructor(fetch: (volumeId: string, image: string) => Promise<void>, onNews: () => void) {
    this.#fetch = fetch;
    this.#onNews = onNews;
    this.#rounds = new Once<string>((id) => this.#round(id), { onFault: () => undefined });
  }

  /** Of all volumes: what is no longer ordered is forgotten. */
  take(orders: readonly AssignedVolume[]): void {
    const ordered = new Map(
      orders.flatMap(({ id, prepare }) => (prepare === undefined ? [] : [[id, prepare]])),
    );
    for (const id of this.#wanted.keys()) if (!ordered.has(id)) this.#forget(id);
    for (const [id, images] of ordered) {
      const known = this.#wanted.get(id);
      if (known?.images.join() === images.join()) continue;
      clearTimeout(known?.again);
      this.#wanted.set(id, { images, there: known?.there ?? new Set(), failures: 0 });
      this.#rounds.ask(id);
    }
  }

  /** Undefined: nothing is ordered. */
  of(volumeId: string): VolumeObservation['prepared'] {
    const wanted = this.#wanted.get(volumeId);
    if (wanted === undefined) return undefined;
    const { images, there, problem } = wanted;
    return {
      images: images.filter((image) => there.has(image)),
      ...(problem !== undefined && { problem }),
    };
  }

  end(): void {
    for (const id of this.#wanted.keys()) this.#forget(id);
  }

  #forget(id: string): void {
    clearTimeout(this.#wanted.get(id)?.again);
    this.#wanted.delete(id);
  }

  async #round(id: string): Promise<void> {
    const wanted = this.#wanted.get(id);
    if (wanted === undefined) return;
    try {
      for (const image of wanted.images) {
        if (wanted.there.has(image)) continue;
        await this.#fetch(id, image);
        wanted.there.add(image);
      }
      delete wanted.problem;
    } catch (error) {
      wanted.problem = messageOf(error);
      wanted.failures += 1;
      if (this.#wanted.get(id) === wanted)
        wanted.again = setTimeout(() => this.#rounds.ask(id), backOffMs(wanted.failures, AGAIN)).unref();
    }
    this.#onNews();
  }
}

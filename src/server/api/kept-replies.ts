import type { Exactly } from '../../core/schema/shape.ts';
import type { Stored } from '../store/collection.ts';
import { type JsonReply, JsonText } from './route.ts';

interface Kept<A> {
  readonly parts: readonly unknown[];
  readonly reply: JsonReply<A> & { readonly body: JsonText<A> };
}

/** Longer ones cost more to send than to make. */
const LONGEST = 65_536;
/** Characters of one generation. */
const GENERATION = 4_194_304;

function isSame(parts: readonly unknown[], others: readonly unknown[]): boolean {
  if (parts.length !== others.length) return false;
  for (let at = 0; at < parts.length; at += 1) if (parts[at] !== others[at]) return false;
  return true;
}

/**
 * Answers about single records, for whoever reads one again before anything of it changed: each is held with all that it was made of, and given
 * again only for exactly the same. There are two generations: what was asked for since the last change of them stays, the others go, so that
 * memory is bounded whatever is read.
 */
export class KeptReplies<A> {
  readonly #generation: number;
  #recent = new Map<Stored<unknown>, Kept<A>>();
  #earlier = new Map<Stored<unknown>, Kept<A>>();
  #characters = 0;

  constructor(generation = GENERATION) {
    this.#generation = generation;
  }

  /** `parts` undefined: it cannot be told what the answer is made of. */
  of(stored: Stored<unknown>, parts: readonly unknown[] | undefined, make: () => Exactly<A>): JsonReply<A> {
    const recent = this.#recent.get(stored);
    const kept = recent ?? this.#earlier.get(stored);
    if (kept !== undefined && parts !== undefined && isSame(kept.parts, parts)) {
      if (recent === undefined) this.#keep(stored, kept);
      return kept.reply;
    }
    const body = new JsonText<A>(JSON.stringify(make()));
    const reply = { status: 200, body, headers: { etag: `"${stored.modRevision}"` } } as const;
    if (parts !== undefined) this.#keep(stored, { parts, reply });
    return reply;
  }

  #keep(stored: Stored<unknown>, kept: Kept<A>): void {
    const { length } = kept.reply.body.text;
    if (length > LONGEST) return;
    this.#characters += length;
    if (this.#characters > this.#generation) {
      this.#earlier = this.#recent;
      this.#recent = new Map();
      this.#characters = length;
    }
    this.#recent.set(stored, kept);
  }
}

/** Fewer slots than this are cheap to look up in a map. */
const FEW = 16;
/** An entry of a map takes as much memory as the bits of so many slots. */
const SLOTS_PER_ENTRY = 256;

/**
 * How many instances of one deployment each node slot has. A search asks that of every node that it passes over, for another deployment
 * each time: a map of hundreds of slots is a miss of the cache per question, their bits are a few lines.
 */
export class SlotCounts {
  /** Slots with any. */
  size = 0;
  /** The counts of all slots, or once there are bits, those above one. */
  private readonly counts = new Map<number, number>();
  private bits: Int32Array | undefined;
  private highest = 0;

  has(slot: number): boolean {
    const { bits } = this;
    if (bits === undefined) return this.counts.has(slot);
    const word = slot >>> 5;
    return word < bits.length && (((bits[word] ?? 0) >>> (slot & 31)) & 1) === 1;
  }

  get(slot: number): number {
    if (this.bits === undefined) return this.counts.get(slot) ?? 0;
    return this.has(slot) ? (this.counts.get(slot) ?? 1) : 0;
  }

  *slots(): Iterable<number> {
    if (this.bits === undefined) {
      yield* this.counts.keys();
      return;
    }
    for (const [at, word] of this.bits.entries()) {
      for (let left = word; left !== 0; left &= left - 1) yield at * 32 + 31 - Math.clz32(left & -left);
    }
  }

  raise(slot: number): void {
    const count = this.get(slot) + 1;
    if (count > 1) {
      this.counts.set(slot, count);
      return;
    }
    this.size++;
    if (slot > this.highest) this.highest = slot;
    if (this.bits !== undefined) this.mark(slot);
    else {
      this.counts.set(slot, 1);
      if (this.size > FEW && this.size * SLOTS_PER_ENTRY > this.highest) this.condense();
    }
  }

  /** Only of a slot that has any. */
  lower(slot: number): void {
    const count = this.get(slot) - 1;
    if (count > 1 || (count === 1 && this.bits === undefined)) {
      this.counts.set(slot, count);
      return;
    }
    this.counts.delete(slot);
    if (count === 1) return;
    this.size--;
    const word = slot >>> 5;
    if (this.bits !== undefined) this.bits[word] = (this.bits[word] ?? 0) & ~(1 << (slot & 31));
  }

  private condense(): void {
    this.bits = new Int32Array((this.highest >>> 5) + 1);
    for (const [slot, count] of this.counts) {
      this.mark(slot);
      if (count === 1) this.counts.delete(slot);
    }
  }

  private mark(slot: number): void {
    const word = slot >>> 5;
    let bits = this.bits ?? new Int32Array(0);
    if (word >= bits.length) {
      const longer = new Int32Array(Math.max(word + 1, bits.length * 2));
      longer.set(bits);
      bits = longer;
      this.bits = longer;
    }
    bits[word] = (bits[word] ?? 0) | (1 << (slot & 31));
  }
}

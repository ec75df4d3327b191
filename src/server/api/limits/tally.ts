/** A number per key; keys without one are not kept. */
export class Tally {
  readonly #counts = new Map<string, number>();

  of(key: string): number {
    return this.#counts.get(key) ?? 0;
  }

  add(key: string, by: number): void {
    const count = this.of(key) + by;
    if (count <= 0) this.#counts.delete(key);
    else this.#counts.set(key, count);
  }
}

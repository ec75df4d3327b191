/** One at a time for each key, in the order of asking. */
export class Turns {
  readonly #last = new Map<string, Promise<void>>();

  async take(key: string): Promise<{ readonly release: () => void; readonly waited: boolean }> {
    const before = this.#last.get(key);
    let release = (): void => undefined;
    const mine = new Promise<void>((resolve) => {
      release = resolve;
    });
    const turn = (before ?? Promise.resolve()).then(() => mine);
    this.#last.set(key, turn);
    void turn.then(() => {
      if (this.#last.get(key) === turn) this.#last.delete(key);
    });
    await before;
    return { release, waited: before !== undefined };
  }
}

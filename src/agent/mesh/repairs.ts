/** So long a repair is told as a problem of the node: whatever made it necessary will do so again. */
const TOLD_MS = 10 * 60_000;

/** What others took away on this machine, and what was set right. */
export class Repairs {
  #last: { readonly what: string; readonly atMs: number } | undefined;

  note(what: string, nowMs: number): void {
    this.#last = { what, atMs: nowMs };
  }

  problem(nowMs: number): string | undefined {
    if (this.#last === undefined || nowMs - this.#last.atMs >= TOLD_MS) return undefined;
    return `${this.#last.what} of the tenant's network had been removed or changed on this machine, and was set right: look for what does so, such as a restart of nftables or a script that flushes rules`;
  }
}
